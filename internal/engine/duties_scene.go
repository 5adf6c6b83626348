package engine

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// watched is a call of a fixture in one conversation.
type watched struct {
	duty  *duty
	id    string
	token string
	sent  time.Duration
	open  bool
	tells bool // what comes of it tells whether the fixture does its duty
	// before is what that held which the call is to change, where that is known.
	before string
	known  bool
}

// scene is what is known of one conversation so far.
type scene struct {
	declared jsontext.Value // capabilities of the client
	level    string         // the level of log messages that was set last
	levels   map[string]string
	methods  map[string]string // of the client's requests, by id
	uris     map[string]string // that they read
	held     map[string]string // what lists and resources hold, as they were read last
	calls    []*watched
}

// note takes what became of the calls in one conversation.
func (d duties) note(rev spec.Revision, events []*transcript.Event) {
	if len(d) == 0 {
		return
	}
	s := &scene{levels: map[string]string{}, methods: map[string]string{}, uris: map[string]string{}, held: map[string]string{}}
	for _, e := range events {
		for i := range e.Messages() {
			m := &e.Messages()[i]
			switch {
			case e.Kind == transcript.Sent && m.Kind == wire.Request:
				s.request(d, rev, e, m)
			case e.Kind == transcript.Sent && m.Method == spec.MethodCancelled:
				s.end(wire.IDAt(m.Params(), "/requestId").Key(), e.At)
			case e.Kind == transcript.Received && m.Kind == wire.Response:
				s.answer(e, m)
			case e.Kind == transcript.Received:
				s.hear(m)
			}
		}
	}
}

// request notes a request of the client.
func (s *scene) request(d duties, rev spec.Revision, e *transcript.Event, m *wire.Message) {
	s.methods[m.ID.Key()] = m.Method
	switch m.Method {
	case spec.MethodInitialize:
		s.declared = wire.At(m.Params(), "/capabilities")
	case spec.MethodSetLevel:
		s.levels[m.ID.Key()], _ = wire.Text(wire.At(m.Params(), "/level"))
	case spec.MethodResourcesRead:
		s.uris[m.ID.Key()], _ = wire.Text(wire.At(m.Params(), "/uri"))
	case spec.MethodToolsCall:
		for _, one := range d {
			name, _ := wire.Text(wire.At(m.Params(), "/name"))
			if name != one.Tool || !fits(one.Arguments, wire.At(m.Params(), "/arguments")) {
				continue
			}
			w := &watched{
				duty: one, id: m.ID.Key(), token: string(wire.At(m.Params(), "/_meta/progressToken")), sent: e.At, open: true,
			}
			w.tells = s.tells(one.Role, rev, w.token)
			one.asked = one.asked || w.token != ""
			w.before, w.known = s.held[one.changes()]
			s.forget(one.changes()) // a second call may undo what this one does
			s.calls = append(s.calls, w)
		}
	}
}

// forget makes it unknown what a list or a resource held before.
func (s *scene) forget(what string) {
	delete(s.held, what)
	for _, w := range s.calls {
		w.known = w.known && w.duty.changes() != what
	}
}

// tells says whether a call that is made now shows what plays the role.
func (s *scene) tells(role inventory.Role, rev spec.Revision, token string) bool {
	switch role {
	case inventory.Slow:
		return true
	case inventory.Progress:
		return token != ""
	case inventory.Logging:
		return s.level == "debug"
	case inventory.AsksSampling:
		return wire.At(s.declared, "/sampling") != nil
	case inventory.AsksElicitation:
		return wire.At(s.declared, "/elicitation") != nil
	case inventory.AsksRoots:
		return wire.At(s.declared, "/roots") != nil
	case inventory.Structured, inventory.GivesLink:
		return rev >= spec.V20250618
	case inventory.GivesAudio:
		return rev >= spec.V20250326
	default:
		return true
	}
}

// end notes that a call is over.
func (s *scene) end(id string, at time.Duration) {
	for _, w := range s.calls {
		if w.open && w.id == id {
			w.open = false
			w.duty.longest = max(w.duty.longest, at-w.sent)
		}
	}
}

// answer notes a response of the server.
func (s *scene) answer(e *transcript.Event, m *wire.Message) {
	id := m.ID.Key()
	method := s.methods[id]
	failed := m.IsError() || string(wire.At(m.Result(), "/isError")) == "true"
	switch {
	case method == spec.MethodSetLevel && !failed:
		s.level = s.levels[id]
	case method == spec.MethodResourcesRead && !failed:
		s.holds(s.uris[id], m)
	case inventory.Changes(method) != "" && !failed:
		s.holds(method, m)
	}
	for _, w := range s.calls {
		if !w.open || w.id != id || m.Busy() {
			continue
		}
		if failed && w.duty.Role != inventory.Fails {
			w.duty.refused = failure(m)
		} else {
			w.duty.worked = true
		}
		if w.tells && w.duty.changes() == "" {
			w.duty.calls++
		}
		w.duty.done = w.duty.done || w.duty.Role.ShownBy(m)
	}
	s.end(id, e.At)
}

// changes returns what the call is to change: the URI of a resource, or the
// method that lists it; "" for calls that do something else.
func (o *duty) changes() string {
	if o.Role == inventory.ChangesResource {
		return o.Resource
	}
	for _, method := range []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodPromptsList} {
		if inventory.Changes(method) == o.Role {
			return method
		}
	}
	return ""
}

// holds notes what a list, or a resource, holds now. A call that was made since
// it was read last, and changed nothing, has not done its duty; where a resource
// is given the same content with each call, that shows nothing.
func (s *scene) holds(what string, m *wire.Message) {
	now := string(m.Result())
	for _, w := range s.calls {
		if w.open || !w.known || w.duty.changes() != what {
			continue
		}
		w.known = false
		w.duty.done = w.duty.done || w.before != now
		if w.duty.Role != inventory.ChangesResource || w.duty.counts() {
			w.duty.calls++
		}
	}
	s.held[what] = now
}

// counts tells whether the arguments differ from call to call.
func (o *duty) counts() bool {
	text, err := json.Marshal(o.Arguments)
	return err == nil && strings.Contains(string(text), "{count}")
}

// hear notes a request or a notification of the server.
func (s *scene) hear(m *wire.Message) {
	uri, _ := wire.Text(wire.At(m.Params(), "/uri"))
	for _, w := range s.calls {
		role := w.duty.Role
		switch m.Method {
		case spec.MethodProgress:
			if w.open && w.token != "" && string(wire.At(m.Params(), "/progressToken")) == w.token {
				w.duty.moved = true
				w.duty.done = w.duty.done || role == inventory.Progress
			}
		case spec.MethodMessage:
			w.duty.done = w.duty.done || role == inventory.Logging
		case spec.MethodToolsChanged:
			w.duty.done = w.duty.done || role == inventory.ChangesTools
		case spec.MethodResourcesChanged:
			w.duty.done = w.duty.done || role == inventory.ChangesResources
		case spec.MethodPromptsChanged:
			w.duty.done = w.duty.done || role == inventory.ChangesPrompts
		case spec.MethodResourcesUpdated:
			w.duty.done = w.duty.done || role == inventory.ChangesResource && uri == w.duty.Resource
		default:
			w.duty.done = w.duty.done || role != "" && role == inventory.Asks(m.Method)
		}
	}
}
