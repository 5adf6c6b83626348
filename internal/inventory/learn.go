package inventory

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Limits on the calls that learn roles.
const (
	learnTools     = 40                      // how many tools to call
	learnResources = 10                      // how many resources to subscribe to
	learnCall      = 1500 * time.Millisecond // the time limit of one call
	learnLongCall  = 3 * time.Second         // the time limit of a call that sends progress, until one is known to be slow
	learnTime      = 5 * time.Second         // the time limit of all calls together
)

// slowTime is the minimum duration of a call of a slow tool, and slowProgress the
// minimum number of progress notifications that it sends.
const (
	slowTime     = 80 * time.Millisecond
	slowProgress = 2
)

// learnable are the roles that a call can show.
var learnable = []Role{
	Slow, Long, Progress, Logging, AsksSampling, AsksElicitation, AsksRoots,
	ChangesTools, ChangesResources, ChangesPrompts, ChangesResource,
}

// A Learned is a fixture whose role a call has shown.
type Learned struct {
	Fixture

	schema jsontext.Value // the tool's input schema
	takes  time.Duration  // how long the call took
}

// canShowRole reports whether a call can show the role: the revision has, and the
// server declares, what the role needs.
func (v *Inventory) canShowRole(role Role) bool {
	switch role {
	case Slow, Long, Progress, AsksSampling, AsksElicitation, AsksRoots, ChangesTools:
		return role.ExistsIn(spec.Revision(v.Server.ProtocolVersion))
	case Logging: // in the stateless era each call requests log messages, so it shows undeclared logging, too
		return v.Declares("logging") || spec.Revision(v.Server.ProtocolVersion).Era() == spec.Stateless
	case ChangesResource:
		return v.Declares("resources.subscribe")
	case ChangesResources:
		return v.Declares("resources")
	case ChangesPrompts:
		return v.Declares("prompts")
	default:
		return false
	}
}

// changing are the roles of tools that cannot be read-only.
var changing = []Role{ChangesTools, ChangesResources, ChangesPrompts, ChangesResource}

// SetLearned sets the function that returns what Learn found in an inventory of the same server.
// The inventory calls it, from any goroutine, when a role is needed that no tool is known to play.
func (v *Inventory) SetLearned(learned func() []Learned) { v.learnRoles = learned }

// learnedFixtures returns the learned fixtures of the role whose tools have the same schema in this
// inventory. It returns none if no unknown tool can play the role, or if the policy does not allow
// calls of a tool that is known to play the role.
func (v *Inventory) learnedFixtures(role Role) []usableFixture {
	mayPlay := func(t Tool) bool { return !t.ReadOnly || !slices.Contains(changing, role) }
	if v.learnRoles == nil || !v.canShowRole(role) || !slices.ContainsFunc(v.unknownTools(), mayPlay) || len(v.BarredTools(role)) > 0 {
		return nil
	}
	var out []usableFixture
	for _, f := range v.learnRoles() {
		t, ok := v.Tool(f.Tool)
		if f.Role == role && ok && bytes.Equal(f.schema, wire.At(t.Raw, "/inputSchema")) {
			out = append(out, usableFixture{Fixture: f.Fixture, learned: true, takes: f.takes})
		}
	}
	return out
}

// unknownTools returns the first learnTools callable tools that have no known role, and for which
// arguments can be made. The result is computed only once.
func (v *Inventory) unknownTools() []Tool {
	v.unknownOf.Do(func() { v.unknownOf.tools = v.findUnknown() })
	return v.unknownOf.tools
}

func (v *Inventory) findUnknown() []Tool {
	var out []Tool
	for _, t := range v.Callable() {
		if len(out) == learnTools {
			break
		}
		known := func(f Fixture) bool { return f.Tool == t.Name }
		if slices.ContainsFunc(v.config.Fixtures, known) || slices.ContainsFunc(fixtures, func(f Fixture) bool { return known(f) && v.isKnownTool(f, t) }) {
			continue
		}
		if _, err := t.Arguments(); err == nil {
			out = append(out, t)
		}
	}
	return out
}

// Learn calls each unknown tool once, with minimal arguments, and then calls those again that may
// have changed a resource. The conversation must be after its handshake and must serve no other
// purpose. Learn returns the roles that the tools showed before learnTime ended.
func (v *Inventory) Learn(ctx context.Context, c *client.Conversation) []Learned {
	tools := v.unknownTools()
	if len(tools) == 0 {
		return nil
	}
	ctx, cancel := c.Record.WithTimeout(ctx, learnTime, context.DeadlineExceeded)
	defer cancel()
	v.requestNotifications(ctx, c)
	l := &learner{c: c, updates: map[string][]string{}}
	for _, t := range tools {
		if ctx.Err() != nil || !l.call(ctx, t) {
			break
		}
	}
	l.findResourceChanges(ctx, v)
	slices.SortStableFunc(l.found, func(a, b Learned) int { return int(b.takes - a.takes) })
	return l.found
}

// requestNotifications requests log messages, and updates of the first resources. In 2026-07-28 it
// requests list changes instead of log messages: there a server sends list changes only on request,
// and each call requests its own log messages.
func (v *Inventory) requestNotifications(ctx context.Context, c *client.Conversation) {
	var uris []string
	if v.Declares("resources.subscribe") {
		uris = v.Resources[:min(learnResources, len(v.Resources))]
	}
	if c.Revision().Era() == spec.Stateless {
		if s, err := c.Subscribe(ctx, client.FilterForAll(uris)); err == nil {
			_, _ = s.AwaitAcknowledgement(ctx) // without it, the calls show less
		}
		return
	}
	if v.Declares("logging") {
		c.Do(ctx, spec.MethodSetLevel, map[string]any{"level": "debug"}, client.Within(learnCall))
	}
	for _, uri := range uris {
		c.Do(ctx, spec.MethodResourcesSubscribe, map[string]any{"uri": uri}, client.Within(learnCall))
	}
}

// A learner observes what calls do.
type learner struct {
	c       *client.Conversation
	found   []Learned
	updates map[string][]string // by URI: the tools during whose calls it was updated
}

// call calls a tool, records its roles, and reports whether the server still responds, so that
// further tools can be called.
func (l *learner) call(ctx context.Context, t Tool) bool {
	arguments, err := t.Arguments()
	if err != nil {
		return true
	}
	s := l.observeCall(ctx, t, arguments)
	for _, role := range s.roles() {
		l.found = append(l.found, Learned{Fixture{Role: role, Tool: t.Name, Arguments: arguments}, wire.At(t.Raw, "/inputSchema"), s.took})
	}
	for _, uri := range s.updated {
		l.updates[uri] = append(l.updates[uri], t.Name)
	}
	return s.alive
}

// findResourceChanges records the tools that change a resource. Such a tool meets two conditions.
// First, the resource was updated during calls of this tool only: a resource that is updated during
// other calls may change by itself. Second, the resource is updated again when the tool is called
// again, with other arguments where possible.
func (l *learner) findResourceChanges(ctx context.Context, v *Inventory) {
	for _, uri := range slices.Sorted(maps.Keys(l.updates)) {
		tools := l.updates[uri]
		t, ok := v.Tool(tools[0])
		if len(tools) > 1 || !ok || t.ReadOnly || !slices.Contains(v.Resources, uri) {
			continue
		}
		plain, err := t.Arguments()
		if err != nil {
			continue
		}
		f := Fixture{Role: ChangesResource, Tool: t.Name, Resource: uri}
		for _, f.Arguments = range []map[string]any{withNumber(t, plain), plain} {
			again := usableFixture{Fixture: f}.knownCall(filling{duration: shortDuration, steps: 1, count: 2})
			if s := l.observeCall(ctx, t, again.Arguments); slices.Contains(s.updated, uri) {
				l.found = append(l.found, Learned{f, wire.At(t.Raw, "/inputSchema"), s.took})
				break
			}
		}
	}
}

// withNumber returns the arguments with the placeholder {count} in each string that may have any
// value, so that several calls make different changes.
func withNumber(t Tool, arguments map[string]any) map[string]any {
	_, properties := wire.Members(wire.At(t.Raw, "/inputSchema/properties"))
	out := maps.Clone(arguments)
	for name, v := range arguments {
		_, words := wire.Members(properties[name])
		if v == "text" && words["pattern"] == nil && !generate.HasNamedValue(properties[name]) && hasRoomForNumber(words["maxLength"]) {
			out[name] = "text {count}"
		}
	}
	return out
}

// hasRoomForNumber reports whether a string with this maxLength can hold the value that withNumber
// sets.
func hasRoomForNumber(maxLength jsontext.Value) bool {
	most, bounded := wire.Integer(maxLength)
	return !bounded || most >= 16
}

// knowsSlow reports whether a call has shown that its tool is slow, or takes long.
func (l *learner) knowsSlow() bool {
	return slices.ContainsFunc(l.found, func(f Learned) bool { return f.Role == Slow || f.Role == Long })
}

// A callObservation is what the server sent during a call.
type callObservation struct {
	took     time.Duration // 0 if the call had no result, or one with isError
	long     bool          // the call took longer than learnCall, or its end was not seen
	progress int
	methods  []string // the methods of the server's requests and notifications during the call
	updated  []string // the URIs of the resources that were updated
	alive    bool     // the server responds to a later request
}

func (l *learner) observeCall(ctx context.Context, t Tool, arguments map[string]any) callObservation {
	from := l.c.Record.Len()
	token := "mcp-conform-learn-" + wire.StringID(t.Name).Raw()
	params := KnownCall{Tool: t.Name, Arguments: arguments}.ParamsWithToken(token)
	if l.c.Revision().Era() == spec.Stateless {
		params["_meta"].(map[string]any)[spec.MetaLogLevel] = "debug"
	}
	limits := []client.Option{client.Within(learnCall)}
	if !l.knowsSlow() {
		limits = append(limits, client.LongerWithProgress(learnLongCall))
	}
	r := l.c.Do(ctx, spec.MethodToolsCall, params, limits...)
	s := callObservation{long: errors.Is(r.Err, client.ErrUnanswered), alive: l.c.Alive() && l.c.Fence(ctx) == nil}
	if r.Succeeded() && !Fails.IsShownBy(r.Message) {
		s.took = r.Event.At - r.Sent.At
		s.long = s.took > learnCall+l.c.FastestResponse()+l.c.Grace()
	}
	for _, m := range transcript.Messages(l.c.Record.From(from), transcript.Received) {
		if m.Kind == wire.Response {
			for _, in := range transcript.InputRequests(m) {
				s.methods = append(s.methods, in.Method)
			}
			continue
		}
		s.methods = append(s.methods, m.Method)
		switch m.Method {
		case spec.MethodProgress:
			s.progress++
		case spec.MethodResourcesUpdated:
			if uri, ok := wire.Text(wire.At(m.Params(), "/uri")); ok && !slices.Contains(s.updated, uri) {
				s.updated = append(s.updated, uri)
			}
		}
	}
	return s
}

// roles returns the roles that the call played.
func (s callObservation) roles() []Role {
	var out []Role
	shows := map[Role]bool{
		Slow:             s.took >= slowTime && s.progress >= slowProgress && !s.long,
		Long:             s.progress >= slowProgress && s.long,
		Progress:         s.took > 0 && s.progress > 0,
		Logging:          s.took > 0 && slices.Contains(s.methods, spec.MethodMessage),
		AsksSampling:     slices.Contains(s.methods, spec.MethodSampling),
		AsksElicitation:  slices.Contains(s.methods, spec.MethodElicit),
		AsksRoots:        slices.Contains(s.methods, spec.MethodRootsList),
		ChangesTools:     slices.Contains(s.methods, spec.MethodToolsChanged),
		ChangesResources: slices.Contains(s.methods, spec.MethodResourcesChanged),
		ChangesPrompts:   slices.Contains(s.methods, spec.MethodPromptsChanged),
	}
	for _, role := range learnable {
		if shows[role] {
			out = append(out, role)
		}
	}
	return out
}
