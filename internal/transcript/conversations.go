package transcript

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// clientMethods are the methods of requests that only a client sends.
var clientMethods = []string{
	"initialize", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
	"resources/subscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen",
}

// splitConversations splits the messages of a log into recordings. Each session that the log names
// has a recording of its own. A new recording begins whenever a line says that a conversation
// begins, or when the client sends initialize although an earlier initialize has a response.
// Recordings without a message are omitted.
func splitConversations(log []loggedMessage, values bool) []*Recording {
	client := isClientSideLog(log)
	open := map[string]*recordingBuilder{}
	var out []*Recording
	for _, l := range log {
		kind := kindOf(l.side, client)
		c := open[l.session]
		if c == nil || l.begins || kind == Sent && containsRequest(l.raw, "initialize") && c.hasInitialized() {
			c = &recordingBuilder{Recording: &Recording{Values: values}}
			c.add(Event{Kind: Opened})
			open[l.session] = c
			out = append(out, c.Recording)
		}
		c.addLogged(kind, l)
	}
	return slices.DeleteFunc(out, func(r *Recording) bool { return len(r.Events) < 2 })
}

// recordingBuilder is a recording under construction.
type recordingBuilder struct {
	*Recording
	dialogue Dialogue
	first    loggedMessage
}

func (c *recordingBuilder) addLogged(kind Kind, l loggedMessage) {
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

// hasInitialized reports whether an initialize request has a response.
func (c *recordingBuilder) hasInitialized() bool {
	return slices.ContainsFunc(c.dialogue.Requests(), func(r *Request) bool {
		return r.Message.Method == "initialize" && r.Response() != nil
	})
}

// kindOf returns the kind of event for a message in a direction. The directions outgoing and
// incoming are seen from the program that wrote the log, so their meaning depends on whether it ran
// on the client's side.
func kindOf(s direction, onClientSide bool) Kind {
	switch {
	case s == fromStderr:
		return Stderr
	case s == toServer, s == outgoing && onClientSide, s == incoming && !onClientSide:
		return Sent
	default:
		return Received
	}
}

// isClientSideLog reports whether the log was recorded on the client's side of the connection,
// where outgoing messages go to the server. Among the messages that are logged as outgoing or
// incoming, it looks for the first request that only a client sends: the log was recorded on the
// client's side if that request is outgoing. If there is no such request, isClientSideLog returns
// true.
func isClientSideLog(log []loggedMessage) bool {
	for _, l := range log {
		if l.side != incoming && l.side != outgoing {
			continue
		}
		for _, method := range clientMethods {
			if containsRequest(l.raw, method) {
				return l.side == outgoing
			}
		}
	}
	return true
}

func containsRequest(raw []byte, method string) bool {
	for _, m := range wire.Parse(raw).Messages {
		if m.Kind == wire.Request && m.Method == method {
			return true
		}
	}
	return false
}
