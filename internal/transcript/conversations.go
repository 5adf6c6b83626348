package transcript

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// clientMethods are those that only a client sends as requests.
var clientMethods = []string{
	"initialize", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
	"resources/subscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen",
}

// conversations makes recordings of the messages of a log: one for each
// session that the log names, and a new one where the client initializes anew
// after it was answered.
func conversations(log []logged, values bool) []*Recording {
	client := onClientSide(log)
	open := map[string]*conversation{}
	var out []*Recording
	for _, l := range log {
		kind := kindOf(l.side, client)
		c := open[l.session]
		if c == nil || l.begins || kind == Sent && asksFor(l.raw, "initialize") && c.welcomed() {
			c = &conversation{Recording: &Recording{Values: values}}
			c.add(Event{Kind: Opened})
			open[l.session] = c
			out = append(out, c.Recording)
		}
		c.take(kind, l)
	}
	return slices.DeleteFunc(out, func(r *Recording) bool { return len(r.Events) < 2 })
}

// conversation is a recording that grows.
type conversation struct {
	*Recording
	dialogue Dialogue
	first    logged
}

func (c *conversation) take(kind Kind, l logged) {
	if len(l.raw) == 0 && l.begins {
		return
	}
	e := Event{Kind: kind, Raw: l.raw}
	if l.cut {
		e.Size = int64(len(l.raw)) + 1
	}
	if len(c.Events) == 1 {
		c.first = l
	}
	if l.at.IsZero() || c.first.at.IsZero() {
		c.Untimed = true
	} else {
		e.At = max(l.at.Sub(c.first.at), c.Events[len(c.Events)-1].At)
	}
	c.dialogue.Note(c.add(e))
}

// welcomed reports whether initialize was answered.
func (c *conversation) welcomed() bool {
	return slices.ContainsFunc(c.dialogue.Requests(), func(r *Request) bool {
		return r.Message.Method == "initialize" && r.Response() != nil
	})
}

// kindOf tells what happened from which way a message went.
func kindOf(s side, onClientSide bool) Kind {
	switch {
	case s == fromStderr:
		return Stderr
	case s == toServer, s == out && onClientSide, s == in && !onClientSide:
		return Sent
	default:
		return Received
	}
}

// onClientSide reports whether whoever wrote the log stands on the client's side
// of the connection: what goes out there goes to the server. The first request
// that only a client sends shows it; without one it is the client's side.
func onClientSide(log []logged) bool {
	for _, l := range log {
		if l.side != in && l.side != out {
			continue
		}
		for _, method := range clientMethods {
			if asksFor(l.raw, method) {
				return l.side == out
			}
		}
	}
	return true
}

func asksFor(raw []byte, method string) bool {
	for _, m := range wire.Parse(raw).Messages {
		if m.Kind == wire.Request && m.Method == method {
			return true
		}
	}
	return false
}
