package inventory

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// fixtureCall is a call of a fixture in one conversation.
type fixtureCall struct {
	outcome *fixtureOutcome
	request *transcript.Request
	open    bool
	tells   bool // its effects show whether the fixture does what its role says
	// before is what that held which the call is to change, where that is known.
	before string
	known  bool
}

// callHistory is what is known of one conversation so far.
type callHistory struct {
	declared jsontext.Value    // capabilities of the client
	level    string            // the level of log messages that was set last
	held     map[string]string // what lists and resources hold, as they were read last
	calls    []*fixtureCall
}

// Observe reads what became of the calls in one conversation.
func (d FixtureOutcomes) Observe(rev spec.Revision, events []*transcript.Event, dialogue *transcript.Dialogue) {
	if len(d) == 0 {
		return
	}
	s := &callHistory{held: map[string]string{}}
	for e, m := range transcript.Messages(events) {
		switch r := dialogue.Of(m); {
		case e.Kind == transcript.Sent && m.Kind == wire.Request:
			s.called(d, rev, r)
		case e.Kind == transcript.Sent && m.Method == spec.MethodCancelled:
			s.end(r, e.At)
		case e.Kind == transcript.Received && m.Kind == wire.Response && r != nil:
			s.answer(r, e, m)
		case e.Kind == transcript.Received && m.Kind != wire.Response:
			s.hear(r, m)
		}
	}
}

// called notes a request of the client.
func (s *callHistory) called(d FixtureOutcomes, rev spec.Revision, r *transcript.Request) {
	switch m := r.Message; m.Method {
	case spec.MethodInitialize:
		s.declared = wire.At(m.Params(), "/capabilities")
	case spec.MethodToolsCall:
		for _, one := range d {
			name, _ := wire.Text(wire.At(m.Params(), "/name"))
			if name != one.Tool || !fits(one.Arguments, wire.At(m.Params(), "/arguments")) {
				continue
			}
			w := &fixtureCall{outcome: one, request: r, open: true}
			token := wire.IDAt(m.Params(), "/_meta/progressToken").Present()
			w.tells = s.tells(one.Role, rev, token)
			one.asked = one.asked || token
			w.before, w.known = s.held[one.changes()]
			s.forget(one.changes()) // a second call may undo what this one does
			s.calls = append(s.calls, w)
		}
	}
}

// forget makes it unknown what a list or a resource held before.
func (s *callHistory) forget(what string) {
	delete(s.held, what)
	for _, w := range s.calls {
		w.known = w.known && w.outcome.changes() != what
	}
}

// tells says whether a call that is made now shows what plays the role.
func (s *callHistory) tells(role Role, rev spec.Revision, token bool) bool {
	switch role {
	case Slow:
		return true
	case Progress:
		return token
	case Logging:
		return s.level == "debug"
	case AsksSampling:
		return wire.At(s.declared, "/sampling") != nil
	case AsksElicitation:
		return wire.At(s.declared, "/elicitation") != nil
	case AsksRoots:
		return wire.At(s.declared, "/roots") != nil
	case Structured, GivesLink:
		return rev >= spec.V20250618
	case GivesAudio:
		return rev >= spec.V20250326
	default:
		return true
	}
}

// end notes that a call is over.
func (s *callHistory) end(r *transcript.Request, at time.Duration) {
	for _, w := range s.calls {
		if w.open && w.request == r {
			w.open = false
			w.outcome.longest = max(w.outcome.longest, at-r.Event.At)
		}
	}
}

// answer notes a response of the server.
func (s *callHistory) answer(r *transcript.Request, e *transcript.Event, m *wire.Message) {
	method := r.Message.Method
	failed := m.IsError() || string(wire.At(m.Result(), "/isError")) == "true"
	switch {
	case method == spec.MethodSetLevel && !failed:
		s.level, _ = wire.Text(wire.At(r.Message.Params(), "/level"))
	case method == spec.MethodResourcesRead && !failed:
		uri, _ := wire.Text(wire.At(r.Message.Params(), "/uri"))
		s.holds(uri, m)
	case Changes(method) != "" && !failed:
		s.holds(method, m)
	}
	for _, w := range s.calls {
		if !w.open || w.request != r || m.Busy() {
			continue
		}
		if failed && w.outcome.Role != Fails {
			w.outcome.refused = failure(m)
		} else {
			w.outcome.worked = true
		}
		if w.tells && w.outcome.changes() == "" {
			w.outcome.calls++
		}
		w.outcome.done = w.outcome.done || w.outcome.Role.ShownBy(m)
	}
	s.end(r, e.At)
}

// changes returns what the call is to change: the URI of a resource, or the
// method that lists it; "" for calls that do something else.
func (o *fixtureOutcome) changes() string {
	if o.Role == ChangesResource {
		return o.Resource
	}
	for _, method := range []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodPromptsList} {
		if Changes(method) == o.Role {
			return method
		}
	}
	return ""
}

// holds notes what a list, or a resource, holds now. A call that was made since
// it was read last, and changed nothing, has not done what its role says; where a resource
// is given the same content with each call, that shows nothing.
func (s *callHistory) holds(what string, m *wire.Message) {
	now := string(m.Result())
	for _, w := range s.calls {
		if w.open || !w.known || w.outcome.changes() != what {
			continue
		}
		w.known = false
		w.outcome.done = w.outcome.done || w.before != now
		if w.outcome.Role != ChangesResource || w.outcome.counts() {
			w.outcome.calls++
		}
	}
	s.held[what] = now
}

// counts reports whether the arguments differ from call to call.
func (o *fixtureOutcome) counts() bool {
	text, err := json.Marshal(o.Arguments)
	return err == nil && strings.Contains(string(text), "{count}")
}

// hear notes a request or a notification of the server; the request is the one
// that it is about.
func (s *callHistory) hear(r *transcript.Request, m *wire.Message) {
	uri, _ := wire.Text(wire.At(m.Params(), "/uri"))
	for _, w := range s.calls {
		role := w.outcome.Role
		switch m.Method {
		case spec.MethodProgress:
			if w.open && w.request == r {
				w.outcome.moved = true
				w.outcome.done = w.outcome.done || role == Progress
			}
		case spec.MethodMessage:
			w.outcome.done = w.outcome.done || role == Logging
		case spec.MethodToolsChanged:
			w.outcome.done = w.outcome.done || role == ChangesTools
		case spec.MethodResourcesChanged:
			w.outcome.done = w.outcome.done || role == ChangesResources
		case spec.MethodPromptsChanged:
			w.outcome.done = w.outcome.done || role == ChangesPrompts
		case spec.MethodResourcesUpdated:
			w.outcome.done = w.outcome.done || role == ChangesResource && uri == w.outcome.Resource
		default:
			w.outcome.done = w.outcome.done || role != "" && role == Asks(m.Method)
		}
	}
}
