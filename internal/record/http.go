package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	sessionHeader = "Mcp-Session-Id"
	// MaxSessions bounds the sessions that are recorded. The messages of later sessions are passed
	// on, but not recorded.
	MaxSessions = 100
	// idleTime is how long an unused connection to the server is kept. It is shorter than the idle
	// timeout of servers, because a POST is lost if the server closes the connection while the
	// proxy sends it.
	idleTime = 2 * time.Second
	endTime  = 2 * time.Second  // how long exchanges may take to end when the proxy stops
	headTime = 30 * time.Second // how long a client may take to send the head of a request
)

// A Proxy forwards requests of clients to a server over Streamable HTTP or HTTP+SSE. It forwards
// all requests to the origin of its URL. It records those to the URL's path, and to the message
// URLs of HTTP+SSE, in one transcript per session.
type Proxy struct {
	url      *url.URL
	hostName string // a second host name of the proxy, besides its address
	say      func(string)

	reverse *httputil.ReverseProxy
	budget  *transcript.Budget

	mu         sync.Mutex
	sessions   []*Session
	byID       map[string]*Session
	byEndpoint map[string]*Session // by endpointKey of the URL for messages
	current    *Session            // of the requests without a session id
	stateless  *Session            // of the requests that carry their own protocol version
	full       bool                // MaxSessions was exceeded
	sse        bool                // the server uses HTTP+SSE
}

// A Session is a group of requests that are recorded in one transcript: those with the same session
// id, those of one HTTP+SSE stream, or those without a session id until another client begins, see
// beginsSession.
type Session struct {
	*transcript.Transcript
	proxy   *Proxy
	stopped atomic.Bool // nothing more is recorded
	// Proxy.mu guards the fields below.
	over        spec.Transport  // "" until it is known
	isNamed     bool            // it has a session id
	streaming   bool            // its stream over HTTP+SSE is open
	listening   int             // the number of its open GETs without a session id
	posted      bool            // one of its requests has a body but no session id
	initialized bool            // initialize was sent without a session id
	ids         map[string]bool // of the requests without a session id
}

// stopRecording stops recording the session. The proxy still passes its messages on.
func (s *Session) stopRecording(why string) {
	if !s.stopped.Swap(true) {
		s.Remark("nothing is recorded from here on: " + why)
	}
}

// NewProxy returns a proxy for the server at u. Clients reach the proxy at its address, or under a
// second host name, which the argument name holds. The proxy calls the function say with messages
// for its user.
func NewProxy(u *url.URL, name string, say func(string)) *Proxy {
	p := &Proxy{url: u, hostName: name, say: say, budget: transcript.NewBudget(), byID: map[string]*Session{}, byEndpoint: map[string]*Session{}}
	dialer := &net.Dialer{}
	p.reverse = &httputil.ReverseProxy{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			DisableCompression: true, MaxIdleConnsPerHost: MaxSessions, IdleConnTimeout: idleTime,
		},
		Rewrite: p.rewrite, FlushInterval: -1, ModifyResponse: p.handleResponse, ErrorHandler: p.handleError,
		ErrorLog: discardLog,
	}
	return p
}

// Serve accepts connections until the context ends, and returns when the exchanges have ended, at
// most endTime later.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: headTime, ErrorLog: discardLog,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		_ = server.Shutdown(ending) // the exchanges end with their context
		_ = server.Close()
	})
	err := server.Serve(l)
	if stop() {
		return err
	}
	<-ended
	return nil
}

// Sessions returns the sessions so far, in the order in which they began.
func (p *Proxy) Sessions() []*Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sessions)
}

// discardLog discards the logs of net/http: handleError reports errors to the user.
var discardLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

// exchangeKey is the key of the exchange in the context of a request.
type exchangeKey struct{}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).EnableFullDuplex()      // the server may respond before it has the whole body
	w.Header()["Date"], w.Header()["Content-Type"] = nil, nil // net/http must not add what the server omits
	p.mu.Lock()
	named := p.byEndpoint[endpointKey(r.URL)]
	p.mu.Unlock()
	if r.Method != http.MethodPost {
		named = nil
	}
	if named != nil || strings.TrimSuffix(r.URL.Path, "/") == strings.TrimSuffix(p.url.Path, "/") {
		x := &liveExchange{p: p, method: r.Method, head: requestHead(r, p.hostFor(r)), id: r.Header.Get(sessionHeader), left: r.ContentLength, session: named}
		r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
		if r.ContentLength == 0 {
			x.complete = true
			x.begin()
		}
		r.Body = &sentBody{ReadCloser: r.Body, x: x}
		defer x.end(transcript.Dropped, "")
	}
	p.reverse.ServeHTTP(w, r)
}

// rewrite turns the client's request into the one to the server: it replaces the host of the proxy
// with that of the server, and asks for uncompressed responses.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.RawQuery = p.url.Scheme, p.url.Host, r.In.URL.RawQuery
	r.Out.Host = p.hostFor(r.In)
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok { // ReverseProxy has removed it
			r.Out.Header[name] = values
		}
	}
	if r.In.Header.Get("Accept-Encoding") != "" { // no compressed messages, as in a run
		r.Out.Header.Set("Accept-Encoding", "identity")
	}
}

// hostFor returns the Host header that the server gets. The same header is recorded, so that it
// matches the URLs in the server's responses.
func (p *Proxy) hostFor(r *http.Request) string {
	if p.isOwn(r) {
		return p.url.Host
	}
	return r.Host // the server decides whether it accepts another host
}

// isOwn reports whether the request names the proxy as its host. It returns false for another name
// that merely resolves to the proxy, as in DNS rebinding.
func (p *Proxy) isOwn(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	name, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		name, port = strings.Trim(r.Host, "[]"), "80"
	}
	return port == strconv.Itoa(local.Port) &&
		(strings.EqualFold(name, p.hostName) || strings.EqualFold(name, "localhost") && local.IP.IsLoopback() || local.IP.Equal(net.ParseIP(name)))
}

// handleResponse records a response, and rewrites its Location if that leads to the server.
func (p *Proxy) handleResponse(r *http.Response) error {
	x, ok := r.Request.Context().Value(exchangeKey{}).(*liveExchange)
	if ok {
		x.respond(r)
	}
	origin := p.url.Scheme + "://" + p.url.Host
	if to, found := strings.CutPrefix(r.Header.Get("Location"), origin); found && r.Request.Host == p.url.Host && (to == "" || to[0] == '/') {
		r.Header.Set("Location", cmp.Or(to, "/")) // otherwise the client would bypass the proxy
	}
	return nil
}

// handleError responds to a request that got no response from the server, and records why.
func (p *Proxy) handleError(w http.ResponseWriter, r *http.Request, err error) {
	how, what := transcript.Broken, "sent no response"
	var dialing *net.OpError
	switch {
	case r.Context().Err() != nil:
		how = transcript.Dropped
	case errors.As(err, &dialing) && dialing.Op == "dial":
		how, what = transcript.Unreachable, "can't be reached"
	}
	if x, ok := r.Context().Value(exchangeKey{}).(*liveExchange); ok {
		x.begin()
		x.end(how, err.Error())
	}
	if how == transcript.Dropped {
		return // the client has gone
	}
	text := fmt.Sprintf("the server at %s %s: %v", p.url.Redacted(), what, err)
	p.say(text)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, "mcp-conform record: "+text+"\n")
}

// assignSession returns the session of a request with this session id and these messages. It opens
// a session if needed. It returns nil if the session is not recorded, see MaxSessions.
func (p *Proxy) assignSession(method, id string, f *wire.Frame) *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != "" {
		s := p.byID[id]
		if s == nil {
			if s = p.openSession(); s != nil {
				p.byID[id], s.isNamed = s, true
			}
		}
		return s
	}
	var messages []wire.Message
	if f != nil {
		messages = f.Messages
	}
	current := &p.current
	if slices.ContainsFunc(messages, isStateless) {
		current = &p.stateless
	}
	// A GET may open the HTTP+SSE stream of another client, so it begins a session if the current
	// one is in use.
	begins := method == http.MethodGet && p.current != nil && p.current.over == "" && (p.current.posted || p.current.listening > 0)
	if *current == nil || begins || slices.ContainsFunc(messages, (*current).beginsSession) {
		if *current = p.openSession(); *current == nil {
			return nil
		}
	}
	if method == http.MethodGet {
		(*current).listening++
	}
	(*current).posted = (*current).posted || f != nil
	for i := range messages {
		if messages[i].Kind == wire.Request && !(*current).stopped.Load() {
			(*current).ids[messages[i].ID.Key()] = true
		}
		(*current).initialized = (*current).initialized || messages[i].Method == spec.MethodInitialize
	}
	return *current
}

// isStateless reports whether the message carries its own protocol version.
func isStateless(m wire.Message) bool {
	_, ok := wire.Text(wire.At(m.Params(), spec.MetaPointer(spec.MetaVersion)))
	return ok
}

// beginsSession reports whether a message without a session id begins a new session, perhaps of
// another client: it reuses an id, or is a second initialize.
func (s *Session) beginsSession(m wire.Message) bool {
	return m.Kind == wire.Request && (s.ids[m.ID.Key()] || s.initialized && m.Method == spec.MethodInitialize)
}

// openSession begins a session, or returns nil after MaxSessions. The caller has locked p.mu.
func (p *Proxy) openSession() *Session {
	if len(p.sessions) == MaxSessions {
		if !p.full {
			p.full = true
			p.say(fmt.Sprintf("%d sessions are recorded; further ones are only passed on", MaxSessions))
		}
		return nil
	}
	s := &Session{proxy: p, Transcript: transcript.NewWithin(p.budget, transcript.Limits{}), ids: map[string]bool{}}
	s.Add(transcript.Event{Kind: transcript.Opened, Detail: p.url.Redacted()})
	p.sessions = append(p.sessions, s)
	return s
}

// noteAccepted updates the session after a response with a 2xx status, unless the session uses
// HTTP+SSE. A session without a session id takes the id in the response.
func (p *Proxy) noteAccepted(x *liveExchange, r *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, id := x.session, r.Header.Get(sessionHeader)
	if r.StatusCode/100 != 2 || s.over == spec.SSE {
		return
	}
	if x.method == http.MethodPost {
		s.over = spec.StreamableHTTP
	}
	if id == "" || s.isNamed || p.byID[id] != nil {
		return
	}
	p.byID[id], s.isNamed = s, true
	if p.current == s {
		p.current = nil
	}
}

// requestHead returns the head of a request, with the headers in alphabetical order: net/http does
// not keep their order.
func requestHead(r *http.Request, host string) []byte {
	return transcript.HeadBytes(r.Method+" "+r.RequestURI+" "+r.Proto, append([]transcript.Field{{Name: "Host", Value: host}}, headerFields(r.Header)...))
}

func responseHead(r *http.Response) []byte {
	return transcript.HeadBytes("HTTP/1.1 "+r.Status, headerFields(r.Header))
}

func headerFields(h http.Header) []transcript.Field {
	var out []transcript.Field
	for name, values := range h {
		for _, v := range values {
			out = append(out, transcript.Field{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(out, func(a, b transcript.Field) int { return strings.Compare(a.Name, b.Name) })
	return out
}
