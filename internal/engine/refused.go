package engine

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ExplainRefusal returns an error that says, from a transcript over HTTP, why the last request
// (such as initialize) got no response, and what to do. waited is how long the client waited.
func ExplainRefusal(events []*transcript.Event, waited time.Duration) *UnreachableError {
	r := refusal{events: events, waited: waited}
	exchanges := transcript.ExchangesOf(events)
	for i, x := range exchanges.All() {
		switch {
		case x.Request == nil:
		case i == 0 && x.Method() == "GET":
			r.stream, r.Exchange = x, x
		case x.Method() == "POST":
			r.Exchange = x
		}
	}
	for _, e := range events {
		if x := exchanges.Of(e); e.Kind == transcript.Flooded && x != nil && x.Request != nil {
			r.Exchange = x // nothing was recorded after this event
			break
		}
	}
	if i := slices.IndexFunc(events, func(e *transcript.Event) bool { return e.Kind == transcript.Exited }); i >= 0 {
		return &UnreachableError{Reason: "the server ended before it answered initialize: " + events[i].Detail, Advice: "read what it wrote"}
	}
	if r.Exchange == nil {
		return &UnreachableError{Reason: "no HTTP request could be sent"}
	}
	if r.stream != nil && r.stream.End != nil && r.stream.Succeeded() && r.stream.HowEnded() != transcript.Dropped {
		if _, named := announcedEndpoint(r.stream); named {
			return &UnreachableError{
				Reason: "the event stream ended" + prefixUnlessEmpty(": ", r.stream.End.Detail),
				Advice: "keep the stream open as long as the client does: it carries all of the server's messages",
			}
		}
	}
	reason, advice := r.explain()
	return &UnreachableError{Reason: reason, Advice: advice, NeedsToken: needsToken(events), refusedToken: r.refusesToken(), asks: r.quoteChallenge()}
}

// A refusal is an exchange that should have carried a response, but did not.
type refusal struct {
	*transcript.Exchange
	events []*transcript.Event
	stream *transcript.Exchange // over HTTP+SSE, the stream that carries all responses
	waited time.Duration
}

func (r *refusal) requestName() string {
	if r.Method() == "GET" {
		return "the GET that opens the event stream"
	}
	if r.Sent != nil {
		for _, m := range r.Sent.Messages() {
			return "the POST of " + wire.Excerpt(m.Method, 60)
		}
	}
	return "a POST"
}

const checkURLAdvice = "check that an MCP server listens at this URL"

func (r *refusal) explain() (reason, advice string) {
	switch status := r.Status(); {
	case status < 200: // no status, or that of an interim response
		return r.explainNoResponse()
	case status >= 300:
		reason = fmt.Sprintf("%s was answered with %q%s", r.requestName(), r.status(), r.quoteBody(": "))
		return reason, r.statusAdvice(status)
	case r.Exchange == r.stream:
		return r.explainOpenStream()
	}
	reason = fmt.Sprintf("%s was answered with %q", r.requestName(), r.status())
	advice = "answer it with a JSON-RPC response"
	flooded := r.floodEvent()
	switch {
	case flooded != nil:
		return fmt.Sprintf("%s and %s, which began with %s", reason, flooded.Detail, r.quoteStart()), advice + " of a reasonable size"
	case r.HowEnded() == transcript.Broken, r.HowEnded() == transcript.Unreadable:
		return reason + ", but " + r.describeEnd() + r.quoteBody("; the body began with "), "read the server's log, and check what is between it and this machine"
	case r.isWebPage():
		return reason + " and a web page" + r.quoteBody(": "), "check that the URL is the MCP endpoint: often /mcp, or /sse for the older transport"
	case r.stream != nil:
		return fmt.Sprintf("%s, but no response to it came on the event stream within %v", reason, r.waited), "send the response as a message event on the stream that the GET opened"
	case r.IsStream():
		return reason + " and an event stream that " + r.describeStream(), advice + ", as an event of the stream"
	case r.End == nil, r.HowEnded() == transcript.Dropped:
		return fmt.Sprintf("%s and a body that did not end within %v%s", reason, r.waited, r.quoteBody("; it began with ")), "end the body: by Content-Length, by the last chunk, or by closing the connection"
	case len(r.Body) == 0:
		return reason + " without a body", advice
	case r.Body[0].Frame != nil && !r.Body[0].Frame.IsReadable():
		return reason + " and a body that is not JSON" + r.quoteBody(": "), advice
	}
	return reason + " and a message that is not the response" + r.quoteBody(": "), advice
}

// explainNoResponse explains why there is no HTTP response at all.
func (r *refusal) explainNoResponse() (reason, advice string) {
	detail, obstacle := "", transcript.Obstacle("")
	if r.End != nil {
		detail, obstacle = r.End.Detail, r.End.Obstacle
	}
	switch {
	case r.HowEnded() == transcript.Unreachable:
		return "the server can't be reached: " + detail, reachAdvice(obstacle)
	case r.End != nil && r.HowEnded() != transcript.Dropped:
		return fmt.Sprintf("%s got no response: %s", r.requestName(), detail), r.peerAdvice(obstacle)
	}
	reason = fmt.Sprintf("%s got no response within %v", r.requestName(), r.waited)
	switch obstacle {
	case "":
	case transcript.CutHead:
		reason += ": its head began and did not end"
	default:
		return fmt.Sprintf("%s: the time ran out %s", reason, detail), reachAdvice(obstacle)
	}
	return reason, checkURLAdvice + "; a slow server needs --start-timeout"
}

// serverURL returns the URL of the server.
func (r *refusal) serverURL() string {
	for _, e := range r.events {
		if e.Kind == transcript.Opened {
			return e.Detail
		}
	}
	return ""
}

// countRedirects returns how many requests with the refused request's method were redirected.
func (r *refusal) countRedirects() int {
	n := 0
	for _, x := range transcript.ExchangesOf(r.events).All() {
		if x.Method() == r.Method() && x.Status()/100 == 3 {
			n++
		}
	}
	return n
}

// explainOpenStream explains a GET that got a success status but was followed by no POST.
func (r *refusal) explainOpenStream() (reason, advice string) {
	reason = fmt.Sprintf("%s was answered with %q", r.requestName(), r.status())
	switch {
	case r.isWebPage():
		return reason + " and a web page" + r.quoteBody(": "), "check that the URL is the SSE endpoint, often /sse"
	case r.ResponseHead().MediaType() != transcript.EventStream:
		media := r.ResponseHead().MediaType()
		if media == "" {
			media = "something without a Content-Type"
		}
		return reason + ", but with no event stream: it is " + wire.Excerpt(media, 80) + r.quoteBody(": "), "answer the GET with text/event-stream, or give --transport http"
	}
	named, ok := announcedEndpoint(r.stream)
	advice = "send an endpoint event first, with the URI for messages; if the server speaks Streamable HTTP, omit --transport, or give --transport http"
	flooded := r.floodEvent()
	switch {
	case flooded != nil:
		return fmt.Sprintf("the event stream floods: %s; the dropped part began with %s", flooded.Detail, r.quoteStart()), "send fewer events"
	case ok:
		reason = fmt.Sprintf("the endpoint event names %q, to which the client sends nothing", wire.Excerpt(named, 160))
		if _, err := url.Parse(strings.TrimSpace(named)); err != nil {
			return reason + ", because it is not a URL", "name a URI to which the client can post its messages"
		}
		return reason + ", because it is another origin", "name a URI of the stream's origin: another one would receive the client's credentials"
	case r.End != nil && r.HowEnded() != transcript.Dropped:
		return "the event stream ended before it named an endpoint" + prefixUnlessEmpty(": ", r.End.Detail), advice
	}
	return fmt.Sprintf("on the event stream no endpoint event came within %v", r.waited), advice
}

// announcedEndpoint returns the URL in the endpoint event of the stream, and whether there is one.
func announcedEndpoint(stream *transcript.Exchange) (string, bool) {
	for _, e := range stream.Body {
		if ev := e.StreamEvent(); ev != nil && ev.Type == "endpoint" && ev.IsComplete() {
			return string(ev.Data), true
		}
	}
	return "", false
}

// describeStream describes what came on an event stream instead of the response.
func (r *refusal) describeStream() string {
	text := fmt.Sprintf("got no response within %v", r.waited)
	if r.End != nil && r.HowEnded() != transcript.Dropped && !r.hasEndedSession() {
		text = "ended without the response"
	}
	events := slices.DeleteFunc(slices.Clone(r.Body), func(e *transcript.Event) bool { ev := e.StreamEvent(); return ev == nil || len(ev.Data) == 0 })
	switch {
	case len(r.Body) == 0:
		return text + ", and nothing else"
	case len(events) == 0:
		return text + ", only comments or empty events"
	default:
		return fmt.Sprintf("%s, but %q", text, wire.Excerpt(string(events[0].Stream), 120))
	}
}

// hasEndedSession reports whether the client ended the session before the stream ended.
func (r *refusal) hasEndedSession() bool {
	return slices.ContainsFunc(transcript.ExchangesOf(r.events).All(), func(x *transcript.Exchange) bool {
		return x.Method() == "DELETE" && x.Request.Seq < r.End.Seq
	})
}

// isProxied reports whether the request was sent, unencrypted, to a proxy.
func (r *refusal) isProxied() bool {
	return strings.HasPrefix(r.requestTarget(), "http://")
}

// requestTarget returns the target in the request line.
func (r *refusal) requestTarget() string { return wire.Excerpt(r.RequestHead().Target(), 120) }

func (r *refusal) status() string {
	return wire.Excerpt(strings.TrimSpace(r.ResponseHead().Line), 120)
}

// describeEnd describes how the body ended.
func (r *refusal) describeEnd() string {
	if r.End.Detail == "" {
		return string(r.HowEnded())
	}
	return r.End.Detail
}

func (r *refusal) floodEvent() *transcript.Event {
	for _, e := range r.events {
		if e.Kind == transcript.Flooded && e.Exchange == r.Number {
			return e
		}
	}
	return nil
}

// bodyStart returns the first bytes of the body.
func (r *refusal) bodyStart() string {
	for _, e := range append(slices.Clone(r.Body), r.floodEvent()) {
		if e != nil && len(e.Raw) > 0 {
			return string(e.Raw[:min(len(e.Raw), 1000)])
		}
	}
	return ""
}

// quoteStart quotes the first bytes of the body. If a part of the body was too long to be kept, it
// quotes the first bytes of that part instead.
func (r *refusal) quoteStart() string {
	const most = 40
	text := r.bodyStart()
	if e := r.floodEvent(); e != nil {
		text = string(e.Raw)
	}
	return fmt.Sprintf("%q", text[:min(len(text), most)])
}

// isWebPage reports whether the body is a web page.
func (r *refusal) isWebPage() bool {
	text := strings.ToLower(strings.TrimSpace(r.bodyStart()))
	return r.ResponseHead().MediaType() == "text/html" || strings.HasPrefix(text, "<!doctype html") || strings.HasPrefix(text, "<html")
}

// quoteBody returns the given prefix and the beginning of the response body, or "" if there is no
// body.
func (r *refusal) quoteBody(before string) string {
	text := strings.TrimSpace(r.bodyStart())
	switch {
	case text == "":
		return ""
	case r.floodEvent() != nil || strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && !unicode.IsSpace(c) }):
		return before + r.quoteStart() + " …"
	default:
		return before + wire.Excerpt(text, 160)
	}
}
