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

// A fixtureCall is a call of a fixture in one conversation.
type fixtureCall struct {
	outcome     *fixtureOutcome
	request     *transcript.Request
	open        bool
	mayShowRole bool // the call can show whether the fixture plays its role
	// before is the content, before the call, of the list or resource that the call should change;
	// known is set if that content was read.
	before string
	known  bool
}

// A callHistory is what is known about one conversation so far.
type callHistory struct {
	declared jsontext.Value    // capabilities of the client
	level    string            // the level of log messages that was set last
	contents map[string]string // the last known contents of lists (by method) and resources (by URI)
	calls    []*fixtureCall
}

// Observe adds what the calls in one conversation show about the fixtures.
func (d FixtureOutcomes) Observe(rev spec.Revision, events []*transcript.Event, dialogue *transcript.Dialogue) {
	if len(d) == 0 {
		return
	}
	s := &callHistory{contents: map[string]string{}}
	for e, m := range transcript.Messages(events) {
		switch r := dialogue.RequestOf(m); {
		case e.Kind == transcript.Sent && m.Kind == wire.Request:
			s.recordCall(d, rev, r)
		case e.Kind == transcript.Sent && m.Method == spec.MethodCancelled:
			s.recordEnd(r, e.At)
		case e.Kind == transcript.Received && m.Kind == wire.Response && r != nil:
			s.recordResponse(r, e, m)
		case e.Kind == transcript.Received && m.Kind != wire.Response:
			s.recordFromServer(r, m)
		}
	}
}

// recordCall records a request of the client: a call of a fixture, or the capabilities in
// initialize.
func (s *callHistory) recordCall(d FixtureOutcomes, rev spec.Revision, r *transcript.Request) {
	switch m := r.Message; m.Method {
	case spec.MethodInitialize:
		s.declared = wire.At(m.Params(), "/capabilities")
	case spec.MethodToolsCall:
		for _, one := range d {
			name, _ := wire.Text(wire.At(m.Params(), "/name"))
			if name != one.Tool || !matchesFixture(one.Arguments, wire.At(m.Params(), "/arguments")) {
				continue
			}
			w := &fixtureCall{outcome: one, request: r, open: true}
			token := wire.IDAt(m.Params(), "/_meta/progressToken").IsPresent()
			w.mayShowRole = s.mayShowRole(one.Role, rev, token)
			one.asked = one.asked || token
			w.before, w.known = s.contents[one.changedContent()]
			s.forget(one.changedContent()) // a second call may undo what this one does
			s.calls = append(s.calls, w)
		}
	}
}

// forget drops the recorded content of a list or a resource.
func (s *callHistory) forget(what string) {
	delete(s.contents, what)
	for _, w := range s.calls {
		w.known = w.known && w.outcome.changedContent() != what
	}
}

// mayShowRole reports whether a call at this point can show that its tool plays the role. token is
// set if the call has a progress token.
func (s *callHistory) mayShowRole(role Role, rev spec.Revision, token bool) bool {
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
	default:
		return role.ExistsIn(rev)
	}
}

// recordEnd records that a call has ended.
func (s *callHistory) recordEnd(r *transcript.Request, at time.Duration) {
	for _, w := range s.calls {
		if w.open && w.request == r {
			w.open = false
			w.outcome.longest = max(w.outcome.longest, at-r.Event.At)
		}
	}
}

// recordResponse records a response of the server.
func (s *callHistory) recordResponse(r *transcript.Request, e *transcript.Event, m *wire.Message) {
	method := r.Message.Method
	failed := m.IsError() || string(wire.At(m.Result(), "/isError")) == "true"
	switch {
	case method == spec.MethodSetLevel && !failed:
		s.level, _ = wire.Text(wire.At(r.Message.Params(), "/level"))
	case method == spec.MethodResourcesRead && !failed:
		uri, _ := wire.Text(wire.At(r.Message.Params(), "/uri"))
		s.recordContent(uri, m)
	case ChangingRole(method) != "" && !failed:
		s.recordContent(method, m)
	}
	for _, w := range s.calls {
		if !w.open || w.request != r || m.IsOverloadError() {
			continue
		}
		if failed && w.outcome.Role != Fails {
			w.outcome.refused = describeFailure(m)
		} else {
			w.outcome.worked = true
		}
		if w.mayShowRole && w.outcome.changedContent() == "" {
			w.outcome.calls++
		}
		w.outcome.done = w.outcome.done || w.outcome.Role.IsShownBy(m)
	}
	s.recordEnd(r, e.At)
}

// changedContent returns the key in callHistory.contents of what a call of the fixture should
// change: the URI of a resource, or the method that returns a list; "" if it should change neither.
func (o *fixtureOutcome) changedContent() string {
	if o.Role == ChangesResource {
		return o.Resource
	}
	for _, method := range []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodPromptsList} {
		if ChangingRole(method) == o.Role {
			return method
		}
	}
	return ""
}

// recordContent records the current content of a list or a resource. If a call since the last read
// should have changed it and did not, the call did not play its role. A resource that stays the
// same does not count if all calls have the same arguments, because they may write the same
// content.
func (s *callHistory) recordContent(what string, m *wire.Message) {
	now := string(m.Result())
	for _, w := range s.calls {
		if w.open || !w.known || w.outcome.changedContent() != what {
			continue
		}
		w.known = false
		w.outcome.done = w.outcome.done || w.before != now
		if w.outcome.Role != ChangesResource || w.outcome.hasDistinctCalls() {
			w.outcome.calls++
		}
	}
	s.contents[what] = now
}

// hasDistinctCalls reports whether the arguments differ from call to call, because they contain the
// placeholder {count}.
func (o *fixtureOutcome) hasDistinctCalls() bool {
	text, err := json.Marshal(o.Arguments)
	return err == nil && strings.Contains(string(text), "{count}")
}

// recordFromServer records a request or a notification of the server; r is the client's request to
// which it belongs, or nil.
func (s *callHistory) recordFromServer(r *transcript.Request, m *wire.Message) {
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
			w.outcome.done = w.outcome.done || role != "" && role == AskingRole(m.Method)
		}
	}
}
