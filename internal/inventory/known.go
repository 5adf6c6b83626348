package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A KnownCall is a call that is known to play a role, because of its tool's name, the
// configuration, or what an earlier call has shown. The calls that CallsWithoutArguments returns
// are an exception: they need not play any role.
type KnownCall struct {
	Tool      string
	Arguments map[string]any
	// Levels are the levels of the log messages that the call sends, if known.
	Levels []string
	// IsDeterministic reports whether the result depends only on the arguments.
	IsDeterministic bool
	// IsConfigured reports whether the call is configured. A call that is known only by the name of
	// its tool may do something else.
	IsConfigured bool
	// Took is how long the call took when its role was learned, or 0 if the role was not learned.
	Took time.Duration
	// IsPromised reports whether the author of the server states the role, in the
	// configuration or by making the server for the official suite.
	IsPromised bool
}

// Params returns the params of tools/call.
func (k KnownCall) Params() map[string]any {
	return map[string]any{"name": k.Tool, "arguments": k.Arguments}
}

// ParamsWithToken returns the params of tools/call with a progress token, which may have any JSON
// type.
func (k KnownCall) ParamsWithToken(token any) map[string]any {
	p := k.Params()
	p["_meta"] = map[string]any{"progressToken": token}
	return p
}

// KnownCalls returns the calls that are known to play the role, of tools that the server offers and
// that may be called: first the configured calls, then those known by name. If there are none, it
// returns the learned ones.
func (v *Inventory) KnownCalls(role Role) []KnownCall {
	return v.filledCalls(role, filling{duration: shortDuration, steps: 3, count: 1})
}

// shortDuration is the default duration of a slow call.
const shortDuration = 100 * time.Millisecond

// HasCall reports whether KnownCalls returns a call for the role.
func (v *Inventory) HasCall(role Role) bool { return len(v.KnownCalls(role)) > 0 }

// SlowCall returns a call that reports progress while it runs. If its arguments have placeholders
// for the duration and the steps, the call takes the given duration and reports progress after each
// of the steps.
func (v *Inventory) SlowCall(duration time.Duration, steps int) (KnownCall, bool) {
	return firstCall(v.filledCalls(Slow, filling{duration: duration, steps: steps, count: 1}))
}

// LongCall returns a call that reports progress while it runs, like SlowCall, but that takes
// seconds. Took is 0 if its duration is unknown.
func (v *Inventory) LongCall() (KnownCall, bool) { return firstCall(v.KnownCalls(Long)) }

// LoggingCall returns a call that sends log messages.
func (v *Inventory) LoggingCall() (KnownCall, bool) { return firstCall(v.KnownCalls(Logging)) }

// AskingCall returns a call during which the server requests roots, sampling or elicitation.
func (v *Inventory) AskingCall() (KnownCall, bool) {
	return firstCall(slices.Concat(v.KnownCalls(AsksRoots), v.KnownCalls(AsksSampling), v.KnownCalls(AsksElicitation)))
}

// AskingCallFor returns a call during which the server sends the client a request with the given
// method.
func (v *Inventory) AskingCallFor(method string) (KnownCall, bool) {
	return firstCall(v.KnownCalls(AskingRole(method)))
}

// ListChangeCall returns a call that changes the list which the given method returns.
func (v *Inventory) ListChangeCall(method string) (KnownCall, bool) {
	return firstCall(v.KnownCalls(ChangingRole(method)))
}

// ResourceChangeCall returns a call that changes a resource, and the resource's URI.
func (v *Inventory) ResourceChangeCall() (k KnownCall, uri string, ok bool) {
	return v.NumberedResourceChangeCall(1)
}

// NumberedResourceChangeCall is like ResourceChangeCall. If the arguments have the placeholder
// {count}, calls with different n make different changes.
func (v *Inventory) NumberedResourceChangeCall(n int) (k KnownCall, uri string, ok bool) {
	for _, f := range v.usableFixtures(ChangesResource) {
		if f.own || slices.Contains(v.Resources, f.Resource) {
			return f.knownCall(filling{duration: shortDuration, steps: 1, count: n}), f.Resource, true
		}
	}
	return KnownCall{}, "", false
}

// NumberedCall returns the first call known to play the role; there must be one. If its arguments
// have the placeholder {count}, calls with different n differ.
func (v *Inventory) NumberedCall(role Role, n int) KnownCall {
	return v.filledCalls(role, filling{duration: shortDuration, steps: 3, count: n})[0]
}

func firstCall(all []KnownCall) (KnownCall, bool) {
	if len(all) == 0 {
		return KnownCall{}, false
	}
	return all[0], true
}

func (v *Inventory) filledCalls(role Role, with filling) []KnownCall {
	var out []KnownCall
	for _, f := range v.usableFixtures(role) {
		if role != ChangesResource || f.own || slices.Contains(v.Resources, f.Resource) {
			k := f.knownCall(with)
			k.IsPromised = f.own || slices.Contains(officialTools, f.Tool) && v.isForOfficialSuite()
			out = append(out, k)
		}
	}
	return out
}

// A usableFixture is a fixture whose tool may be called.
type usableFixture struct {
	Fixture

	own     bool          // the user configured it
	learned bool          // a call has shown the role
	takes   time.Duration // how long the call that showed the role took
}

// usableFixtures returns the fixtures of the role whose tools may be called, configured ones first.
// If there are none, it returns the learned ones.
func (v *Inventory) usableFixtures(role Role) []usableFixture {
	var out []usableFixture
	add := func(all []Fixture, own bool) {
		for _, f := range all {
			if f.Role != role {
				continue
			}
			if t, ok := v.Tool(f.Tool); ok && (own || v.isKnownTool(f, t)) {
				out = append(out, usableFixture{Fixture: f, own: own})
			}
		}
	}
	add(v.config.Fixtures, true)
	add(fixtures, false)
	if len(out) == 0 {
		out = v.learnedFixtures(role)
	}
	return out
}

// BarredTools returns the tools that are known to play the role, but that the policy
// does not allow to be called. It omits tools that the user excluded by name.
func (v *Inventory) BarredTools(role Role) []string {
	if role == Long { // no fixture has the role Long: slow ones have the role Slow, however long they take
		role = Slow
	}
	var out []string
	for _, f := range fixtures {
		if f.Role != role || slices.Contains(out, f.Tool) || slices.Contains(v.config.Never, f.Tool) {
			continue
		}
		i := slices.IndexFunc(v.Tools, func(t Tool) bool { return t.Name == f.Tool })
		if i >= 0 && !v.mayCall(v.Tools[i], v.isForOfficialSuite()) && v.isKnownTool(f, v.Tools[i]) {
			out = append(out, f.Tool)
		}
	}
	return out
}

// isKnownTool reports whether t is the tool that fixture f calls, and not another one of the same
// name: its schema has the fixture's arguments, and if the name is one of ordinaryWords, the server
// offers at least ordinaryEnough of the tools named there.
func (v *Inventory) isKnownTool(f Fixture, t Tool) bool {
	if schema := wire.At(t.Raw, "/inputSchema"); schema != nil {
		_, properties := wire.Members(wire.At(schema, "/properties"))
		for name := range f.Arguments {
			if properties[name] == nil {
				return false
			}
		}
	}
	return !slices.Contains(ordinaryWords, f.Tool) || v.countOffered(ordinaryWords) >= ordinaryEnough
}

func (f usableFixture) knownCall(with filling) KnownCall {
	given := map[string]any{}
	for name, value := range f.Arguments {
		given[name] = with.fill(value)
	}
	return KnownCall{Tool: f.Tool, Arguments: given, Levels: f.Levels, IsDeterministic: f.Exact, IsConfigured: f.own, Took: f.takes}
}

// filling holds the values of the placeholders.
type filling struct {
	duration     time.Duration
	steps, count int
}

// fill returns the value with its placeholders replaced.
func (w filling) fill(value any) any {
	switch x := value.(type) {
	case string:
		return w.fillText(x)
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, member := range x {
			out[name] = w.fill(member)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, element := range x {
			out[i] = w.fill(element)
		}
		return out
	default:
		return value
	}
}

func (w filling) fillText(s string) any {
	if !strings.Contains(s, "{") {
		return s
	}
	values := map[string]any{
		"{milliseconds}": w.duration.Milliseconds(), "{seconds}": w.duration.Seconds(), "{steps}": w.steps, "{count}": w.count,
	}
	if v, ok := values[s]; ok {
		return v
	}
	for name, v := range values {
		s = strings.ReplaceAll(s, name, fmt.Sprint(v))
	}
	return s
}

// CallsWithoutArguments returns at most n calls without arguments, of tools that may be called and
// whose input schemas require no arguments.
func (v *Inventory) CallsWithoutArguments(n int) []KnownCall {
	var out []KnownCall
	for _, t := range v.Callable() {
		if len(out) == n {
			break
		}
		if t.needsNoArguments() {
			out = append(out, KnownCall{Tool: t.Name, Arguments: map[string]any{}})
		}
	}
	return out
}

// needsNoArguments reports whether a call without arguments fits the tool's input schema. It reads
// only the top level of the schema.
func (t Tool) needsNoArguments() bool {
	schema := wire.At(t.Raw, "/inputSchema")
	for _, member := range []string{"/allOf", "/anyOf", "/oneOf", "/$ref", "/minProperties"} {
		if wire.At(schema, member) != nil {
			return false
		}
	}
	return schema.Kind() == '{' && len(wire.Elements(wire.At(schema, "/required"))) == 0
}
