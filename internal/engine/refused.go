package engine

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Refused says from a transcript of HTTP why the last request was not answered,
// initialize for one, and what to do. Waited is how long it was waited for.
func Refused(events []*transcript.Event, waited time.Duration) *UnreachableError {
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
			r.Exchange = x // what came behind it was not taken in
			break
		}
	}
	if i := slices.IndexFunc(events, func(e *transcript.Event) bool { return e.Kind == transcript.Exited }); i >= 0 {
		return &UnreachableError{Reason: "the server ended before it answered initialize: " + events[i].Detail, Advice: "look into what it wrote"}
	}
	if r.Exchange == nil {
		return &UnreachableError{Reason: "no HTTP request could be sent"}
	}
	if r.stream != nil && r.stream.End != nil && r.stream.Succeeded() && r.stream.Ended() != transcript.Dropped {
		if _, named := endpoint(r.stream); named {
			return &UnreachableError{
				Reason: "the event stream ended" + ifAny(": ", r.stream.End.Detail),
				Advice: "keep the stream open as long as the client does: it carries all that the server says",
			}
		}
	}
	reason, advice := r.explain()
	return &UnreachableError{Reason: reason, Advice: advice}
}

// refusal is the exchange that was to bring an answer.
type refusal struct {
	*transcript.Exchange
	events []*transcript.Event
	stream *transcript.Exchange // over HTTP+SSE, what brings all answers
	waited time.Duration
}

func (r *refusal) what() string {
	if r.Method() == "GET" {
		return "the GET that opens the event stream"
	}
	if r.Sent != nil {
		for _, m := range r.Sent.Messages() {
			return "the POST of " + suite.Excerpt(m.Method, 60)
		}
	}
	return "a POST"
}

const checkPeer = "check that an MCP server is what answers at this URL"

func (r *refusal) explain() (reason, advice string) {
	switch status := r.Status(); {
	case status < 200: // none, or an interim one
		return r.silent()
	case status >= 300:
		reason = fmt.Sprintf("%s was answered with %q%s", r.what(), r.status(), r.body(": "))
		return reason, r.statusAdvice(status)
	case r.Exchange == r.stream:
		return r.streamOpened()
	}
	reason = fmt.Sprintf("%s was answered with %q", r.what(), r.status())
	advice = "answer it with a JSON-RPC response"
	flooded := r.flooded()
	switch {
	case flooded != nil:
		return fmt.Sprintf("%s and %s, which began with %s", reason, flooded.Detail, r.start()), advice + " of a reasonable size"
	case r.Ended() == transcript.Broken, r.Ended() == transcript.Unreadable:
		return reason + ", but " + r.ending() + r.body("; the body began with "), "look into the server's own log, and at what stands between it and here"
	case r.isPage():
		return reason + " and a web page" + r.body(": "), "check that the URL is that of the MCP endpoint, often /mcp, and /sse for the older transport"
	case r.stream != nil:
		return fmt.Sprintf("%s, but no answer to it came on the event stream within %v", reason, r.waited), "send the answer as a message event on the stream that the GET has opened"
	case r.Streams():
		return reason + " and an event stream that " + r.barren(), advice + ", as an event of the stream"
	case r.End == nil, r.Ended() == transcript.Dropped:
		return fmt.Sprintf("%s and a body that did not end within %v%s", reason, r.waited, r.body("; it began with ")), "end the body: by Content-Length, by the last chunk, or by closing the connection"
	case len(r.Body) == 0:
		return reason + " without a body", advice
	case r.Body[0].Frame != nil && !r.Body[0].Frame.Readable():
		return reason + " and a body that is no JSON" + r.body(": "), advice
	}
	return reason + " and what is no answer to it" + r.body(": "), advice
}

// silent says why there is no response at all.
func (r *refusal) silent() (reason, advice string) {
	detail := ""
	if r.End != nil {
		detail = r.End.Detail
	}
	switch {
	case r.Ended() == transcript.Unreachable:
		return "the server can't be reached: " + detail, r.reachAdvice(detail)
	case r.End != nil && r.Ended() != transcript.Dropped:
		return fmt.Sprintf("%s got no response: %s", r.what(), detail), r.peerAdvice(detail)
	}
	reason = fmt.Sprintf("%s got no response within %v", r.what(), r.waited)
	switch {
	case strings.Contains(detail, "TLS"), strings.Contains(detail, "connecting to"), strings.Contains(detail, "asked for a connection"):
		return fmt.Sprintf("%s: the time ran out %s", reason, detail), r.reachAdvice(detail)
	case strings.Contains(detail, "within the head"):
		reason += ": its head began and did not end"
	}
	return reason, checkPeer + "; one that answers slowly needs --start-timeout"
}

// peerAdvice is for what came back and is no HTTP response.
func (r *refusal) peerAdvice(detail string) string {
	switch {
	case strings.Contains(detail, "HTTP/2"):
		return "let the server speak HTTP/1.1, too, or put a proxy in front of it that does"
	case strings.Contains(detail, "but TLS"):
		return "give the URL with https://"
	case r.proxied():
		return checkPeer + "; the request went through the proxy that HTTP_PROXY names"
	default:
		return checkPeer + ", and look into its log"
	}
}

// reachAdvice is for a connection that did not come about.
func (r *refusal) reachAdvice(detail string) string {
	for _, a := range []struct{ words, advice string }{
		{"asked for a connection", "check what the proxy lets through (it may want user and password in HTTPS_PROXY), or name the host in NO_PROXY"},
		{"the proxy", "check HTTP_PROXY and HTTPS_PROXY, or name the host in NO_PROXY"},
		{"nobody known has signed", "give the authority's certificate by --ca-file FILE, or trust any certificate by --insecure"},
		{"the certificate", "mend the certificate, or trust any by --insecure"},
		{"HTTP without TLS", "give the URL with http://"},
		{"TLS", "check that the port is one for https; a server without TLS needs a URL with http://"},
		{"no host is called", "check the spelling of the host in the URL"},
	} {
		if strings.Contains(detail, a.words) {
			return a.advice
		}
	}
	return "check that the server runs, and the URL"
}

// statusAdvice is for a response with a status of its own.
func (r *refusal) statusAdvice(status int) string {
	asks := r.ResponseHead().Get("WWW-Authenticate")
	if asks != "" {
		asks = "; it asks for " + suite.Excerpt(asks, 120)
	}
	head := r.ResponseHead()
	switch {
	case (status == 401 || status == 403) && r.RequestHead().Has("Authorization"):
		return "the Authorization that was sent was not accepted: check the token" + asks
	case status == 401, status == 403:
		return "the server wants to know who asks: give --bearer-env NAME or --header 'Name: value'" + asks
	case r.proxied() && (status == 407 || status >= 502 && status <= 504):
		return "it may be the proxy that says so: check HTTP_PROXY, or name the host in NO_PROXY"
	case (status == 404 || status == 405) && r.stream != nil && r.Exchange != r.stream:
		return "let the endpoint event name a URI that takes messages; it named what leads to " + r.target()
	case status == 404, status == 405:
		return "check the path: MCP endpoints are often /mcp, and /sse for the older transport (" + r.target() + " was asked)"
	case status/100 == 3:
		return r.redirectAdvice(status)
	case status == 429:
		return "the server takes no more requests for now: try later, with --jobs 1, or raise its limit"
	case status >= 502 && status <= 504:
		return "check that the server itself runs behind what answers here"
	case status/100 == 5:
		return "look into the server's own log"
	case status == 400 && strings.Contains(r.body(""), "HTTPS"):
		return "give the URL with https://"
	default:
		return "let the server take an initialize request with the types application/json and text/event-stream in Accept" + ifAny("; it says Allow: ", head.Get("Allow"))
	}
}

func ifAny(before, text string) string {
	if text == "" {
		return ""
	}
	return before + suite.Excerpt(text, 80)
}

// redirectAdvice says where a redirection leads, and why it was not followed.
func (r *refusal) redirectAdvice(status int) string {
	location := strings.TrimSpace(r.ResponseHead().Get("Location"))
	if location == "" {
		return "the redirection has no Location: let the server say where it leads"
	}
	to, host := location, ""
	if base, err := url.Parse(r.opened()); err == nil {
		if u, err := base.Parse(location); err == nil {
			to, host = u.String(), u.Host
		}
		if host == base.Host {
			host = ""
		}
	}
	to = suite.Excerpt(to, 200)
	switch n := r.redirections(); {
	case status != 307 && status != 308 && r.Method() == "POST":
		return "such a redirection turns a POST into a GET; give the URL that it leads to: " + to
	case host != "":
		return "redirections to another host are not followed; if it is trusted, give its URL: " + to
	case n > 1:
		return fmt.Sprintf("%d redirections lead in a circle, or too far, the last one to %s: give the URL of the endpoint itself", n, to)
	case r.Method() == "POST":
		return fmt.Sprintf("the redirection leads in a circle, to %s: give the URL of the endpoint itself", to)
	default:
		return "give the URL that it leads to: " + to
	}
}

// opened returns the URL of the server.
func (r *refusal) opened() string {
	for _, e := range r.events {
		if e.Kind == transcript.Opened {
			return e.Detail
		}
	}
	return ""
}

// redirections counts the responses that sent the request elsewhere.
func (r *refusal) redirections() int {
	n := 0
	for _, x := range transcript.ExchangesOf(r.events).All() {
		if x.Method() == r.Method() && x.Status()/100 == 3 {
			n++
		}
	}
	return n
}

// streamOpened explains a GET that succeeded, behind which no POST was sent.
func (r *refusal) streamOpened() (reason, advice string) {
	reason = fmt.Sprintf("%s was answered with %q", r.what(), r.status())
	switch {
	case r.isPage():
		return reason + " and a web page" + r.body(": "), "check that the URL is that of the SSE endpoint, often /sse"
	case r.ResponseHead().MediaType() != transcript.EventStream:
		media := r.ResponseHead().MediaType()
		if media == "" {
			media = "something without a Content-Type"
		}
		return reason + ", but with no event stream: it is " + suite.Excerpt(media, 80) + r.body(": "), "answer the GET with text/event-stream, or give --transport http"
	}
	named, ok := endpoint(r.stream)
	advice = "send an endpoint event first, with the URI for messages"
	flooded := r.flooded()
	switch {
	case flooded != nil:
		return fmt.Sprintf("the event stream floods: %s; what could not be taken in began with %s", flooded.Detail, r.start()), "send no more than there is to say"
	case ok:
		reason = fmt.Sprintf("the endpoint event names %q, to which nothing is sent", suite.Excerpt(named, 160))
		if _, err := url.Parse(strings.TrimSpace(named)); err != nil {
			return reason + ", for it is no URL", "name a URI to which the client can post its messages"
		}
		return reason + ", for that is another origin", "name a URI of the origin that has the stream: another one would get the client's credentials"
	case r.End != nil && r.Ended() != transcript.Dropped:
		return "the event stream ended before it named an endpoint" + ifAny(": ", r.End.Detail), advice
	}
	return fmt.Sprintf("on the event stream no endpoint event came within %v", r.waited), advice
}

// endpoint returns what the endpoint event of the stream names.
func endpoint(stream *transcript.Exchange) (string, bool) {
	for _, e := range stream.Body {
		if ev := e.StreamEvent(); ev != nil && ev.Type == "endpoint" && ev.Complete() {
			return string(ev.Data), true
		}
	}
	return "", false
}

// barren says what an event stream brought instead of the answer.
func (r *refusal) barren() string {
	text := fmt.Sprintf("brought no answer within %v", r.waited)
	if r.End != nil && r.Ended() != transcript.Dropped {
		text = "ended without the answer"
	}
	events := slices.DeleteFunc(slices.Clone(r.Body), func(e *transcript.Event) bool { ev := e.StreamEvent(); return ev == nil || !ev.HasData })
	switch {
	case len(r.Body) == 0:
		return text + ", and nothing else"
	case len(events) == 0:
		return text + ", but comments or empty events"
	default:
		return fmt.Sprintf("%s, but %q", text, suite.Excerpt(string(events[0].Stream), 120))
	}
}

// proxied tells whether the request went to a proxy as it is.
func (r *refusal) proxied() bool {
	return strings.HasPrefix(r.target(), "http://")
}

// target is where the request went.
func (r *refusal) target() string { return suite.Excerpt(r.RequestHead().Target(), 120) }

func (r *refusal) status() string {
	return suite.Excerpt(strings.TrimSpace(r.ResponseHead().Line), 120)
}

// ending says how the body ended.
func (r *refusal) ending() string {
	if r.End.Detail == "" {
		return string(r.Ended())
	}
	return r.End.Detail
}

func (r *refusal) flooded() *transcript.Event {
	for _, e := range r.events {
		if e.Kind == transcript.Flooded && e.Exchange == r.Number {
			return e
		}
	}
	return nil
}

// text returns the first bytes of the body.
func (r *refusal) text() string {
	for _, e := range append(slices.Clone(r.Body), r.flooded()) {
		if e != nil && len(e.Raw) > 0 {
			return string(e.Raw[:min(len(e.Raw), 1000)])
		}
	}
	return ""
}

// start quotes the first bytes of what was too long.
func (r *refusal) start() string {
	const most = 40
	text := r.text()
	if e := r.flooded(); e != nil {
		text = string(e.Raw)
	}
	return fmt.Sprintf("%q", text[:min(len(text), most)])
}

// isPage tells whether the body is for people.
func (r *refusal) isPage() bool {
	text := strings.ToLower(strings.TrimSpace(r.text()))
	return r.ResponseHead().MediaType() == "text/html" || strings.HasPrefix(text, "<!doctype html") || strings.HasPrefix(text, "<html")
}

// body returns the beginning of what came with the response, behind before.
func (r *refusal) body(before string) string {
	text := strings.TrimSpace(r.text())
	switch {
	case text == "":
		return ""
	case r.flooded() != nil || strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && !unicode.IsSpace(c) }):
		return before + r.start() + " …"
	default:
		return before + suite.Excerpt(text, 160)
	}
}
