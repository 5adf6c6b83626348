package faults

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// refusePosts responds to the matching POSTs with the given status.
func refusePosts(when func(r *http.Request) bool, status int) *refserver.Seams {
	return onExchange(func(v *exchange) bool { return isPost(v) && when(v.r) }, respondText(status))
}

const (
	muchText = 32_000 // in bytes; exceeds a small read buffer
	longRead = 100 * time.Millisecond
)

func isLong(r *http.Request) bool    { return r.ContentLength > muchText }
func isChunked(r *http.Request) bool { return r.ContentLength < 0 }

// refuseSlowBodies refuses, with the status, bodies that take longer than longRead to arrive.
func refuseSlowBodies(status int) *refserver.Seams {
	return &refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		started := time.Now()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if time.Since(started) > longRead {
			http.Error(w, "Too slow.", status)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	}}
}

// readFirstChunkOnly treats what the first read of a POST's body returns as the whole body.
func readFirstChunkOnly() *refserver.Seams {
	return &refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost {
			piece := make([]byte, 2*muchText)
			n, _ := r.Body.Read(piece)
			r.Body = io.NopCloser(bytes.NewReader(piece[:n]))
		}
		next.ServeHTTP(w, r)
	}}
}

// editLaterRequests edits the bytes that begin a request, except the first request of
// each connection.
func editLaterRequests(alter func(p []byte) (int, error)) *refserver.Seams {
	return editRequestsAfter(func([]byte) bool { return true }, alter)
}

// editRequestsAfter edits the bytes that begin a request on a connection that had a
// matching request.
func editRequestsAfter(matches func(p []byte) bool, alter func(p []byte) (int, error)) *refserver.Seams {
	return &refserver.Seams{Input: func(r io.Reader) io.Reader { return &keepAliveReader{r: r, matches: matches, alter: alter} }}
}

// isRefused reports whether the bytes that begin a request contain a session id that the harness
// made up, which the server refuses.
func isRefused(p []byte) bool { return bytes.Contains(p, []byte(sessionHeader+": mcp-conform-")) }

// A keepAliveReader reads from a connection that may carry several requests.
type keepAliveReader struct {
	r       io.Reader
	matches func(p []byte) bool
	alter   func(p []byte) (int, error)
	begun   bool // the connection had a matching request
}

// Read implements io.Reader.
func (k *keepAliveReader) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if !bytes.Contains(p[:n], []byte(" HTTP/1.1\r\n")) {
		return n, err
	}
	if k.begun {
		return k.alter(p[:n])
	}
	k.begun = k.matches(p[:n])
	return n, err
}

// prependBodyRest overwrites the first two bytes of a request with }}, as if they were the
// unread rest of the previous body.
func prependBodyRest(p []byte) (int, error) {
	copy(p, "}}")
	return len(p), nil
}

// refuseRequest closes the connection instead of reading the request.
func refuseRequest([]byte) (int, error) { return 0, io.EOF }

// hideHeaders makes the server ignore the headers that are spelled exactly like the
// names.
func hideHeaders(names ...string) *refserver.Seams {
	return &refserver.Seams{Input: func(r io.Reader) io.Reader { return &headerHider{r, names} }}
}

// A headerHider renames the headers that are spelled exactly like the names, so that
// the server does not recognize them.
type headerHider struct {
	r     io.Reader
	names []string
}

// Read implements io.Reader.
func (h *headerHider) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	for _, name := range h.names {
		if i := bytes.Index(p[:n], []byte("\n"+name+":")); i >= 0 {
			p[i+1] = 'x'
		}
	}
	return n, err
}

func bodyFaults() []*Fault {
	const typed = "streamable-http.request-content-type/"
	return []*Fault{
		newFault(typed+"long-body", "bodies of more than 32,000 bytes get 400", refusePosts(isLong, http.StatusBadRequest)),
		newFault(typed+"chunks", "chunked bodies get 400", refusePosts(isChunked, http.StatusBadRequest)),
		newFault(typed+"slow-body", "bodies that arrive slowly get 400", refuseSlowBodies(http.StatusBadRequest)),
		newFault(typed+"first-piece", "the server treats the first chunk as the whole body", readFirstChunkOnly()),
		newFault(typed+"lower-case-names", "the server does not recognize a lower-case session header", hideHeaders("mcp-session-id")),
		newFault(typed+"upper-case-names", "the server does not recognize an upper-case Content-Type header", hideHeaders("CONTENT-TYPE")),
		newFault(typed+"kept-connection", "the rest of a refused body is read as the next request of the connection", editRequestsAfter(isRefused, prependBodyRest)),
		newFault(typed+"blanks", "bodies with leading white space get 400", onExchange(func(v *exchange) bool {
			if v.frame == nil {
				return false
			}
			first := make([]byte, 1)
			body, _ := io.ReadAll(v.r.Body)
			v.r.Body = io.NopCloser(bytes.NewReader(body))
			copy(first, body)
			return strings.ContainsAny(string(first), "\r\n\t ")
		}, respondText(http.StatusBadRequest))),
	}
}

// legalBodies returns the legal variations that HTTP permits for bodies and connections, such as
// the status 413 for a long body.
func legalBodies() []*Fault {
	return []*Fault{
		newVariation("http-idle-closed", "the server closes idle connections without notice", editLaterRequests(refuseRequest)),
		newVariation("http-413", "bodies of more than 32,000 bytes get 413", refusePosts(isLong, http.StatusRequestEntityTooLarge)),
		newVariation("http-411", "chunked bodies get 411", refusePosts(isChunked, http.StatusLengthRequired)),
		newVariation("http-408", "bodies that arrive slowly get 408", refuseSlowBodies(http.StatusRequestTimeout)),
	}
}

func hasCharset(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Content-Type"), "charset")
}

// headerSpellingFaults returns the faults that accept headers only in some of their valid
// spellings.
func headerSpellingFaults() []*Fault {
	const both, typed = "streamable-http.accept-both/", "streamable-http.request-content-type/"
	accept := func(when func(values []string) bool) func(r *http.Request) bool {
		return func(r *http.Request) bool {
			values := r.Header.Values("Accept")
			return len(values) > 0 && when(values)
		}
	}
	holds := func(part string) func(r *http.Request) bool {
		return accept(func(values []string) bool { return strings.Contains(strings.Join(values, ","), part) })
	}
	media := func(when func(value string) bool) func(r *http.Request) bool {
		return func(r *http.Request) bool { return when(r.Header.Get("Content-Type")) }
	}
	typeHolds := func(part string) func(r *http.Request) bool {
		return media(func(value string) bool { return strings.Contains(value, part) })
	}
	return []*Fault{
		newFault(both+"order", "the server requires Accept to begin with application/json", refusePosts(accept(func(v []string) bool { return strings.HasPrefix(v[0], streamType) }), http.StatusNotAcceptable)),
		newFault(both+"lines", "the server requires a single Accept line", refusePosts(accept(func(v []string) bool { return len(v) > 1 }), http.StatusNotAcceptable)),
		newFault(both+"close", "the server requires a space after the comma in Accept", refusePosts(accept(func(v []string) bool { return v[0] == jsonType+","+streamType }), http.StatusBadRequest)),
		newFault(both+"capitals", "the server requires lower case in Accept", refusePosts(accept(func(v []string) bool { return v[0] != strings.ToLower(v[0]) }), http.StatusNotAcceptable)),
		newFault(both+"weights", "the server refuses weights in Accept", refusePosts(accept(func(v []string) bool { return strings.Contains(v[0], ";q") && !strings.Contains(v[0], "*") }), http.StatusBadRequest)),
		newFault(both+"three-digits", "the server reads only one digit of weights in Accept", refusePosts(holds("0.875"), http.StatusNotAcceptable)),
		newFault(both+"further", "the server refuses other media types in Accept", refusePosts(holds("text/html, app"), http.StatusNotAcceptable)),
		newFault(both+"quoted", "the server splits Accept at commas within quotes", refusePosts(holds(`"a, b"`), http.StatusBadRequest)),
		newFault(both+"blanks", "the server refuses tabs in Accept", refusePosts(holds("\t"), http.StatusNotAcceptable)),
		newFault(both+"empty", "the server refuses empty elements in Accept", refusePosts(holds(", ,"), http.StatusNotAcceptable)),
		newFault(typed+"charset", "a content type with a charset gets 415", refusePosts(hasCharset, http.StatusUnsupportedMediaType)),
		newFault(typed+"quoted", "a content type with a quoted charset gets 400", refusePosts(typeHolds(`"`), http.StatusBadRequest)),
		newFault(typed+"capitals", "a content type in upper case gets 415", refusePosts(typeHolds("JSON"), http.StatusUnsupportedMediaType)),
		newFault(typed+"blanks-around", "a content type with a space before its semicolon gets 415", refusePosts(typeHolds(" ;"), http.StatusUnsupportedMediaType)),
	}
}

// legalHeaderHandling returns the legal variations in handling the headers of requests.
func legalHeaderHandling() []*Fault {
	lists := func(r *http.Request) bool {
		accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
		return strings.Contains(accept, jsonType) && strings.Contains(accept, streamType)
	}
	return []*Fault{
		newVariation("http-any-refused", "Accept */* alone gets 406", refusePosts(func(r *http.Request) bool { return !lists(r) }, http.StatusNotAcceptable)),
		newVariation("http-accept-ignored", "the server ignores Accept", onExchange(isPost, func(v *exchange) {
			v.r.Header.Set("Accept", jsonType+", "+streamType)
			v.serve()
		})),
		newVariation("http-content-type-ignored", "the server ignores Content-Type", onExchange(isPost, func(v *exchange) {
			v.r.Header.Set("Content-Type", jsonType)
			v.serve()
		})),
		newVariation("http-content-type-400", "a content type that is not JSON gets 400", editStatus(isPost, replaceStatus(http.StatusUnsupportedMediaType, http.StatusBadRequest))),
		newVariation("http-no-pages", "every Origin gets 403, even the server's own", onExchange(func(v *exchange) bool { return v.r.Header.Get("Origin") != "" }, respondText(http.StatusForbidden))),
		newVariation("http-local-pages", "the server accepts origins on any port of this machine", onExchange(func(v *exchange) bool {
			u, err := url.Parse(v.r.Header.Get("Origin"))
			return err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
		}, func(v *exchange) {
			v.r.Header.Del("Origin")
			v.serve()
		})),
		newVariation("http-pages-of-its-own", "the server accepts its own Origin, with CORS headers", onExchange(func(v *exchange) bool { return v.r.Header.Get("Origin") == "http://"+v.r.Host }, func(v *exchange) {
			v.w.Header().Set("Access-Control-Allow-Origin", v.r.Header.Get("Origin"))
			v.serve()
		})),
		newVariation("http-host-421", "a request for another Host gets 421", onExchange(func(v *exchange) bool { return strings.Contains(v.r.Host, "evil") }, respondText(http.StatusMisdirectedRequest))),
		newVariation("http-session-unknown-400", "an unknown session id gets 400", setUnknownSessionStatus(http.StatusBadRequest)),
		newVariation("http-get-of-sse", "a GET without a session id opens a stream of HTTP+SSE", openStreamWithoutSession("event: endpoint\ndata: /messages?client=1\n\n")),
		newVariation("http-last-event-ignored", "the server ignores Last-Event-ID and opens a new stream", onExchange(isResume, func(v *exchange) {
			v.r.Header.Del(eventHeader)
			v.serve()
		})).inRevisions(spec.V20250326, spec.V20250618),
	}
}

// setUnknownSessionStatus responds with the given status, instead of 404, to session ids that the
// harness made up.
func setUnknownSessionStatus(status int) *refserver.Seams {
	m := &sessionList{}
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		id := v.r.Header.Get(sessionHeader)
		never := id != "" && strings.HasPrefix(id, "mcp-conform-")
		m.track(v, r)
		inner := r.editHead
		r.editHead = func(old int, h http.Header, first []byte) int {
			if never && old == http.StatusNotFound {
				old = status
			}
			return inner(old, h, first)
		}
	})
}
