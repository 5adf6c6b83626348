package sse

import (
	"context"
	"net/http"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const authentication = "sse.authentication"

func authenticationCase() suite.Case {
	return suite.Case{
		ID:           "sse.without-token",
		Title:        "Sends a GET and a POST without the Authorization header that all other requests have",
		Requirements: []string{authentication},
		OnlyOver:     spec.SSE,
		Run:          postWithoutToken,
	}
}

// postWithoutToken posts a notification without the user's Authorization header to a session that
// was opened with it. It gives up if the server also opens a stream without the header, because then
// the server may be open to everybody.
func postWithoutToken(ctx context.Context, t *suite.T) {
	w := t.Web(t.Start(ctx, client.Options{}))
	o := t.OutsideClient(w.C)
	header, _ := o.Authorization()
	if header == "" {
		t.Skip("mcp-conform was given no Authorization header")
	}
	const without = " without the Authorization header"
	if a := o.Send(ctx, "GET of the event stream"+without, http.MethodGet, o.URL, o.Headers(http.MethodGet, nil, nil), nil); a.Status/100 == 2 {
		t.GiveUp("the server opens an event stream without the Authorization header, so it is not known to be protected")
	}
	endpoint, err := o.URL.Parse(endpointOn(w, w.FirstExchange()))
	if err != nil {
		t.GiveUp("the endpoint is not a URL: " + err.Error())
	}
	post := func(how string, authorization []string) *suite.OutsideResponse {
		body := suite.HarmlessNotification()
		return o.Send(ctx, "POST of a notification"+how, http.MethodPost, endpoint, o.Headers(http.MethodPost, body, authorization), body)
	}
	if !post("", []string{header}).IsServed() {
		t.GiveUp("the server does not accept the same POST with the Authorization header, either")
	}
	a := post(without, nil)
	if !a.IsServed() {
		t.MarkKept(authentication)
		return
	}
	t.Report(w.C, verdict.Deviation{
		Requirement: authentication, Summary: "The server opens no stream without a token, but accepts POSTs.",
		Permitted: "a refusal, such as 401 Unauthorized", Seen: a.About + " got " + a.Describe(), At: []int{a.At},
	})
}
