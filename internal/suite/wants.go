package suite

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
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

// A Want describes missing configuration, as a line that the user can add to the configuration
// file.
type Want struct {
	Reason  string          // why something was not observed
	Setting verdict.Setting // what would change it
	Flag    string          // the command-line flag that would also change it; may be ""
}

// Text returns the reason, and the configuration that would change it.
func (w Want) Text() string {
	line, under := w.Setting.Line()
	text := w.Reason + `; add "` + line + `" under ` + under + `: in mcp-conform.yaml`
	if w.Flag != "" {
		text += ", or give " + w.Flag
	}
	return text
}

// WantOf returns the Want for a role that no known tool plays.
func WantOf(role inventory.Role) Want {
	return Want{Reason: "no tool that may be called is known " + roleDescriptions[role], Setting: verdict.Setting{Fixture: inventory.FixtureLine(role)}}
}

// callAll is the flag that allows calls of all tools.
const callAll = "--call-tools all"

// wantCallable is the Want if no tool may be called at all.
var wantCallable = Want{Reason: "no tool may be called", Setting: verdict.Setting{Tool: "NAME"}, Flag: callAll}

// wantOf is like WantOf, but if a tool that may not be called is known to play the role, the Want
// has the line that permits its calls.
func (t *T) wantOf(role inventory.Role) Want {
	barred := t.Inventory.BarredTools(role)
	if len(barred) == 0 {
		return WantOf(role)
	}
	return Want{
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
	t.addWant(t.wantOf(role))
	return false
}

// Needs ends the case unless a tool that may be called is known to play one of the roles.
func (t *T) Needs(roles ...inventory.Role) {
	if slices.ContainsFunc(roles, t.Inventory.HasCall) {
		return
	}
	for _, role := range roles {
		t.addWant(t.wantOf(role))
	}
	t.endUnconfigured(t.wantOf(roles[0]))
}

// NeedsCallable ends the case if no tool may be called.
func (t *T) NeedsCallable() {
	switch {
	case len(t.Inventory.Callable()) > 0:
	case len(t.Inventory.Tools) == 0:
		t.GiveUp("the server listed no tool")
	case t.Inventory.CallsAll():
		t.GiveUp("tools.never in the configuration excludes every tool of the server")
	default:
		t.addWant(wantCallable)
		t.endUnconfigured(wantCallable)
	}
}

// endUnconfigured ends the case because the configuration does not name what the case needs.
func (t *T) endUnconfigured(w Want) {
	panic(Stop{Outcome: verdict.NotObserved, Reason: w.Text(), Gap: verdict.Unconfigured})
}

func (t *T) addWant(w Want) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.wants, w) {
		t.wants = append(t.wants, w)
	}
}

// Wants returns the missing configuration that the case reported.
func (t *T) Wants() []Want {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.wants)
}
