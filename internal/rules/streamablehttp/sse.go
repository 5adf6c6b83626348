package streamablehttp

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	twoEndpoints    = "sse.two-endpoints"
	endpointEvent   = "sse.endpoint-event"
	endpointFirst   = "sse.endpoint-event-first"
	endpointOrigin  = "sse.endpoint-same-origin"
	acceptsPost     = "sse.accepts-post"
	messageEvents   = "sse.messages-as-events"
	ownStream       = "sse.response-on-own-stream"
	closedRefused   = "sse.unknown-session-refused"
	legacyMediaType = "sse.content-type"
)

func legacyRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.sse-endpoint",
			Title:        "the first event of the stream is the endpoint",
			Requirements: []string{legacyMediaType, endpointEvent, endpointFirst, endpointOrigin},
			Start:        judgeExchangesAtEnd(judgeEndpoints),
		},
		{
			ID:           "rule.sse-posts",
			Title:        "the announced endpoint accepts messages",
			Requirements: []string{twoEndpoints, acceptsPost, closedRefused},
			Start:        judgeExchangesAtEnd(judgeLegacyPosts),
		},
		{
			ID:           "rule.sse-messages",
			Title:        "messages are message events of the session's stream",
			Requirements: []string{messageEvents, ownStream},
			Start:        judgeExchangesAtEnd(judgeLegacyMessages),
		},
	}
}

// channel is a stream of HTTP+SSE with its endpoint.
type channel struct {
	*exchange
	announced *streamEvent
	target    string // path and query of the endpoint, "" if it is unknown
	foreign   bool   // the endpoint is on another host
}

type channelsKey struct{}

// channels returns the streams that were opened.
func (v *view) channels() []*channel {
	return rules.Memo(v.s, channelsKey{}, func() []*channel {
		var out []*channel
		for _, x := range v.all {
			if v.s.Transport == spec.SSE && x.Method() == "GET" && x.isStreamOpened() {
				c := &channel{exchange: x}
				c.findEndpoint()
				out = append(out, c)
			}
		}
		return out
	})
}

// findEndpoint finds the event that announces the endpoint.
func (c *channel) findEndpoint() {
	for i := range c.events {
		p := &c.events[i]
		if p.sse.Type != "endpoint" || !p.sse.IsComplete() {
			continue
		}
		c.announced = p
		u, ok := endpointURL(p.sse.Data)
		if !ok {
			return
		}
		base := &url.URL{Scheme: "http", Host: c.RequestHead().Get("Host"), Path: "/"}
		if at, err := url.Parse(c.RequestHead().Target()); err == nil {
			base = base.ResolveReference(at)
		}
		c.target = base.ResolveReference(u).RequestURI()
		c.foreign = u.Host != "" && base.Host != "" && !strings.EqualFold(withoutPort(u.Scheme, u.Host), withoutPort(u.Scheme, base.Host))
		return
	}
}

// withoutPort removes the default port of the scheme.
func withoutPort(scheme, host string) string {
	switch scheme {
	case "https":
		return strings.TrimSuffix(host, ":443")
	case "http":
		return strings.TrimSuffix(host, ":80")
	}
	return host
}

// endpointURL returns the URL in the data of an endpoint event.
func endpointURL(data []byte) (*url.URL, bool) {
	text := string(data)
	u, err := url.Parse(text)
	if err != nil || text == "" || strings.ContainsAny(text, "\"{}<> \n") {
		return nil, false
	}
	return u, true
}

// endpointTimeout is how long a stream may take to announce its endpoint.
const endpointTimeout = 3 * time.Second

func judgeEndpoints(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if v.s.Transport != spec.SSE || x.Method() != "GET" || x.Status() != 200 || x.flaws != 0 {
			continue
		}
		if x.ResponseHead().MediaType() != transcript.EventStream {
			out.Report(verdict.Deviation{
				Requirement: legacyMediaType,
				Summary:     "The server's stream is not of type text/event-stream.",
				Permitted:   "text/event-stream, with or without parameters",
				Seen:        x.describeStatus(), At: positionsOf(x.Request, x.Response),
			})
			continue
		}
		out.MarkObserved(legacyMediaType)
	}
	for _, c := range v.channels() {
		v.judgeAnnouncement(c, out)
	}
}

func (v *view) judgeAnnouncement(c *channel, out *rules.Reporter) {
	d := verdict.Deviation{Requirement: endpointEvent, Permitted: "an event named endpoint with a URI as data", At: positionsOf(c.Request, c.Response)}
	if c.announced == nil {
		if e := v.missingEndpoint(c); e != nil {
			d.Summary, d.Seen = "The server's stream has no endpoint event.", "no endpoint event"
			d.At = append(d.At, e.Seq)
			out.Report(d)
		}
		return
	}
	d.Seen, d.At = rules.Excerpt(c.announced.sse.Data), positionsOf(c.Request, c.Response, c.announced.Event)
	if _, ok := endpointURL(c.announced.sse.Data); !ok {
		d.Summary = "The server's endpoint event is not a URI."
		out.Report(d)
		return
	}
	out.MarkObserved(endpointEvent)
	if c.foreign {
		d.Requirement, d.Summary, d.Permitted = endpointOrigin, "The server's endpoint event names another host.", "a URI with scheme, host and port of the stream"
		out.Report(d)
	} else {
		out.MarkObserved(endpointOrigin)
	}
	for _, p := range c.events {
		if p.Seq < c.announced.Seq && p.sse.HasData && p.sse.IsComplete() {
			d.Requirement, d.Summary, d.Permitted = endpointFirst, "The server sends another event before the endpoint event.", "the endpoint event before all others; comments do not count"
			d.Seen, d.At = rules.Excerpt(p.Stream), positionsOf(c.Request, p.Event, c.announced.Event)
			out.Report(d)
			return
		}
	}
	out.MarkObserved(endpointFirst)
}

// missingEndpoint returns the event that shows that no endpoint is announced: the end of the
// stream, another event, or the client's timeout.
func (v *view) missingEndpoint(c *channel) *transcript.Event {
	for _, p := range c.events {
		if p.sse.HasData && p.sse.IsComplete() {
			return p.Event
		}
	}
	if c.End != nil && (c.End.How == transcript.Complete || c.End.How == transcript.Dropped && c.End.At-c.Response.At >= endpointTimeout) {
		return c.End
	}
	return nil
}

// channelsFor returns the streams that announced the target of a POST.
func (v *view) channelsFor(x *exchange) []*channel {
	var out []*channel
	for _, c := range v.channels() {
		if c.target != "" && c.target == x.RequestHead().Target() && c.announced.Seq < x.Request.Seq {
			out = append(out, c)
		}
	}
	return out
}

// hasSharedEndpoint reports whether another stream announced the same endpoint.
func (v *view) hasSharedEndpoint(c *channel) bool {
	return slices.ContainsFunc(v.channels(), func(other *channel) bool { return other != c && other.target == c.target })
}

// closeNoticeTime is how long a server may take to notice that the client closed a stream.
const closeNoticeTime = time.Second

func judgeLegacyPosts(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if v.s.Transport != spec.SSE || !x.isPost() || x.Response == nil || x.flaws != 0 || isAmbiguousStatus(x.Status()) {
			continue
		}
		for _, c := range v.channelsFor(x) {
			switch {
			case c.isOpenAt(x.Request.Seq):
				v.judgeLegacyPost(x, out)
			case len(v.channelsFor(x)) == 1 && c.End != nil && c.End.Seq < x.Request.Seq && (c.End.How == transcript.Complete || x.Request.At-c.End.At >= closeNoticeTime):
				judgePostToClosed(x, c, out)
			}
		}
	}
}

// judgeLegacyPost judges a POST to the endpoint of an open stream.
func (v *view) judgeLegacyPost(x *exchange, out *rules.Reporter) {
	d := verdict.Deviation{Requirement: acceptsPost, Permitted: "a success status", Seen: x.describeSeen(), At: x.positions()}
	switch {
	case x.Succeeded():
		out.MarkObserved(twoEndpoints)
		out.MarkObserved(acceptsPost)
	case x.Status() == 404 || x.Status() == 405 || x.Status() == 501:
		d.Requirement, d.Summary = twoEndpoints, "The server's announced endpoint does not accept POST."
		out.Report(d)
		out.MarkReportedElsewhere(acceptsPost)
	case x.Status() == 408 || x.Status() == 411 || x.Status() == 413: // HTTP permits refusing a body by its form
	case x.Refused() && x.givesNoReasonToRefuse() && !v.s.Sent.MayBeRefused(x.Sent):
		d.Summary = "The server refuses a message at the endpoint that it announced."
		d.Header = map[int]string{406: "Accept", 415: "Content-Type"}[x.Status()]
		out.Report(d)
	}
}

// givesNoReasonToRefuse reports whether no server has a reason to refuse the body: it has only
// responses, a complete initialize, and requests and notifications that have a well-known method
// and no params.
func (x *exchange) givesNoReasonToRefuse() bool {
	return !slices.ContainsFunc(x.sentMessages(), func(m wire.Message) bool {
		switch {
		case m.Kind == wire.Response:
			return false
		case m.Method == spec.MethodInitialize:
			return !x.isPlainInitialize()
		default:
			return m.Params() != nil || !slices.Contains([]string{
				spec.MethodInitialized, spec.MethodPing, spec.MethodToolsList, spec.MethodResourcesList, spec.MethodPromptsList,
			}, m.Method)
		}
	})
}

// judgePostToClosed judges a POST to the endpoint of a closed stream.
func judgePostToClosed(x *exchange, c *channel, out *rules.Reporter) {
	if !x.Succeeded() {
		out.MarkObserved(closedRefused)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: closedRefused,
		Summary:     "The server accepts a message for a stream that is closed.",
		Permitted:   "an error status",
		Seen:        x.describeSeen(),
		At:          positionsOf(c.Request, c.End, x.Request, x.Sent, x.Response),
	})
}

func judgeLegacyMessages(v *view, out *rules.Reporter) {
	if v.s.Transport != spec.SSE {
		return
	}
	for _, c := range v.channels() {
		for _, p := range c.events {
			if p.Kind != transcript.Received || !p.sse.IsComplete() {
				continue
			}
			if p.sse.Type != "" && p.sse.Type != "message" {
				out.Report(verdict.Deviation{
					Requirement: messageEvents,
					Summary:     "The server sends a message as an event of another type.",
					Permitted:   "the event type message, explicit or by default",
					Seen:        "an event of the type " + rules.Excerpt(p.sse.Type),
					At:          positionsOf(c.Request, p.Event),
				})
				continue
			}
			out.MarkObserved(messageEvents)
		}
	}
	for _, req := range v.s.ClientRequests() {
		if x := v.exchangeOf(req.Event); x != nil && len(req.Responses) > 0 {
			v.judgeResponseStream(x, req, out)
		}
	}
}

// judgeResponseStream judges on which stream the response to a request came.
func (v *view) judgeResponseStream(x *exchange, req *rules.Request, out *rules.Reporter) {
	if e := req.Responses[0].Event; e.Exchange == x.Number {
		if e.Stream == nil && x.Succeeded() && req.Responses[0].Kind == wire.Response {
			out.Report(verdict.Deviation{
				Requirement: messageEvents,
				Summary:     "The server answers a request in the HTTP response to its POST.",
				Permitted:   "the response as a message event on the stream",
				Seen:        x.describeSeen(), At: positionsOf(x.Request, x.Sent, x.Response, e),
			})
		}
		return
	}
	own := v.channelsFor(x)
	if len(own) != 1 || !own[0].isOpenAt(req.Responses[0].Event.Seq) || v.hasSharedEndpoint(own[0]) {
		return
	}
	other, e := v.misdirectedResponse(own[0], req)
	if e == nil {
		out.MarkObserved(ownStream)
		return
	}
	d := verdict.Deviation{
		Requirement: ownStream,
		Summary:     "The server sends a response on another stream than its endpoint's.",
		Permitted:   "a response on the stream whose endpoint event has the URI of the POST",
		Seen:        "the response to " + rules.DescribeRequest(req.Message) + " on a stream without an endpoint event",
		At:          positionsOf(other.Request, x.Request, x.Sent, e),
	}
	if other.announced != nil {
		d.Seen = "the response to " + rules.DescribeRequest(req.Message) + " on the stream with the endpoint " + rules.Excerpt(other.announced.sse.Data)
		d.At = positionsOf(other.announced.Event, x.Request, x.Sent, e)
	}
	out.Report(d)
}

// misdirectedResponse returns an event that responds to the request on a stream other than the
// request's own, and that stream, or nil. The response may also come on the request's own stream, earlier or later.
// If another request has the same id, it is unclear to which one the response belongs, so the
// function returns nil.
func (v *view) misdirectedResponse(own *channel, req *rules.Request) (*channel, *transcript.Event) {
	if len(v.s.RequestsWithID(req.Message.ID)) > 1 {
		return nil, nil
	}
	for _, c := range v.channels() {
		for _, p := range c.events {
			if c != own && p.Kind == transcript.Received && p.Seq > req.Event.Seq && slices.ContainsFunc(p.Messages(), func(m wire.Message) bool {
				return m.IsResponseTo(req.Message.ID)
			}) {
				return c, p.Event
			}
		}
	}
	return nil, nil
}
