package streamablehttp

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Since 2026-07-28 headers repeat parts of the body of each POST. Each request of these cases
// changes one header, or writes all header names in upper or lower case. The rules on headers
// compare each response with the response to the same request with the right headers.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
	paramHeader  = "Mcp-Param-"
)

// headerCase sends requests whose headers are missing, differ from the body, or repeat it in
// another form.
func headerCase() suite.Case {
	return suite.Case{
		ID:       "streamable-http.headers",
		Title:    "Sends requests without each standard header, with other values, and with the right values in other forms",
		OnlyOver: spec.StreamableHTTP,
		Provokes: []string{
			"streamable-http.version-header-match", "streamable-http.mcp-method-required", "streamable-http.mcp-method-match",
			"streamable-http.header-mismatch-error", "streamable-http.header-names-case-insensitive", "streamable-http.header-whitespace",
			"streamable-http.single-endpoint-post", "base.error-code-defined-meaning",
		},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Conversation(ctx))
			method := t.DeclaredListOr(spec.MethodDiscover)
			post := newPostFunc(ctx, w, suite.Request{Method: method})
			if !suite.IsServed(post()) {
				t.GiveUp("the server does not serve the request with the right headers, either")
			}
			other := spec.MethodToolsCall
			for _, h := range []suite.Header{
				suite.WithHeader(versionName, string(spec.V20251125)),
				suite.WithHeader(versionName, "1900-01-01"),
				suite.WithHeader(methodHeader),
				suite.WithHeader(methodHeader, other),
				suite.WithHeader(methodHeader, capitalize(method)),
				suite.RenameHeaders(strings.ToLower),
				suite.RenameHeaders(strings.ToUpper),
				suite.WithHeader(methodHeader, "  "+method+" \t"),
			} {
				post(h)
			}
			older := suite.Request{Method: method, Params: map[string]any{"_meta": map[string]any{spec.MetaVersion: string(spec.V20251125)}}}
			newPostFunc(ctx, w, older)(suite.WithHeader(versionName, string(spec.V20260728)))
			post()
			postWithWrongHeaders(ctx, w, servedRequests(t, method))
		},
	}
}

// servedRequests returns a request for each method that the server serves, except the given one.
func servedRequests(t *suite.T, except string) []suite.Request {
	var requests []suite.Request
	for _, m := range append([]string{spec.MethodDiscover, spec.MethodToolsCall, spec.MethodPromptsGet, spec.MethodResourcesRead}, t.DeclaredLists()...) {
		if r := t.OrdinaryRequest(m); r.Method == m && m != except {
			requests = append(requests, r)
		}
	}
	if prompts := t.Inventory.PromptEntries; t.Inventory.Declares("completions") && len(prompts) > 0 {
		requests = append(requests, suite.PromptCompletion(prompts[0].Name, "mcp-conform"))
	}
	if announcesChanges(t) {
		requests = append(requests, suite.Request{Method: spec.MethodListen, Params: map[string]any{"notifications": map[string]any{}}})
	}
	return requests
}

// announcesChanges reports whether the server declares that it announces some changes.
func announcesChanges(t *suite.T) bool {
	return slices.ContainsFunc([]string{"tools.listChanged", "prompts.listChanged", "resources.listChanged", "resources.subscribe"}, t.Inventory.Declares)
}

// postWithWrongHeaders posts each request with another method in the header, without a method, and
// with another version: a server may compare the headers in the handler of each method.
func postWithWrongHeaders(ctx context.Context, w *suite.Web, requests []suite.Request) {
	for _, wrong := range []func(method string) suite.Header{
		func(method string) suite.Header {
			if method == spec.MethodToolsList {
				return suite.WithHeader(methodHeader, spec.MethodToolsCall)
			}
			return suite.WithHeader(methodHeader, spec.MethodToolsList)
		},
		func(string) suite.Header { return suite.WithHeader(methodHeader) },
		func(string) suite.Header { return suite.WithHeader(versionName, string(spec.V20251125)) },
	} {
		var all []suite.WebRequest
		for _, r := range requests {
			all = append(all, suite.WebRequest{Body: w.C.Request(w.C.NewID(), r.Method, r.Params), Headers: []suite.Header{wrong(r.Method)}})
		}
		w.RoundTrips(ctx, all)
	}
}

// newPostFunc returns a function that posts a request with changed headers.
func newPostFunc(ctx context.Context, w *suite.Web, r suite.Request) func(h ...suite.Header) *exchange {
	return func(h ...suite.Header) *exchange {
		return w.RoundTrip(ctx, suite.WebRequest{Body: w.C.Request(w.C.NewID(), r.Method, r.Params), Headers: h})
	}
}

// capitalize returns a method name in which each part between slashes begins with an upper-case
// letter.
func capitalize(name string) string {
	before := '/'
	return strings.Map(func(r rune) rune {
		if before == '/' {
			r, before = unicode.ToUpper(r), r
			return r
		}
		before = r
		return r
	}, name)
}

// nameCase calls a tool, gets a prompt and reads a resource, each with other names in the
// header than in the body, and with the right one in Base64.
func nameCase() suite.Case {
	return suite.Case{
		ID:    "streamable-http.name-header",
		Title: "Calls a tool, gets a prompt and reads a resource without Mcp-Name, with another one, and with the right one in Base64",
		Provokes: []string{
			"streamable-http.mcp-name-required", "streamable-http.mcp-name-match", "streamable-http.mcp-name-base64",
			"streamable-http.base64-marker-case", "streamable-http.header-invalid-chars",
		},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Conversation(ctx))
			found := false
			for method, member := range map[string]string{spec.MethodResourcesRead: "uri", spec.MethodPromptsGet: "name", spec.MethodToolsCall: "name"} {
				r := t.OrdinaryRequest(method)
				name, _ := r.Params[member].(string)
				if r.Method != method || name == "" {
					continue
				}
				found = true
				post := newPostFunc(ctx, w, r)
				if !suite.IsServed(post()) {
					continue
				}
				for _, value := range [][]string{
					{},
					{"mcp-conform-other-name"},
					{swapCase(name)},
					{headers.EncodeBase64(name)},
					{headers.EncodeBase64("mcp-conform-other-name")},
					{strings.Replace(headers.EncodeBase64(name), "base64", "BASE64", 1)},
					{"=?base64?%%%?="},
					{"mcp-conform-größe"},
				} {
					post(suite.WithHeader(nameHeader, value...))
				}
			}
			if t.Inventory.Declares("resources") { // the client encodes such a URI by itself
				newPostFunc(ctx, w, suite.Request{Method: spec.MethodResourcesRead, Params: map[string]any{"uri": "file:///mcp-conform/größe"}})()
			}
			if !found {
				t.GiveUp("no tool may be called, and no prompt and no resource is listed")
			}
		},
	}
}

// swapCase returns a name with the case of its letters changed. If there are no letters, or the
// result is not printable ASCII, it returns another name.
func swapCase(name string) string {
	swapped := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, name)
	if swapped == name || strings.ContainsFunc(swapped, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "mcp-conform-other-name"
	}
	return swapped
}
