package engine

import (
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// explainRefusal says from a transcript of HTTP why initialize was not answered.
func explainRefusal(events []*transcript.Event, over spec.Transport) (reason, advice string) {
	all := transcript.ExchangesOf(events).All()
	for i := len(all) - 1; i >= 0; i-- {
		x := all[i]
		if x.Method() == "POST" || over == spec.SSE && x.Method() == "GET" {
			return refusal(x)
		}
	}
	return "no HTTP request could be sent", ""
}

func refusal(x *transcript.Exchange) (reason, advice string) {
	what := "the POST of initialize"
	if x.Method() == "GET" {
		what = "the GET that opens the event stream"
	}
	_, target, _ := strings.Cut(x.RequestHead().Line, " ")
	if x.Status() == 0 {
		if x.Ended() == transcript.Unreachable {
			return "the server can't be reached: " + x.End.Detail, "check that the server runs, and the URL"
		}
		if x.End == nil || x.Ended() == transcript.Dropped {
			return what + " got no response", "check that an MCP server is what answers there; one that answers slowly needs --start-timeout"
		}
		return what + " got no response: " + x.End.Detail, "check that an MCP server is what answers there"
	}
	reason = fmt.Sprintf("%s was answered with %q", what, strings.TrimSpace(x.ResponseHead().Line))
	if said := bodyOf(x); said != "" {
		reason += ": " + said
	}
	switch status := x.Status(); {
	case status == 401 || status == 403:
		advice = "the server wants to know who asks: give --bearer-env NAME or --header 'Name: value'"
	case status == 404 || status == 405:
		advice = "check the path: MCP endpoints are often /mcp, and /sse for the older transport (" + strings.TrimSuffix(target, " HTTP/1.1") + " was asked)"
	case status/100 == 3:
		advice = "give the URL that it leads to: " + suite.Excerpt(x.ResponseHead().Get("Location"), 200)
	case status/100 == 5:
		advice = "look into the server's own log"
	case x.ResponseHead().MediaType() == "text/html":
		advice = "that is a web page: check that the URL is that of the MCP endpoint"
	default:
		advice = "answer initialize with a JSON-RPC response"
	}
	return reason, advice
}

// bodyOf returns the beginning of what came with the response.
func bodyOf(x *transcript.Exchange) string {
	for _, e := range x.Body {
		if e.Kind == transcript.Received && len(e.Raw) > 0 {
			return fmt.Sprintf("%q", suite.Excerpt(string(e.Raw), 160))
		}
	}
	return ""
}
