package streamablehttp

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const legalServed = "base.http-legal-request-served"

// methodCase sends requests that browsers, load balancers and monitors send to any URL. A server
// may refuse all of them, but must continue.
func methodCase() suite.Case {
	return suite.Case{
		ID:           "streamable-http.other-methods",
		Title:        "Sends HEAD, OPTIONS and PUT to the endpoint, each followed by an ordinary request",
		Requirements: []string{legalServed},
		Provokes:     []string{"base.http-response"},
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Start(ctx, client.Options{}))
			if !suite.IsServed(w.SendHarmless(ctx)) {
				t.GiveUp("the server does not serve an ordinary request before the odd one, either")
			}
			preflight := []suite.Header{suite.WithHeader("Access-Control-Request-Method", "POST")}
			for _, r := range []suite.WebRequest{{Method: "HEAD"}, {Method: "OPTIONS", Headers: preflight}, {Method: "PUT", Body: []byte("{}")}} {
				odd := w.RoundTrip(ctx, r)
				x := w.SendHarmless(ctx)
				if suite.IsServed(x) {
					t.MarkKept(legalServed)
					continue
				}
				if x == nil || odd == nil || suite.IsServed(w.SendHarmless(ctx)) {
					continue // the server may be busy, or a connection broke
				}
				t.Report(w.C, verdict.Deviation{
					Requirement: legalServed,
					Summary:     "The server drops the session after an unused HTTP method.",
					Permitted:   "a refusal of the method, and later requests served",
					Seen:        "after " + r.Method + ", " + suite.DescribeExchange(x),
					At:          suite.PositionsOf(odd), // the refusals that show that the session was lost are not shown
					Weight:      verdict.AtMostWarning,
				})
				return
			}
		},
	}
}
