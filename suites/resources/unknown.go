package resources

import (
	"context"
	"net/url"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/uri"
)

func readUnknown(ctx context.Context, t *suite.T) {
	if len(t.Inventory.Incomplete) > 0 {
		t.GiveUp("mcp-conform could not read a list to its end, so it does not know what exists")
	}
	nowhere, ok := missingURI(t.Inventory.Resources, t.Inventory.Templates)
	if !ok {
		t.GiveUp("every URI that mcp-conform tried matches a template")
	}
	c, unknown := conversationAfterListing(ctx, t), map[string]any{"uri": nowhere}
	probeInvalid(ctx, t, c, unknown)
	t.ResendAlone(ctx, c, suite.Request{Method: spec.MethodResourcesRead, Params: unknown})
}

// probeInvalid sends invalid reads after a valid one with which they are compared.
func probeInvalid(ctx context.Context, t *suite.T, c *client.Conversation, params ...map[string]any) {
	for r := range t.Probe(ctx, c, suite.Probe{
		Control: t.OrdinaryRequest(spec.MethodResourcesRead), Odd: suite.OddParams(spec.MethodResourcesRead, params...), ByName: true, Limit: c.Options().Timeout,
	}) {
		if !r.Answered() {
			return
		}
	}
}

// missingURI returns a well-formed URI that names no resource and matches no template. If possible
// it resembles those of the server, so that it is not refused for its scheme. It returns false if
// each URI that it tried matches a template.
func missingURI(resources, templates []string) (string, bool) {
	var candidates []string
	for _, known := range append(append([]string{}, resources...), templates...) {
		literal, _, _ := strings.Cut(known, "{")
		literal, _, _ = strings.Cut(literal, "?")
		literal, _, _ = strings.Cut(literal, "#")
		scheme, ok := schemeOf(literal)
		if !ok {
			continue
		}
		folder := literal[:strings.LastIndexAny(literal, "/:")+1]
		candidates = append(candidates, folder+uri.Nowhere, scheme+"://"+uri.Nowhere)
	}
	for _, candidate := range append(candidates, "mcp-conform:"+uri.Nowhere) {
		if !uri.MatchesAny(templates, candidate) {
			return candidate, true
		}
	}
	return "", false
}

// schemeOf returns the scheme of a URI. It returns false if the URI has none, or is on the web,
// because reading it may then cause a request to the web.
func schemeOf(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Scheme == "http" || u.Scheme == "https" {
		return "", false
	}
	return u.Scheme, true
}

// readBadURIs sends reads that are invalid, each for another reason: the uri is no URI, not a
// string, or missing, or there are no params. No uri resembles the URI of a resource.
func readBadURIs(ctx context.Context, t *suite.T) {
	probeInvalid(ctx, t, conversationAfterListing(ctx, t), []map[string]any{
		{"uri": ""}, {"uri": uri.Nowhere}, {"uri": "no scheme " + uri.Nowhere}, {}, {"uri": 5}, nil,
		{"uri": "mcp-conform:\x00\n" + uri.Nowhere}, // this has ended sessions, so it comes last
	}...)
}
