package transcript

import (
	"bytes"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

var (
	// hostLine matches a line in a desktop client's log of its servers. Several servers may
	// share a file.
	hostLine = lazyregexp.New(`^(?:(\S+Z) )?(?:\[(.*?)\] )?\[\w+\] (Message from client|Message from server|Initializing server|Server transport closed|Client transport closed)(?::\s*|\b.*$)(\{.*)?$`)
	// sdkLine matches a line of the logging transport of the Go SDK.
	sdkLine = lazyregexp.New(`^(read|write): (.*)$`)
)

// isTextLog reports whether the file is a log in which other text precedes each message.
func (f *file) isTextLog() bool {
	for _, l := range f.lines {
		if m := hostLine.FindSubmatch(l.text); m != nil && len(m[4]) > 0 {
			return true
		}
		if m := sdkLine.FindSubmatch(l.text); m != nil && bytes.HasPrefix(m[2], []byte("{")) {
			return true
		}
	}
	return false
}

// readTextLog reads a log in which other text precedes each message.
func (f *file) readTextLog() ([]*Recording, error) {
	var log []loggedMessage
	passed, cut := 0, 0
	for _, l := range f.lines {
		entry, ok := parseTextLine(l.text)
		if !ok {
			passed++
			continue
		}
		if entry.cut {
			cut++
		}
		entry.line = l.number
		log = append(log, entry)
	}
	f.noteSkipped(passed)
	if cut > 0 {
		f.notices = append(f.notices, fmt.Sprintf("%s: messages of which the log has only the beginning: %d", f.name, cut))
	}
	out := splitConversations(log, true)
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", f.name, errNoMessages)
	}
	return out, nil
}

func parseTextLine(text []byte) (loggedMessage, bool) {
	if m := sdkLine.FindSubmatch(text); m != nil && bytes.HasPrefix(m[2], []byte("{")) {
		return withMessage(loggedMessage{side: directionOf(string(m[1]))}, m[2]), true
	}
	m := hostLine.FindSubmatch(text)
	if m == nil {
		return loggedMessage{}, false
	}
	l := loggedMessage{session: string(m[2])}
	l.at, _ = time.Parse(time.RFC3339Nano, string(m[1]))
	switch string(m[3]) {
	case "Message from client":
		l.side = toServer
	case "Message from server":
		l.side = toClient
	default:
		l.begins = true
		return l, true
	}
	return withMessage(l, m[4]), len(m[4]) > 0
}

// withMessage adds the message at the beginning of text to l. The log may have more text after the
// message, or only the beginning of the message.
func withMessage(l loggedMessage, text []byte) loggedMessage {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	v, err := dec.ReadValue()
	if err != nil {
		l.raw, l.cut = text, true
		return l
	}
	l.raw = bytes.Clone(v)
	return l
}
