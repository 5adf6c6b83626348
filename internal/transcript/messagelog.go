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

// parseHeader parses the header line of a transcript and returns it with its format version, which
// is nil if the line is not a header.
func parseHeader(line []byte) (fileHeader, *int) {
	var h fileHeader
	if err := json.Unmarshal(line, &h); err != nil {
		return fileHeader{}, nil
	}
	return h, h.Format
}

// isEvent reports whether the line is the first event of a transcript without a header.
func isEvent(text []byte) bool {
	var l jsonLine
	return json.Unmarshal(text, &l) == nil && l.Seq == 0 && slices.Contains(kinds, l.Kind)
}

// directionNames, payloadNames, sessionNames and timeNames are the names that a member of a log
// line may have, grouped by what the member means. If a line has several names of a group, the
// first one in the list is used.
var (
	directionNames = []string{"direction", "dir", "from"}
	payloadNames   = []string{"message", "msg", "payload", "frame", "raw", "body", "data", "line"}
	sessionNames   = []string{"session", "sessionId", "session_id", "connection", "conn", "server"}
	timeNames      = []string{"timestamp", "time", "ts", "t", "at"}
)

// direction is the direction of a message.
type direction int

const (
	unknownSide direction = iota
	toServer
	toClient
	// outgoing and incoming are relative to the program that wrote the log, which may have
	// run on the client's or on the server's side.
	outgoing
	incoming
	fromStderr
)

// sides maps words for directions, in lower case and without separators.
var sides = map[string]direction{
	"clienttoserver": toServer, "client2server": toServer, "c2s": toServer, "toserver": toServer, "client": toServer, ">": toServer, "->": toServer, "-->": toServer,
	"servertoclient": toClient, "server2client": toClient, "s2c": toClient, "toclient": toClient, "server": toClient, "<": toClient, "<-": toClient, "<--": toClient,
	"send": outgoing, "sent": outgoing, "out": outgoing, "outgoing": outgoing, "outbound": outgoing, "write": outgoing,
	"receive": incoming, "received": incoming, "recv": incoming, "in": incoming, "incoming": incoming, "inbound": incoming, "read": incoming,
	"stderr": fromStderr,
}

const directionsHelp = `known directions are client-to-server and server-to-client (also c2s and s2c, > and <), send and receive (also out and in, sent and received, write and read), stderr`

func directionOf(text string) direction {
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

// loggedMessage is one message in a log.
type loggedMessage struct {
	line    int
	side    direction
	raw     []byte
	at      time.Time // zero if unknown
	cut     bool      // only the beginning was logged
	begins  bool      // it begins a new conversation
	session string
}

// readMessageLog reads a log of JSON lines, or of one JSON array.
func (f *file) readMessageLog() ([]*Recording, error) {
	var log []loggedMessage
	passed, transport, bytesKnown := 0, "", true
	entries, err := f.entries()
	if err != nil {
		return nil, err
	}
	for _, l := range entries {
		_, members := wire.Members(l.text)
		payload := firstMember(members, payloadNames)
		if payload == nil && isJSONRPC(members) {
			payload = l.text // the line is the message itself, which may have additional members such as a direction
		}
		direction, _ := wire.Text(firstMember(members, directionNames))
		text, isText := wire.Text(payload)
		if payload == nil || payload.Kind() == 'n' || isText && direction == "" && !strings.HasPrefix(text, "{") {
			passed++
			continue
		}
		s := directionOf(direction)
		switch {
		case s == unknownSide && direction == "":
			return nil, f.errorf(l.number, `the message has no direction; add a member such as "direction":"client-to-server"`)
		case s == unknownSide:
			return nil, f.errorf(l.number, "unknown direction %q; %s", clip(direction), directionsHelp)
		}
		entry := loggedMessage{line: l.number, side: s, at: timeOf(members), session: string(firstMember(members, sessionNames))}
		if isText {
			entry.raw = []byte(strings.TrimSuffix(text, "\n"))
		} else {
			bytesKnown = false
			_ = payload.Compact(jsontext.AllowDuplicateNames(true)) // can't fail: it is part of a valid line
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
	f.noteSkipped(passed)
	out := splitConversations(log, !bytesKnown)
	for _, r := range out {
		r.Transport = transport
	}
	return out, nil
}

func (f *file) noteSkipped(lines int) {
	if lines > 0 {
		f.notices = append(f.notices, fmt.Sprintf("%s: lines without a message skipped: %d", f.name, lines))
	}
}

// entries returns the JSON objects of the file with their line numbers.
func (f *file) entries() ([]numberedLine, error) {
	if f.lines[0].text[0] == '[' {
		return f.arrayEntries()
	}
	var out []numberedLine
	for _, l := range f.lines {
		switch v := jsontext.Value(l.text); {
		case v.IsValid(jsontext.AllowDuplicateNames(true)) && v.Kind() == '{':
			out = append(out, l)
		case f.isTruncated(l) && len(out) > 0:
			f.notices = append(f.notices, fmt.Sprintf("%s:%d: the last line is incomplete; only the lines before it are judged", f.name, l.number))
		case f.isReport():
			return nil, f.errorf(l.number, "this is a report of mcp-conform, not a recorded session; use a file that mcp-conform run --transcript DIR writes")
		default:
			return nil, f.errorf(l.number, "%q is not a JSON object; %s", clip(string(l.text)), formatsHelp)
		}
	}
	return out, nil
}

// isReport reports whether the file begins like a JSON report of mcp-conform.
func (f *file) isReport() bool {
	var head []byte
	for _, l := range f.lines[:min(len(f.lines), 4)] {
		head = append(head, l.text...)
	}
	text := strings.Join(strings.Fields(string(head[:min(len(head), 200)])), "")
	return strings.HasPrefix(text, `{"format":`) && strings.Contains(text, `"tool":"mcp-conform"`)
}

// arrayEntries returns the elements of a file that is one JSON array.
func (f *file) arrayEntries() ([]numberedLine, error) {
	var whole []byte
	for _, l := range f.lines {
		whole = append(append(whole, l.text...), '\n')
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(whole), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, f.errorf(f.lines[0].number, "invalid JSON: %w", err)
	}
	at := func(offset int64) int {
		return f.lines[min(bytes.Count(whole[:offset], []byte("\n")), len(f.lines)-1)].number
	}
	var out []numberedLine
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			offset := dec.InputOffset()
			if syntax := new(jsontext.SyntacticError); errors.As(err, &syntax) {
				offset = syntax.ByteOffset
			}
			return nil, f.errorf(at(offset), "invalid JSON in the array of messages: %w", err)
		}
		if v.Kind() != '{' {
			return nil, f.errorf(at(dec.InputOffset()), "%q is not a JSON object; %s", clip(string(v)), formatsHelp)
		}
		out = append(out, numberedLine{at(dec.InputOffset()), bytes.Clone(v)})
	}
	return out, nil
}

func firstMember(members map[string]jsontext.Value, names []string) jsontext.Value {
	for _, name := range names {
		if v := members[name]; v != nil {
			return v
		}
	}
	return nil
}

// isJSONRPC reports whether the members are those of a JSON-RPC message.
func isJSONRPC(members map[string]jsontext.Value) bool { return members["jsonrpc"] != nil }

// timeOf returns the time of a line. It accepts only RFC 3339, because the unit of a number is
// unknown.
func timeOf(members map[string]jsontext.Value) time.Time {
	text, _ := wire.Text(firstMember(members, timeNames))
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at
}
