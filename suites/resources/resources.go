// Package resources creates the traffic for the rules on resources: lists, templates, reads and
// subscriptions.
package resources

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Limits on what a case requests, because a server may offer a lot or respond slowly.
const (
	maxReads         = 20 // resources
	maxUnanswered    = 2  // reads without a response, each of which costs the whole timeout
	maxTemplates     = 8  // templates that are expanded
	maxExpansions    = 3  // for each template
	maxSubscriptions = 3
)

const (
	readable   = "resources.read.listed-is-readable"
	expandable = "resources.templates.expansion-readable"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:                 "resources.lists",
			Title:              "Lists resources and templates without params, with empty params and with metadata",
			Requirements:       []string{listedAgain},
			Provokes:           []string{"resources.list.", "resources.templates.", "resources.uri.", "resources.capability.", "resources.mime.", "content.annotations.", "content.icons.", "content.mime-type.syntax"},
			Needs:              []string{"resources"},
			SharesConversation: true,
			Run:                walkLists,
		},
		{
			ID:                 "resources.undeclared",
			Title:              "Lists and reads resources where resources are not declared",
			Provokes:           []string{"resources.capability.declared"},
			SharesConversation: true,
			Run:                useUndeclared,
		},
		{
			ID:                 "resources.reads",
			Title:              "Reads listed resources",
			Provokes:           []string{"resources.read.", "resources.uri.", "resources.capability.", "resources.templates.mime-only-if-uniform", "content.mime-type.syntax"},
			Needs:              []string{"resources"},
			SharesConversation: true,
			Run:                readResources,
		},
		{
			ID:                 "resources.promised",
			Title:              "Reads resources and expansions of templates that are known to exist",
			Requirements:       []string{readable, expandable},
			Needs:              []string{"resources"},
			SharesConversation: true,
			Run:                readPromised,
		},
		{
			ID:                 "resources.templates",
			Title:              "Reads expansions of templates, with values that the server completes",
			Provokes:           []string{"resources.templates.", "resources.read.", "resources.uri."},
			Needs:              []string{"resources"},
			SharesConversation: true,
			Run:                readExpansions,
		},
		{
			ID:                 "resources.unknown",
			Title:              "Reads an unknown resource",
			Provokes:           []string{"resources.read.not-found-code-2024-11-05", "resources.read.error-names-uri"},
			Needs:              []string{"resources"},
			SharesConversation: true,
			Run:                readUnknown,
		},
		{
			ID:                 "resources.bad-uris",
			Title:              "Reads a string that is not a URI, and sends resources/read without a URI",
			Provokes:           []string{"resources.read.validates-uri", "resources.read.missing-uri-param"},
			Needs:              []string{"resources"},
			SharesConversation: true,
			Run:                readBadURIs,
		},
		{
			ID:                 "resources.traversal",
			Title:              "Reads paths that lead out of the folders of resources and templates",
			Requirements:       []string{traversal},
			Needs:              []string{"resources"},
			SharesConversation: true,
			Run:                readOutside,
		},
		{
			ID:                 "resources.subscriptions",
			Title:              "Subscribes to listed and unlisted resources, and unsubscribes",
			Provokes:           []string{"resources.subscribe.", "resources.unsubscribe.", "resources.updated.", "resources.uri."},
			Needs:              []string{"resources.subscribe"},
			SharesConversation: true,
			Run:                subscribeToResources,
		},
		{
			ID:                 "resources.subscribe-undeclared",
			Title:              "Subscribes where subscriptions are not declared",
			Provokes:           []string{"resources.subscribe.unsupported-error", "resources.updated."},
			Needs:              []string{"resources"},
			SharesConversation: true,
			Run:                subscribeUndeclared,
		},
		{
			ID:       "resources.updates",
			Title:    "Changes a resource during and after a subscription",
			Provokes: []string{"resources.subscribe.update-sent", "resources.unsubscribe.stops-updates", "resources.updated.", "resources.uri."},
			Needs:    []string{"resources.subscribe"},
			Run:      provokeUpdates,
		},
		{
			ID:           "resources.sizes",
			Title:        "Changes the length of a resource, and compares it with the size in the list",
			Requirements: []string{sizeRaw},
			Needs:        []string{"resources", "tools"},
			Run:          resizeResource,
		},
		{
			ID:       "resources.changes",
			Title:    "Changes the list of resources",
			Provokes: []string{"resources.list-changed."},
			Needs:    []string{"resources", "tools"},
			Run:      provokeListChange,
		},
	}
}

// conversationAfterListing returns the shared conversation, after both lists were requested in it,
// because rules compare other traffic with the lists. Usually the inventory has requested them in
// the same conversation, but later events may have changed them.
func conversationAfterListing(ctx context.Context, t *suite.T) *client.Conversation {
	c := sharedConversation(ctx, t)
	for _, method := range []string{spec.MethodResourcesList, spec.MethodResourcesTemplates} {
		if !isListKnown(c.Record.From(0), method) {
			walkList(ctx, c, method)
		}
	}
	return c
}

// isListKnown reports whether the last page of a list was requested after the last message that
// may have changed the list, and the server responded with the page or an error.
func isListKnown(events []*transcript.Event, method string) bool {
	since := lastPosition(events, spec.MethodToolsCall, spec.MethodRootsChanged, spec.MethodResourcesChanged)
	return slices.ContainsFunc(transcript.DialogueOf(events).Requests(), func(r *transcript.Request) bool {
		m := r.Response()
		return r.Message.Method == method && r.Event.Seq > since && m != nil && (m.IsError() || wire.At(m.Result(), "/nextCursor") == nil)
	})
}

// lastPosition returns the position of the last message with one of the methods, -1 if there is
// none.
func lastPosition(events []*transcript.Event, methods ...string) int {
	last := -1
	for e, m := range transcript.Messages(events) {
		if slices.Contains(methods, m.Method) {
			last = e.Seq
		}
	}
	return last
}

// sharedConversation returns the shared conversation. It ends the case if the conversation is
// over.
func sharedConversation(ctx context.Context, t *suite.T) *client.Conversation {
	c := t.Conversation(ctx)
	if !c.Alive() {
		t.GiveUp("the server had already ended the connection")
	}
	return c
}

const listedAgain = "resources.templates.listed-again"

func walkLists(ctx context.Context, t *suite.T) {
	c := sharedConversation(ctx, t)
	defer func() { judgeTemplates(t, c) }()
	for _, method := range []string{spec.MethodResourcesList, spec.MethodResourcesTemplates} {
		for _, params := range []map[string]any{nil, {}, {"_meta": map[string]any{"com.example/list": true}}} {
			if !c.Do(ctx, method, params).Answered() {
				break
			}
		}
	}
}

// judgeTemplates judges a list of templates that was returned empty at least twice, although it had
// entries earlier in this conversation or in the inventory, and no event since then could have
// changed it. A tool call could have changed it, unless the server declares that it announces
// changes.
func judgeTemplates(t *suite.T, c *client.Conversation) {
	changing := []string{spec.MethodRootsChanged, spec.MethodResourcesChanged}
	if !t.Inventory.Declares("resources.listChanged") {
		changing = append(changing, spec.MethodToolsCall)
	}
	since := lastPosition(c.Record.From(0), changing...)
	listed := since < 0 && len(t.Inventory.Templates) > 0
	var had *transcript.Event
	var empty []*transcript.Event
	for _, r := range c.Record.Dialogue().Requests() {
		m := r.Response()
		if m == nil || r.Message.Method != spec.MethodResourcesTemplates || r.Event.Seq < since || wire.At(r.Message.Params(), "/cursor") != nil {
			continue
		}
		switch list := wire.At(m.Result(), "/resourceTemplates"); {
		case list.Kind() != '[':
		case len(wire.Elements(list)) > 0:
			had, empty = m.Event, nil
		case (had != nil || listed) && wire.At(m.Result(), "/nextCursor") == nil:
			empty = append(empty, m.Event)
		}
	}
	switch {
	case had != nil && len(empty) == 0:
		t.MarkKept(listedAgain)
	case len(empty) > 1:
		t.Report(c, verdict.Deviation{
			Requirement: listedAgain,
			Summary:     "The server's template list is empty the second time.",
			Permitted:   "the same templates as before, unless a notification says that they changed",
			Seen:        "an empty list of templates, each time",
			At:          transcript.Positions(had, empty[0], empty[1]),
		})
	}
}

// useUndeclared sends requests for undeclared resources. Most servers do not know the methods.
func useUndeclared(ctx context.Context, t *suite.T) {
	if t.Inventory.Declares("resources") {
		t.Skip("the server declares resources")
	}
	c := sharedConversation(ctx, t)
	odd := []suite.Request{{Method: spec.MethodResourcesList}, {Method: spec.MethodResourcesTemplates}}
	for range t.Probe(ctx, c, suite.Probe{Control: t.OrdinaryRequest(""), Odd: odd, ByName: true}) { // rules judge the responses
	}
}

func readResources(ctx context.Context, t *suite.T) {
	c := conversationAfterListing(ctx, t)
	uris := firstN(maxReads, t.Inventory.Resources)
	unanswered := 0
	each := func(uris []string) (on bool) {
		for _, uri := range uris {
			if ctx.Err() != nil || !c.Alive() || unanswered == maxUnanswered {
				return false
			}
			if !readResource(ctx, c, uri).Answered() {
				unanswered++
			}
		}
		return true
	}
	if each(uris) && len(uris) > 0 {
		// The list is walked and the resources are read again, to find those that
		// change by themselves.
		walkList(ctx, c, spec.MethodResourcesList)
		each(uris)
	}
}

// readPromised reads resources, and expansions of templates, that the server has no reason to
// refuse.
func readPromised(ctx context.Context, t *suite.T) {
	c := conversationAfterListing(ctx, t)
	for _, p := range promisedResources(t) {
		r := readResource(ctx, c, p.uri)
		t.Expect(c, r).Keeps(p.requirement, p.refused, suite.BeResult())
		if !r.Answered() {
			return
		}
	}
}

// A promisedResource is a URI that the server's author says can be read, and the requirement that
// is broken if it can't.
type promisedResource struct{ uri, requirement, refused string }

// promisedResources returns the promises of resources and templates. It ends the case if there are
// none.
func promisedResources(t *suite.T) []promisedResource {
	var out []promisedResource
	for _, resource := range t.Inventory.PromisedResources() {
		out = append(out, promisedResource{resource, readable, "The server refuses a resource that is known to work."})
	}
	for _, text := range t.Inventory.Templates {
		values, ok := t.Inventory.PromisedExpansion(text)
		if !ok {
			continue
		}
		if expanded, fits := uri.Parse(text).Expand(values); fits {
			out = append(out, promisedResource{expanded, expandable, "The server refuses an expansion of its template that is known to work."})
		}
	}
	if len(out) == 0 {
		t.GiveUp("the configuration names no resource that is known to be readable; give a template's values under templates: in mcp-conform.yaml")
	}
	return out
}

// readResource requests a resource; rules judge the result.
func readResource(ctx context.Context, c *client.Conversation, uri string) *client.Reply {
	return c.Do(ctx, spec.MethodResourcesRead, map[string]any{"uri": uri}, client.Within(0))
}

func firstN[E any](n int, list []E) []E { return list[:min(n, len(list))] }
