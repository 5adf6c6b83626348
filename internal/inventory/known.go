package inventory

import (
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Known is a call of a tool whose ways are known from its documentation.
type Known struct {
	Tool      string
	Arguments map[string]any
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

// Slow returns a call that takes about as long as said and reports progress
// after each of the steps, if the server has a tool that is known to do so and
// may be called.
func (v *Inventory) Slow(duration time.Duration, steps int) (Known, bool) {
	inSeconds := map[string]any{"duration": duration.Seconds(), "steps": steps}
	return v.known(
		Known{"slow", map[string]any{"durationMs": duration.Milliseconds(), "steps": steps}},
		Known{"trigger-long-running-operation", inSeconds},
		Known{"longRunningOperation", inSeconds},
	)
}

// Logging returns a call that sends a log message of every level, under the
// same conditions.
func (v *Inventory) Logging() (Known, bool) {
	return v.known(Known{"log", map[string]any{}})
}

// Asking returns a call that asks something of the client, under the same
// conditions.
func (v *Inventory) Asking() (Known, bool) {
	prompt := map[string]any{"prompt": "Say a word.", "maxTokens": 10}
	return v.known(
		Known{"ask-roots", map[string]any{}},
		Known{"trigger-sampling-request", prompt},
		Known{"sampleLLM", prompt},
	)
}

// Changing returns a call that changes a resource, and the URI of that, under
// the same conditions.
func (v *Inventory) Changing() (k Known, uri string, ok bool) {
	const note = "demo://note"
	if !slices.Contains(v.Resources, note) {
		return Known{}, "", false
	}
	k, ok = v.known(Known{"update-resource", map[string]any{"text": "changed"}})
	return k, note, ok
}

func (v *Inventory) known(calls ...Known) (Known, bool) {
	for _, k := range calls {
		if _, ok := v.Tool(k.Tool); ok {
			return k, true
		}
	}
	return Known{}, false
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
			out = append(out, Known{t.Name, map[string]any{}})
		}
	}
	return out
}

// bare tells whether a call without arguments fits the tool's input schema, as
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
