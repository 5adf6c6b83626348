package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Known is a call of a tool whose ways are known, by its name or because the
// user told them.
type Known struct {
	Tool      string
	Arguments map[string]any
	// Levels are those of the log messages that it sends, if they are known.
	Levels []string
	// Exact: the result depends on the arguments alone.
	Exact bool
	// Own: the user told of it; others are known by their names alone, and may
	// be something else.
	Own bool
	// Takes is how long the call took when its role was learned, 0 where it was not.
	Takes time.Duration
	// Promised: the author of the server says what it does, in the configuration
	// or by having made the server for the official suite.
	Promised bool
}

// Params returns the params of tools/call for it.
func (k Known) Params() map[string]any {
	return map[string]any{"name": k.Tool, "arguments": k.Arguments}
}

// WithToken returns its params with a progress token, of whatever type.
func (k Known) WithToken(token any) map[string]any {
	p := k.Params()
	p["_meta"] = map[string]any{"progressToken": token}
	return p
}

// Known returns the calls that are known to play the role, those first that
// the user named, as far as the server offers their tools and they may be
// called.
func (v *Inventory) Known(role Role) []Known {
	return v.known(role, filling{duration: shortly, steps: 3, count: 1})
}

// shortly is what a slow tool takes where nobody says more.
const shortly = 100 * time.Millisecond

// Has reports whether such a call is known.
func (v *Inventory) Has(role Role) bool { return len(v.Known(role)) > 0 }

// Slow returns a call that reports progress while it runs, if the server has a
// tool that is known to do so and may be called. Where the tool lets itself be
// told, it takes as long as said, and reports after each of the steps.
func (v *Inventory) Slow(duration time.Duration, steps int) (Known, bool) {
	return first(v.known(Slow, filling{duration: duration, steps: steps, count: 1}))
}

// Logging returns a call that sends log messages, under the same conditions.
func (v *Inventory) Logging() (Known, bool) { return first(v.Known(Logging)) }

// Asking returns a call that asks something of the client, under the same
// conditions.
func (v *Inventory) Asking() (Known, bool) {
	return first(slices.Concat(v.Known(AsksRoots), v.Known(AsksSampling), v.Known(AsksElicitation)))
}

// AskingFor returns a call that sends the client a request for the method,
// under the same conditions.
func (v *Inventory) AskingFor(method string) (Known, bool) { return first(v.Known(Asks(method))) }

// ChangingList returns a call that changes the list that the method lists,
// under the same conditions.
func (v *Inventory) ChangingList(method string) (Known, bool) { return first(v.Known(Changes(method))) }

// Changing returns a call that changes a resource, and the URI of that, under
// the same conditions.
func (v *Inventory) Changing() (k Known, uri string, ok bool) { return v.ChangingTo(1) }

// ChangingTo is like Changing. Where the tool lets itself be told, calls with
// different numbers make different changes.
func (v *Inventory) ChangingTo(n int) (k Known, uri string, ok bool) {
	for _, f := range v.usable(ChangesResource) {
		if f.own || slices.Contains(v.Resources, f.Resource) {
			return f.known(filling{duration: shortly, steps: 1, count: n}), f.Resource, true
		}
	}
	return Known{}, "", false
}

// Numbered returns the first call that is known to play the role, of which
// there has to be one. Where the tool lets itself be told, calls with different
// numbers do different things.
func (v *Inventory) Numbered(role Role, n int) Known {
	return v.known(role, filling{duration: shortly, steps: 3, count: n})[0]
}

func first(all []Known) (Known, bool) {
	if len(all) == 0 {
		return Known{}, false
	}
	return all[0], true
}

func (v *Inventory) known(role Role, with filling) []Known {
	var out []Known
	for _, f := range v.usable(role) {
		if role != ChangesResource || f.own || slices.Contains(v.Resources, f.Resource) {
			k := f.known(with)
			k.Promised = f.own || slices.Contains(officialTools, f.Tool) && v.official()
			out = append(out, k)
		}
	}
	return out
}

// usableFixture is one whose tool may be called.
type usableFixture struct {
	Fixture

	own     bool          // the user named it
	learned bool          // a call has shown its role
	takes   time.Duration // what that call took
}

// usable returns the fixtures of the role whose tools may be called, those of
// the user first; where there are none, those that were learned.
func (v *Inventory) usable(role Role) []usableFixture {
	var out []usableFixture
	add := func(all []Fixture, own bool) {
		for _, f := range all {
			if f.Role != role {
				continue
			}
			if t, ok := v.Tool(f.Tool); ok && (own || v.meant(f, t)) {
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

// Barred returns the tools that are known to play the role and may not be
// called, as far as the server offers them and the user did not exclude them.
func (v *Inventory) Barred(role Role) []string {
	var out []string
	for _, f := range fixtures {
		if f.Role != role || slices.Contains(out, f.Tool) || slices.Contains(v.config.Never, f.Tool) {
			continue
		}
		i := slices.IndexFunc(v.Tools, func(t Tool) bool { return t.Name == f.Tool })
		if i >= 0 && !v.may(v.Tools[i], v.official()) && v.meant(f, v.Tools[i]) {
			out = append(out, f.Tool)
		}
	}
	return out
}

// meant reports whether a tool is the one that is known by its name, and not
// another that is called so: it takes the arguments, and where the name is an
// ordinary word the server has others of the reference server's tools.
func (v *Inventory) meant(f Fixture, t Tool) bool {
	if schema := wire.At(t.Raw, "/inputSchema"); schema != nil {
		_, properties := wire.Members(wire.At(schema, "/properties"))
		for name := range f.Arguments {
			if properties[name] == nil {
				return false
			}
		}
	}
	return !slices.Contains(ordinaryWords, f.Tool) || v.offers(ordinaryWords) >= ordinaryEnough
}

func (f usableFixture) known(with filling) Known {
	given := map[string]any{}
	for name, value := range f.Arguments {
		given[name] = with.in(value)
	}
	return Known{Tool: f.Tool, Arguments: given, Levels: f.Levels, Exact: f.Exact, Own: f.own, Takes: f.takes}
}

// filling are the values that stand for names in the arguments of a fixture.
type filling struct {
	duration     time.Duration
	steps, count int
}

// in returns the value with the names in it replaced.
func (w filling) in(value any) any {
	switch x := value.(type) {
	case string:
		return w.text(x)
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, member := range x {
			out[name] = w.in(member)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, element := range x {
			out[i] = w.in(element)
		}
		return out
	default:
		return value
	}
}

func (w filling) text(s string) any {
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

// Bare returns at most n calls, without arguments, of tools that may be called
// and whose input schema requires none.
func (v *Inventory) Bare(n int) []Known {
	var out []Known
	for _, t := range v.Callable() {
		if len(out) == n {
			break
		}
		if t.bare() {
			out = append(out, Known{Tool: t.Name, Arguments: map[string]any{}})
		}
	}
	return out
}

// bare reports whether a call without arguments fits the tool's input schema, as
// far as its outermost members tell.
func (t Tool) bare() bool {
	schema := wire.At(t.Raw, "/inputSchema")
	for _, member := range []string{"/allOf", "/anyOf", "/oneOf", "/$ref", "/minProperties"} {
		if wire.At(schema, member) != nil {
			return false
		}
	}
	return schema.Kind() == '{' && len(wire.Elements(wire.At(schema, "/required"))) == 0
}
