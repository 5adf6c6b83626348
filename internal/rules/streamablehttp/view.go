package streamablehttp

import (
	"cmp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// The headers of the transport.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "MCP-Protocol-Version"
	lastEventID   = "Last-Event-ID"
	jsonType      = "application/json"
)

// view is what the rules derive from a whole transcript.
type view struct {
	s        *rules.Session
	revision spec.Revision
	all      []*exchange
	byNumber map[int]*exchange
	sessions *sessions
	ids      map[string]map[string]*exchange // by session and event id: the stream that delivered it first
	origins  map[*exchange]*exchange         // the results of streamStart for exchanges that resume a stream
	accepted map[string]map[string]bool      // media types by the value of Accept
	end      time.Duration                   // the time of the last event
	host     string                          // the server's host, as the client addresses it, without the port
	// initialized is the position at which the client sent notifications/initialized, or -1.
	initialized int
}

// exchange is an HTTP exchange with what the rules derive from it.
type exchange struct {
	*transcript.Exchange
	requests []*rules.Request // in the request body
	events   []streamEvent    // of the event stream
	session  string           // the session that the request names or, for initialize, that the server assigns
	flaws    flaw
}

// streamEvent is an event on an event stream, with its parsed fields.
type streamEvent struct {
	*transcript.Event
	sse *transcript.StreamEvent
}

type viewKey struct{}

func viewOf(s *rules.Session) *view {
	return rules.Memo(s, viewKey{}, func() *view { return newView(s) })
}

func newView(s *rules.Session) *view {
	v := &view{
		s: s, revision: s.Revision(), byNumber: map[int]*exchange{}, ids: map[string]map[string]*exchange{}, initialized: -1,
		origins: map[*exchange]*exchange{}, accepted: map[string]map[string]bool{},
	}
	for _, known := range s.Exchanges().All() {
		if known.Request == nil || known.Request.Head == nil || known.Sent != nil && known.Sent.Frame == nil {
			continue // a response without its request can't be judged
		}
		x := &exchange{Exchange: known, requests: s.RequestsPostedIn(known)}
		for _, e := range known.Body {
			v.end = max(v.end, e.At)
			if sse := e.StreamEvent(); sse != nil && (e.Frame != nil || e.Kind == transcript.Streamed) {
				x.events = append(x.events, streamEvent{e, sse})
			}
		}
		if known.End != nil {
			v.end = max(v.end, known.End.At)
		}
		v.end = max(v.end, known.Request.At)
		if v.initialized < 0 && x.hasNotification(spec.MethodInitialized) {
			v.initialized = x.Sent.Seq
		}
		if len(v.all) == 0 {
			v.host = hostname(x.RequestHead().Get("Host"))
		}
		v.all = append(v.all, x)
		v.byNumber[x.Number] = x
	}
	v.sessions = newSessions(v.all)
	for _, x := range v.all {
		x.session = v.sessions.sessionOf(x)
		x.flaws = v.flawsOf(x)
	}
	v.indexEventIDs()
	return v
}

// indexEventIDs finds the stream on which each event id came first.
func (v *view) indexEventIDs() {
	for _, x := range v.all {
		if v.ids[x.session] == nil {
			v.ids[x.session] = map[string]*exchange{}
		}
		for _, p := range x.events {
			if known := v.ids[x.session]; p.sse.ID != "" && known[p.sse.ID] == nil {
				known[p.sse.ID] = x
			}
		}
	}
}

// sortEvents returns the events of all streams in the order in which they came.
func (v *view) sortEvents() []streamEvent {
	var out []streamEvent
	for _, x := range v.all {
		out = append(out, x.events...)
	}
	slices.SortFunc(out, func(a, b streamEvent) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// hasNotification reports whether the body has a notification with this method.
func (x *exchange) hasNotification(method string) bool {
	for _, m := range x.sentMessages() {
		if m.Kind == wire.Notification && m.Method == method {
			return true
		}
	}
	return false
}

// sentMessages returns the messages of the request's body.
func (x *exchange) sentMessages() []wire.Message {
	if x.Sent == nil {
		return nil
	}
	return x.Sent.Messages()
}

// hasInitialize reports whether the body has an initialize request.
func (x *exchange) hasInitialize() bool {
	for _, req := range x.requests {
		if req.Message.Method == spec.MethodInitialize {
			return true
		}
	}
	return false
}

// isPlainInitialize reports whether the body has a complete initialize request. A server may take
// an incomplete one for a request before the handshake.
func (x *exchange) isPlainInitialize() bool {
	for _, req := range x.requests {
		_, version := wire.Text(req.Message.ParamAt("/protocolVersion"))
		_, name := wire.Text(req.Message.ParamAt("/clientInfo/name"))
		_, release := wire.Text(req.Message.ParamAt("/clientInfo/version"))
		if req.Message.Method == spec.MethodInitialize && version && name && release && req.Message.ParamAt("/capabilities").Kind() == '{' {
			return true
		}
	}
	return false
}

// isPost reports whether the exchange is a POST whose body is a valid message.
func (x *exchange) isPost() bool {
	return x.Method() == "POST" && x.Sent != nil && x.flaws&badBody == 0
}

// lastEventID returns the event id after which the exchange resumes a stream.
func (x *exchange) lastEventID() (string, bool) {
	head := x.RequestHead()
	return head.Get(lastEventID), head.Has(lastEventID)
}

// isResumption reports whether the exchange resumes a stream.
func (x *exchange) isResumption() bool {
	_, ok := x.lastEventID()
	return ok
}

// streamStart returns the exchange whose stream x resumes, or x itself if x resumes none. It
// returns nil if the resumed stream is unknown.
func (v *view) streamStart(x *exchange) *exchange {
	id, resumes := x.lastEventID()
	if !resumes {
		return x
	}
	if known, ok := v.origins[x]; ok {
		return known
	}
	v.origins[x] = nil
	if before := v.ids[x.session][id]; before != nil && before.Request.Seq < x.Request.Seq {
		v.origins[x] = v.streamStart(before)
	}
	return v.origins[x]
}

// isUTF8 reports whether the data are UTF-8.
func (p streamEvent) isUTF8() bool { return utf8.Valid(p.Raw) }

// exchangeOf returns the exchange of an event, or nil.
func (v *view) exchangeOf(e *transcript.Event) *exchange { return v.byNumber[e.Exchange] }

// isStreamOpened reports whether the response is an event stream.
func (x *exchange) isStreamOpened() bool { return x.Succeeded() && x.IsStream() }

// isOpenAt reports whether the stream of x was open at a position.
func (x *exchange) isOpenAt(at int) bool {
	return x.isStreamOpened() && x.Response.Seq < at && (x.End == nil || x.End.Seq > at)
}

// isSessionServedAfter reports whether the server served a POST of the session of x that was sent
// after the response to x.
func (v *view) isSessionServedAfter(x *exchange) bool {
	for _, y := range v.all {
		if x.Response != nil && y.Request.Seq > x.Response.Seq && y.session == x.session && y.Method() == "POST" && y.Succeeded() {
			return true
		}
	}
	return false
}

// hasBody reports whether the response has a body.
func (x *exchange) hasBody() bool {
	for _, e := range x.Body {
		if e.Size > 0 || len(e.Stream) > 0 {
			return true
		}
	}
	return false
}

// errorIn returns the JSON-RPC error in the body of the response, or nil.
func (x *exchange) errorIn() *wire.Message {
	messages := x.Messages()
	for i := range messages {
		if messages[i].IsError() {
			return &messages[i]
		}
	}
	return nil
}

// describeStatus describes the status and body of the response.
func (x *exchange) describeStatus() string {
	if x.Response == nil {
		return "nothing (" + rules.Excerpt(x.End.Detail) + ")"
	}
	text := "status " + strconv.Itoa(x.Status())
	if media := x.ResponseHead().MediaType(); media != "" {
		text += " and " + rules.Excerpt(media)
	}
	for _, e := range x.Body {
		if len(e.Raw) > 0 {
			return text + ": " + rules.Excerpt(e.Raw)
		}
	}
	return text
}

// describeSeen describes the request method and the response.
func (x *exchange) describeSeen() string { return x.Method() + " answered with " + x.describeStatus() }

// describeSeenWith is like describeSeen, and names a header or another detail of the request.
func (x *exchange) describeSeenWith(detail string) string {
	return x.Method() + " with " + detail + " answered with " + x.describeStatus()
}

// positionsOf returns the positions of the events, sorted and without duplicates.
func positionsOf(events ...*transcript.Event) []int {
	at := rules.PositionsOf(events...)
	slices.Sort(at)
	return slices.Compact(at)
}

// positions returns the positions of the request and the response head.
func (x *exchange) positions() []int { return positionsOf(x.Request, x.Sent, x.Response) }

// isAmbiguousStatus reports whether a status shows nothing about the requirements of this package:
// it is 0 because no response came, is a redirect, refuses the client whatever the request is, or
// may come from an HTTP server in front of the MCP server.
func isAmbiguousStatus(status int) bool {
	return status == 0 || status/100 == 3 || transcript.IsAmbiguousStatus(status)
}
