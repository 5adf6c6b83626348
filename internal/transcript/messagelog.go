package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ours returns the head of our own format, and its version, nil where the
// line is none.
func ours(line []byte) (header, *int) {
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return header{}, nil
	}
	return h, h.Format
}

// bare reports whether the line is an event without a head before it.
func bare(text []byte) bool {
	var l line
	return json.Unmarshal(text, &l) == nil && l.Seq == 0 && slices.Contains(kinds, l.Kind)
}

// The members of a log's lines, by what they mean. The first that is there
// counts.
var (
	directionNames = []string{"direction", "dir", "from"}
	payloadNames   = []string{"message", "msg", "payload", "frame", "raw", "body", "data", "line"}
	sessionNames   = []string{"session", "sessionId", "session_id", "connection", "conn", "server"}
	timeNames      = []string{"timestamp", "time", "ts", "t", "at"}
)

// side says which way a message went.
type side int

const (
	unknown side = iota
	toServer
	toClient
	// out and in are seen from whoever recorded the log, which stands on the
	// client's side, or on the server's.
	out
	in
	fromStderr
)

// sides are the words for directions, in small letters and without signs
// between the words.
var sides = map[string]side{
	"clienttoserver": toServer, "client2server": toServer, "c2s": toServer, "toserver": toServer, "client": toServer, ">": toServer, "->": toServer, "-->": toServer,
	"servertoclient": toClient, "server2client": toClient, "s2c": toClient, "toclient": toClient, "server": toClient, "<": toClient, "<-": toClient, "<--": toClient,
	"send": out, "sent": out, "out": out, "outgoing": out, "outbound": out, "write": out,
	"receive": in, "received": in, "recv": in, "in": in, "incoming": in, "inbound": in, "read": in,
	"stderr": fromStderr,
}

const directionsHelp = `known are client-to-server and server-to-client (also c2s and s2c, > and <), send and receive (also out and in, sent and received, write and read), stderr`

func sideOf(text string) side {
	text = strings.ToLower(strings.TrimSpace(text))
	if s, ok := sides[text]; ok {
		return s
	}
	return sides[strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c == ' ' {
			return -1
		}
		return c
	}, text)]
}

// logged is one message of a log.
type logged struct {
	line    int
	side    side
	raw     []byte
	at      time.Time // zero where it is not known
	cut     bool      // only the beginning of it was logged
	begins  bool      // a new conversation begins with it
	session string
}

// messageLog reads lines of JSON, or one array of them.
func (f *file) messageLog() ([]*Recording, error) {
	var log []logged
	passed, transport, bytesKnown := 0, "", true
	entries, err := f.entries()
	if err != nil {
		return nil, err
	}
	for _, l := range entries {
		_, members := wire.Members(l.text)
		payload := pick(members, payloadNames)
		if payload == nil && jsonrpc(members) {
			payload = l.text // the direction stands in the message itself, or nowhere
		}
		direction, _ := wire.Text(pick(members, directionNames))
		text, isText := wire.Text(payload)
		if payload == nil || payload.Kind() == 'n' || isText && direction == "" && !strings.HasPrefix(text, "{") {
			passed++
			continue
		}
		s := sideOf(direction)
		switch {
		case s == unknown && direction == "":
			return nil, f.errorf(l.number, `the message has no direction; add a member such as "direction":"client-to-server"`)
		case s == unknown:
			return nil, f.errorf(l.number, "the direction %q is not known; %s", clip(direction), directionsHelp)
		}
		entry := logged{line: l.number, side: s, at: timeOf(members), session: string(pick(members, sessionNames))}
		if isText {
			entry.raw = []byte(strings.TrimSuffix(text, "\n"))
		} else {
			bytesKnown = false
			_ = payload.Compact(jsontext.AllowDuplicateNames(true)) // it was valid as a part of its line
			entry.raw = payload
		}
		if t, ok := wire.Text(members["transport"]); ok {
			transport = t
		}
		log = append(log, entry)
	}
	if len(log) == 0 {
		return nil, fmt.Errorf("%s: %w", f.name, errNoMessages)
	}
	f.notePassed(passed)
	out := conversations(log, !bytesKnown)
	for _, r := range out {
		r.Transport = transport
	}
	return out, nil
}

func (f *file) notePassed(lines int) {
	if lines > 0 {
		f.notices = append(f.notices, fmt.Sprintf("%s: lines without a message were passed over: %d", f.name, lines))
	}
}

// entries returns the JSON objects of the file, with their lines.
func (f *file) entries() ([]numbered, error) {
	if f.lines[0].text[0] == '[' {
		return f.array()
	}
	var out []numbered
	for _, l := range f.lines {
		switch v := jsontext.Value(l.text); {
		case v.IsValid(jsontext.AllowDuplicateNames(true)) && v.Kind() == '{':
			out = append(out, l)
		case f.truncated(l) && len(out) > 0:
			f.notices = append(f.notices, fmt.Sprintf("%s:%d: the last line is cut short; what stands before it is judged", f.name, l.number))
		case f.isReport():
			return nil, f.errorf(l.number, "this is a report of mcp-conform, and no recorded session: the conversations are in the files that mcp-conform run --transcript DIR writes")
		default:
			return nil, f.errorf(l.number, "%q is no JSON object; %s", clip(string(l.text)), formatsHelp)
		}
	}
	return out, nil
}

// isReport reports whether the file begins as the JSON report does.
func (f *file) isReport() bool {
	var head []byte
	for _, l := range f.lines[:min(len(f.lines), 4)] {
		head = append(head, l.text...)
	}
	text := strings.Join(strings.Fields(string(head[:min(len(head), 200)])), "")
	return strings.HasPrefix(text, `{"format":`) && strings.Contains(text, `"tool":"mcp-conform"`)
}

// array returns the elements of a file that is one array.
func (f *file) array() ([]numbered, error) {
	var whole []byte
	for _, l := range f.lines {
		whole = append(append(whole, l.text...), '\n')
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(whole), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, f.errorf(f.lines[0].number, "it is no JSON: %w", err)
	}
	at := func(offset int64) int {
		return f.lines[min(bytes.Count(whole[:offset], []byte("\n")), len(f.lines)-1)].number
	}
	var out []numbered
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			offset := dec.InputOffset()
			if syntax := new(jsontext.SyntacticError); errors.As(err, &syntax) {
				offset = syntax.ByteOffset
			}
			return nil, f.errorf(at(offset), "the array of messages is no JSON: %w", err)
		}
		if v.Kind() != '{' {
			return nil, f.errorf(at(dec.InputOffset()), "%q is no JSON object; %s", clip(string(v)), formatsHelp)
		}
		out = append(out, numbered{at(dec.InputOffset()), bytes.Clone(v)})
	}
	return out, nil
}

func pick(members map[string]jsontext.Value, names []string) jsontext.Value {
	for _, name := range names {
		if v := members[name]; v != nil {
			return v
		}
	}
	return nil
}

// jsonrpc reports whether the members are those of a message.
func jsonrpc(members map[string]jsontext.Value) bool { return members["jsonrpc"] != nil }

// timeOf returns the time of a line, which counts only as RFC 3339 text: of a
// number nobody tells the unit.
func timeOf(members map[string]jsontext.Value) time.Time {
	text, _ := wire.Text(pick(members, timeNames))
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at
}
