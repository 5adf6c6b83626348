package suite

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// roleDescriptions has, for each role, the words that follow "a tool is known".
var roleDescriptions = map[inventory.Role]string{
	inventory.Slow:             "to be slow",
	inventory.Progress:         "to report progress",
	inventory.Logging:          "to log",
	inventory.AsksSampling:     "to ask the client's model",
	inventory.AsksElicitation:  "to ask the user",
	inventory.AsksRoots:        "to ask for the client's roots",
	inventory.ChangesResource:  "to change a resource",
	inventory.ChangesTools:     "to change the list of tools",
	inventory.ChangesResources: "to change the list of resources",
	inventory.ChangesPrompts:   "to change the list of prompts",
	inventory.Fails:            "to fail",
	inventory.Structured:       "to have a structured result",
	inventory.GivesText:        "to have a text in its result",
	inventory.GivesImage:       "to have an image in its result",
	inventory.GivesAudio:       "to have audio in its result",
	inventory.GivesResource:    "to have an embedded resource in its result",
	inventory.GivesLink:        "to have a link to a resource in its result",
}

// A MissingSetting describes missing configuration, as a line that the user can add to the
// configuration file.
type MissingSetting struct {
	Reason  string          // why something was not observed
	Setting verdict.Setting // what would change it
	Flag    string          // the command-line flag that would also change it; may be ""
}

// Text returns the reason, and the configuration that would change it.
func (w MissingSetting) Text() string {
	line, under := w.Setting.Line()
	text := w.Reason + `; add "` + line + `" under ` + under + `: in mcp-conform.yaml`
	if w.Flag != "" {
		text += ", or give " + w.Flag
	}
	return text
}

// MissingSettingFor returns the missing setting for a role that no known tool plays.
func MissingSettingFor(role inventory.Role) MissingSetting {
	return MissingSetting{Reason: "no tool that may be called is known " + roleDescriptions[role], Setting: verdict.Setting{Fixture: inventory.FixtureLine(role)}}
}

// callAll is the flag that allows calls of all tools.
const callAll = "--call-tools all"

// wantCallable is the missing setting if no tool may be called at all.
var wantCallable = MissingSetting{Reason: "no tool may be called", Setting: verdict.Setting{Tool: "NAME"}, Flag: callAll}

// missingSettingFor is like MissingSettingFor, but if a tool that may not be called is known to
// play the role, the setting is the line that permits its calls.
func (t *T) missingSettingFor(role inventory.Role) MissingSetting {
	barred := t.Inventory.BarredTools(role)
	if len(barred) == 0 && role == inventory.Slow {
		if long, ok := t.Inventory.LongCall(); ok {
			w := MissingSettingFor(role)
			w.Reason = "the call of the tool " + wire.Excerpt(long.Tool, 60) + " takes too long to wait for its end"
			return w
		}
	}
	if len(barred) == 0 {
		return MissingSettingFor(role)
	}
	return MissingSetting{
		Reason:  "the tool " + barred[0] + " is known " + roleDescriptions[role] + ", and may not be called",
		Setting: verdict.Setting{Tool: barred[0]}, Flag: callAll,
	}
}

// KnowsTool reports whether a tool that may be called is known to play the role. If there is none,
// the report says how the user can configure one, because without it the run does not observe what
// the case provokes.
func (t *T) KnowsTool(role inventory.Role) bool {
	if t.Inventory.HasCall(role) {
		return true
	}
	t.addMissingSetting(t.missingSettingFor(role))
	return false
}

// RequireTool ends the case unless a tool that may be called is known to play one of the roles.
func (t *T) RequireTool(roles ...inventory.Role) {
	if slices.ContainsFunc(roles, t.Inventory.HasCall) {
		return
	}
	for _, role := range roles {
		t.addMissingSetting(t.missingSettingFor(role))
	}
	t.endUnconfigured(t.missingSettingFor(roles[0]))
}

// RequireCallableTool ends the case if no tool may be called.
func (t *T) RequireCallableTool() {
	switch {
	case len(t.Inventory.Callable()) > 0:
	case len(t.Inventory.Tools) == 0:
		t.GiveUp("the server listed no tool")
	case t.Inventory.CallsAll():
		t.GiveUp("tools.never in the configuration excludes every tool of the server")
	default:
		t.addMissingSetting(wantCallable)
		t.endUnconfigured(wantCallable)
	}
}

// endUnconfigured ends the case because the configuration does not name what the case needs.
func (t *T) endUnconfigured(w MissingSetting) {
	panic(Stop{Outcome: verdict.NotObserved, Reason: w.Text(), Gap: verdict.Unconfigured})
}

func (t *T) addMissingSetting(w MissingSetting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.wants, w) {
		t.wants = append(t.wants, w)
	}
}

// MissingSettings returns the missing configuration that the case reported.
func (t *T) MissingSettings() []MissingSetting {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.wants)
}
