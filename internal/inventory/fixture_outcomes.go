package inventory

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A configured fixture may fail to do what the configuration says. Cases then observe nothing, and
// a notice names the line of the configuration. There is no notice if the fixture played its role
// in at least one call: in the others, the tool may have sent no request because the client lacked
// the capability.

// minSlow is the minimum duration of the longest call of a slow tool.
const minSlow = 40 * time.Millisecond

// A fixtureOutcome is what was observed of one configured fixture in all its calls.
type fixtureOutcome struct {
	Fixture

	calls   int           // calls that could show the role
	done    bool          // a call did what the role says
	refused string        // the last failure; it counts only if no call worked
	worked  bool          // a call had a result without isError
	longest time.Duration // the longest time that a call took
	asked   bool          // a call had a progress token
	moved   bool          // a call reported progress
}

// FixtureOutcomes is what was observed of all configured fixtures.
type FixtureOutcomes []*fixtureOutcome

// NewFixtureOutcomes returns the outcomes before any call.
func NewFixtureOutcomes(all []Fixture) FixtureOutcomes {
	var out FixtureOutcomes
	for _, f := range all {
		out = append(out, &fixtureOutcome{Fixture: f})
	}
	return out
}

// describeFailure describes how a call failed.
func describeFailure(m *wire.Message) string {
	if m.IsError() {
		code, _ := m.ErrorCode()
		text, _ := wire.Text(wire.At(m.Members["error"], "/message"))
		return fmt.Sprintf("error %d %q", code, wire.Excerpt(text, 80))
	}
	text, _ := wire.Text(wire.At(m.Result(), "/content/0/text"))
	return fmt.Sprintf("isError, and %q", wire.Excerpt(text, 80))
}

// matchesFixture reports whether the arguments of a call are those of a fixture. A string of the
// fixture that holds a placeholder matches any value.
func matchesFixture(want any, got jsontext.Value) bool {
	text, err := json.Marshal(want)
	if err != nil {
		return false
	}
	var a, b any
	if json.Unmarshal(text, &a) != nil || json.Unmarshal(got, &b) != nil {
		return false
	}
	return matchesValue(a, b)
}

func matchesValue(want, got any) bool {
	switch x := want.(type) {
	case string:
		return want == got || strings.Contains(x, "{")
	case map[string]any:
		y, ok := got.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name := range x {
			if other, there := y[name]; !there || !matchesValue(x[name], other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := got.([]any)
		return ok && slices.EqualFunc(x, y, matchesValue)
	default:
		return reflect.DeepEqual(want, got)
	}
}

// Notices returns a notice for each fixture that did not do what the
// configuration says.
func (d FixtureOutcomes) Notices() []string {
	var out []string
	for _, one := range d {
		if but := one.shortcoming(); but != "" {
			out = append(out, fmt.Sprintf("%s: the tool %q is configured as %s, but %s", one.Where, wire.Excerpt(one.Tool, 60), one.Role, but))
		}
	}
	return out
}

// shortcoming returns what a fixture did instead of its role, or "" if it
// played the role or was not observed.
func (o *fixtureOutcome) shortcoming() string {
	switch {
	case o.refused != "" && !o.worked && !o.done:
		return "its calls fail: " + o.refused
	case o.calls == 0:
		return ""
	case o.Role == Slow && o.longest < minSlow:
		took := o.longest.Round(time.Millisecond).String()
		if o.longest < time.Millisecond {
			took = "less than a millisecond"
		}
		if o.asked && !o.moved {
			return "answered in " + took + ", and without progress"
		}
		return "answered in " + took
	case o.Role == Slow && o.asked && !o.moved:
		return "reported no progress, by which it would be seen to run"
	case o.done, o.Role == Slow:
		return ""
	default:
		return missingEffects[o.Role]
	}
}

// missingEffects describes, for each role, the effect that a call did not have.
var missingEffects = map[Role]string{
	Progress:         "reported no progress",
	Logging:          "sent no log message, though the level debug was set",
	AsksSampling:     "sent no " + spec.MethodSampling,
	AsksElicitation:  "sent no " + spec.MethodElicit,
	AsksRoots:        "sent no " + spec.MethodRootsList,
	ChangesResource:  "the resource was the same afterwards, and no notification announced a change",
	ChangesTools:     "the list was the same afterwards, and no notification announced a change",
	ChangesResources: "the list was the same afterwards, and no notification announced a change",
	ChangesPrompts:   "the list was the same afterwards, and no notification announced a change",
	Fails:            "its result does not say isError",
	Structured:       "its result has no structuredContent",
	GivesText:        "its result has no text",
	GivesImage:       "its result has no image",
	GivesAudio:       "its result has no sound",
	GivesResource:    "its result has no embedded resource",
	GivesLink:        "its result has no link to a resource",
}
