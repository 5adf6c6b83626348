package fuzz

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// staysAlive looks for servers that ended by themselves or became unresponsive. If a request was
// left unanswered, the rules judge that; this law covers the other causes. It works only over
// stdio, because over HTTP the process is not visible.
func staysAlive(execution *fuzz.Execution) []fuzz.Breach {
	if execution.Transport != spec.Stdio {
		return nil
	}
	var out []fuzz.Breach
	for n, t := range execution.Conversations {
		if d, ok := unexpectedEnd(execution, t); ok {
			out = append(out, fuzz.Breach{Deviation: d, Conversation: n})
		}
	}
	return out
}

func unexpectedEnd(execution *fuzz.Execution, t *script.Conversation) (verdict.Deviation, bool) {
	end := endPosition(t)
	if end < 0 && !t.Unresponsive {
		return verdict.Deviation{}, false
	}
	what := "The server exits at "
	if end < 0 {
		what = "The server stops answering after "
	}
	s := findSuspects(execution, t, t.Events) // the message that was just being sent may come after the end in the transcript
	if s.last == nil {
		return verdict.Deviation{}, false
	}
	d := verdict.Deviation{Weight: verdict.AtMostWarning}
	cause, illegal := s.worst()
	switch {
	case illegal == unreadable:
		d.Requirement, d.Summary, d.Permitted = parseError, what+"a line that is not JSON.", "an error with code -32700, or no response"
	case illegal == unrequested:
		d.Requirement, d.Summary, d.Permitted = invalidRequest, what+"a message that is not a valid request.", "an error with code -32600, or no response"
	case end >= 0 && s.open == 0:
		d.Requirement, d.Summary = requestAnswered, "The server exits although the client did not end it."
		d.Permitted = "a server that runs until its input is closed"
		cause = s.last
	default:
		return d, false // the rules report the request
	}
	d.Seen, d.At = "after "+excerpt(cause.Raw), []int{cause.Seq}
	return d, true
}

// suspects are the sent messages that may have ended the server.
type suspects struct {
	last *transcript.Event
	open int // requests without a response
	all  []suspect
}

// suspect is a sent message, or a sent line that is not a message, that may have ended the server.
type suspect struct {
	event   *transcript.Event
	request *transcript.Request // nil for other messages
	illegal int                 // see illegalityOf
	own     bool                // no operation of the script sent it, so it is ordinary, usually a fence
}

// findSuspects returns the sent messages and lines except those that the server survived: requests
// with a response, and other lines once a later request was answered.
func findSuspects(execution *fuzz.Execution, t *script.Conversation, events []*transcript.Event) suspects {
	var s suspects
	dialogue := transcript.DialogueOf(events)
	answered := slices.ContainsFunc(execution.Script.Operations, func(op script.Operation) bool { return op.Do == script.Answer && op.On == t.On })
	for _, e := range events {
		switch e.Kind {
		case transcript.Sent:
			s.last = e
			if illegal := illegalityOf(e); illegal > 0 {
				s.all = append(s.all, suspect{event: e, illegal: illegal})
				continue
			}
			for i := range e.Messages() {
				m := &e.Frame.Messages[i]
				if m.Method == spec.MethodInitialized {
					continue // no server ends because of notifications/initialized
				}
				one := suspect{event: e}
				switch {
				case m.Kind == wire.Request:
					one.request, one.own = dialogue.RequestOf(m), execution.OperationOf(t, m) == nil
				case m.Kind == wire.Response:
					one.own = !answered
				case m.Method == spec.MethodCancelled:
					one.own = execution.OperationOf(t, m) == nil
				}
				s.all = append(s.all, one)
			}
		case transcript.Received:
			for i := range e.Messages() {
				if m := &e.Frame.Messages[i]; m.Kind == wire.Response && dialogue.RequestOf(m) != nil {
					s.clear(dialogue.RequestOf(m))
				}
			}
		}
	}
	for i := range s.all {
		if s.all[i].request != nil {
			s.open++
		}
	}
	return s
}

// clear removes the suspects that a response to the request clears: the request itself, and all
// earlier suspects that are not requests.
func (s *suspects) clear(answered *transcript.Request) {
	i := slices.IndexFunc(s.all, func(one suspect) bool { return one.request == answered })
	if i < 0 {
		return
	}
	n := 0
	s.all = slices.DeleteFunc(s.all, func(one suspect) bool {
		n++
		return n-1 == i || n-1 < i && one.request == nil
	})
}

// worst returns the most illegal suspect and its illegality. It returns nil and 0 if an ordinary
// message may be the cause too.
func (s *suspects) worst() (worst *transcript.Event, illegal int) {
	for i := range s.all {
		one := &s.all[i]
		if one.illegal > illegal {
			worst, illegal = one.event, one.illegal
		}
		if one.illegal == 0 && !one.own {
			return nil, 0
		}
	}
	return worst, illegal
}

const (
	unrequested = iota + 1
	unreadable
)

// illegalityOf returns how far a sent frame is from valid JSON-RPC. It returns 0 for a valid frame.
func illegalityOf(e *transcript.Event) int {
	switch {
	case len(e.Raw) == 0:
		return 0 // an empty line shows nothing
	case len(e.Frame.Problems) > 0 && !e.Frame.IsReadable(), e.Frame.Has(wire.InvalidUTF8), e.Frame.Has(wire.NotJSON), e.Frame.Has(wire.TrailingText):
		return unreadable
	}
	for i := range e.Messages() {
		if m := &e.Frame.Messages[i]; m.Kind == wire.Invalid || m.Kind == wire.Request && (m.ID.IsNull() || !m.ID.IsString() && !m.ID.IsInteger()) {
			return unrequested
		}
	}
	return 0
}

// endPosition returns the position at which the server ended by itself, -1 if it did not.
func endPosition(t *script.Conversation) int {
	for i, e := range t.Events {
		switch e.Kind {
		case transcript.InputClosed, transcript.Signalled:
			return -1
		case transcript.OutputClosed, transcript.Exited:
			return i
		}
	}
	return -1
}

func excerpt(b []byte) string {
	const most = 120
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
