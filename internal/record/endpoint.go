package record

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// openingKept bounds the bytes of a stream that are held back until its first event is complete.
const openingKept = 64 << 10

// An opening is the beginning of an event stream, up to and including its first event. Over
// HTTP+SSE the first event is the endpoint event, whose URL may have to be rewritten.
type opening struct {
	x        *liveExchange
	base     *url.URL // the URL of the stream at the server
	splitter transcript.Splitter
	rest     []byte // the bytes so far of the incomplete chunk
	passed   int    // bytes of rest that were passed on
	over     bool
}

// newOpening returns the opening of a response, or nil if it can't be a stream of HTTP+SSE.
func newOpening(x *liveExchange, r *http.Response, head *transcript.Head) *opening {
	if r.Request.Method != http.MethodGet || x.id != "" || r.StatusCode/100 != 2 || r.ContentLength >= 0 || head.MediaType() != transcript.EventStream {
		return nil
	}
	return &opening{x: x, base: r.Request.URL}
}

// feed adds the next bytes of the stream, and returns the bytes to pass on. It holds back an
// incomplete event, but not the complete comment lines at its beginning, because these may keep the
// connection alive. Once the first event with data is complete, or more than openingKept bytes are
// held back, feed returns all bytes and ends the opening.
func (o *opening) feed(data []byte) []byte {
	var out []byte
	o.rest = append(o.rest, data...)
	for _, chunk := range o.splitter.Feed(data) {
		o.rest = o.rest[len(chunk):]
		if ev := transcript.ParseStream(chunk); !o.over && ev.HasData {
			o.over = true
			if ev.Type == "endpoint" {
				chunk = o.x.rewriteEndpoint(o.base, chunk, string(ev.Data))
			}
		}
		out = append(out, chunk[o.passed:]...)
		o.passed = 0
	}
	if o.over || len(o.rest) > openingKept {
		return append(out, o.finish()...)
	}
	comments := 0
	for l := range transcript.StreamLines(o.rest) {
		if !l.IsComment() || l.End == "" {
			break
		}
		comments += len(l.Text) + len(l.End)
	}
	if comments > o.passed {
		out = append(out, o.rest[o.passed:comments]...)
		o.passed = comments
	}
	return out
}

// finish ends the opening and returns the bytes that were held back.
func (o *opening) finish() []byte {
	o.over = true
	return o.rest[o.passed:]
}

// rewriteEndpoint stores the URL for messages, which the endpoint event names, and returns the
// event as the client gets it: an absolute URL of the server loses its host, so that it leads to
// the proxy. An invalid URL, or one of another origin, is passed on unchanged.
func (x *liveExchange) rewriteEndpoint(base *url.URL, chunk []byte, data string) []byte {
	u, err := base.Parse(strings.TrimSpace(data))
	if err != nil {
		return chunk // invalid: the client gets it unchanged
	}
	if !isSameOrigin(u, base) {
		x.p.say("the endpoint event names another origin, " + u.Scheme + "://" + u.Host + ": messages that clients send there are not recorded")
		return chunk
	}
	x.p.noteSSE(x, u)
	if given, err := url.Parse(strings.TrimSpace(data)); err != nil || given.Host == "" {
		return chunk
	}
	to := u.RequestURI()
	if strings.HasPrefix(to, "//") {
		to = "/." + to // otherwise clients would take the first segment for a host
	}
	var out bytes.Buffer
	for l := range transcript.StreamLines(chunk) {
		if l.Field == "data" {
			out.Write(bytes.TrimSuffix(l.Text, l.Value))
			out.WriteString(to)
		} else {
			out.Write(l.Text)
		}
		out.WriteString(l.End)
	}
	return out.Bytes()
}

// isSameOrigin reports whether two URLs have the same scheme, host and port.
func isSameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// endpointKey returns the same key for all spellings of a URL for messages.
func endpointKey(u *url.URL) string { return u.Path + "?" + u.Query().Encode() }

// noteSSE marks the exchange as the stream of an HTTP+SSE session with this URL for messages.
func (p *Proxy) noteSSE(x *liveExchange, u *url.URL) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sse = true
	s := x.session
	if s == nil {
		return
	}
	x.isStream, s.streaming, s.over = true, true, spec.SSE
	if p.current == s {
		p.current = nil
	}
	if other := p.byEndpoint[endpointKey(u)]; other != nil && other != s && other.streaming {
		for _, s := range []*Session{other, s} {
			s.stopRecording("the server gives several clients the same URL for messages, so their sessions can't be told apart")
		}
	}
	p.byEndpoint[endpointKey(u)] = s
}

// noteStreamEnd notes the end of a GET without a session id. Over HTTP+SSE that is the end of the
// server's output, unless the client closed the connection.
func (p *Proxy) noteStreamEnd(x *liveExchange, how transcript.How, detail string) {
	p.mu.Lock()
	x.session.listening--
	if x.isStream {
		x.session.streaming = false
	}
	p.mu.Unlock()
	if x.isStream && how != transcript.Dropped && !x.session.stopped.Load() {
		x.session.Add(transcript.Event{Kind: transcript.OutputClosed, Detail: detail})
	}
}

// Transport returns the transport of the session, as far as the recorded exchanges show it. Later
// exchanges may change the result to HTTP+SSE.
func (s *Session) Transport() spec.Transport {
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	if s.over == "" && s.proxy.sse { // the client may have tried Streamable HTTP first
		return spec.SSE
	}
	return cmp.Or(s.over, spec.StreamableHTTP)
}
