// Package completion creates the traffic for the rules on completion. It requests values for prompt
// arguments and template variables, with valid and invalid requests.
package completion

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Limits on what a case requests, because a server may offer a lot or respond slowly.
const (
	maxPrompts   = 8               // arguments of prompts
	maxVariables = 8               // variables of templates
	maxPages     = 20              // of the list of prompts
	requestTime  = 3 * time.Second // for each request
	totalTime    = 8 * time.Second // for the requests of a case; the rest is skipped
)

// unknownName is neither the name of a prompt nor that of an argument.
const unknownName = "mcp-conform-no-such-name"

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:    "completion.references",
			Title: "Completes arguments of listed prompts and variables of listed templates",
			Provokes: []string{
				"completion.capability.", "completion.answered", "completion.result-schema", "completion.values.", "completion.total.",
				"completion.has-more.", "completion.ref.", "completion.empty-value", "completion.context.",
			},
			SharesConversation: true,
			Run:                completeAll,
		},
		{
			ID:                 "completion.unknown",
			Title:              "Completes prompts, templates and arguments that do not exist",
			Provokes:           []string{"completion.answered", "completion.unknown-prompt", "completion.unknown-template", "completion.unknown-argument"},
			SharesConversation: true,
			Run:                completeUnknown,
		},
		{
			ID:                 "completion.malformed",
			Title:              "Sends completion/complete without a reference, and with params of the wrong types",
			Provokes:           []string{"completion.missing-arguments", "completion.validates-inputs"},
			SharesConversation: true,
			Run:                completeMalformed,
		},
		{
			ID:                 "completion.undeclared",
			Title:              "Sends completion/complete where completions are not declared",
			Provokes:           []string{"completion.capability.", "completion.unsupported-method-not-found"},
			SharesConversation: true,
			Run:                completeUndeclared,
		},
	}
}

// mayComplete reports whether completion may be requested. A revision without a capability for
// completion permits it for every server, so it is tried.
func mayComplete(t *suite.T) bool {
	return !t.Revision.HasCompletionsCapability() || t.Inventory.Declares("completions")
}

// requireCompletion skips the case if completion is not declared, in revisions in which servers
// declare it.
func requireCompletion(t *suite.T) {
	if !mayComplete(t) {
		t.Skip("the server does not declare completions")
	}
}

// completer sends completion requests one after the other, within time limits for each request and
// for all of them.
type completer struct {
	c     *client.Conversation
	since transcript.Moment
}

func newCompleter(c *client.Conversation) completer { return completer{c, c.Record.Moment()} }

// complete requests values and reports whether more requests may follow.
func (a completer) complete(ctx context.Context, params map[string]any) bool {
	a.c.Do(ctx, spec.MethodComplete, params, client.Within(requestTime))
	return a.hasTime(ctx)
}

// hasTime reports whether more requests may follow.
func (a completer) hasTime(ctx context.Context) bool {
	return ctx.Err() == nil && a.c.Alive() && a.c.Record.Since(a.since) < totalTime
}

func promptRef(name string) map[string]any { return map[string]any{"type": "ref/prompt", "name": name} }

func templateRef(uri string) map[string]any {
	return map[string]any{"type": "ref/resource", "uri": uri}
}

func completeParams(ref any, name, value string) map[string]any {
	return map[string]any{"ref": ref, "argument": map[string]any{"name": name, "value": value}}
}
