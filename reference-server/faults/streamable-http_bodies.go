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

// turnsAway refuses some of what is posted by a status.
func turnsAway(when func(r *http.Request) bool, status int) refserver.Seams {
	return visits(func(v *visit) bool { return posts(v) && when(v.r) }, says(status))
}

const (
	muchText = 32_000 // bytes that a server with a small buffer does not take
	longRead = 100 * time.Millisecond
)

func isLong(r *http.Request) bool    { return r.ContentLength > muchText }
func isChunked(r *http.Request) bool { return r.ContentLength < 0 }

// slowRefused refuses bodies that take some time to come.
func slowRefused(status int) refserver.Seams {
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
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

// firstPiece takes the first chunk of a body for all of it.
func firstPiece() refserver.Seams {
	return refserver.Seams{HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost {
			piece := make([]byte, 2*muchText)
			n, _ := r.Body.Read(piece)
			r.Body = io.NopCloser(bytes.NewReader(piece[:n]))
		}
		next.ServeHTTP(w, r)
	}}
}

// nextRequests alters what is read of all requests on a connection but the first.
func nextRequests(alter func(p []byte) (int, error)) refserver.Seams {
	return refserver.Seams{Input: func(r io.Reader) io.Reader { return &kept{r: r, alter: alter} }}
}

// kept is a connection that may carry several requests.
type kept struct {
	r     io.Reader
	alter func(p []byte) (int, error)
	begun bool
}

// Read implements io.Reader.
func (k *kept) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if !bytes.Contains(p[:n], []byte(" HTTP/1.1\r\n")) {
		return n, err
	}
	if k.begun {
		return k.alter(p[:n])
	}
	k.begun = true
	return n, err
}

// behindABody takes a request as if the body of the last one had not been read
// to its end.
func behindABody(p []byte) (int, error) {
	copy(p, "}}")
	return len(p), nil
}

// closed takes no request.
func closed([]byte) (int, error) { return 0, io.EOF }

// unread hides headers that are written in a certain way.
func unread(names ...string) refserver.Seams {
	return refserver.Seams{Input: func(r io.Reader) io.Reader { return &hiding{r, names} }}
}

// hiding spoils names of headers where they are written as listed.
type hiding struct {
	r     io.Reader
	names []string
}

// Read implements io.Reader.
func (h *hiding) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	for _, name := range h.names {
		if i := bytes.Index(p[:n], []byte("\n"+name+":")); i >= 0 {
			p[i+1] = 'x'
		}
	}
	return n, err
}

func bodyFaults() []Fault {
	const typed = "streamable-http.request-content-type/"
	return []Fault{
		breaks(typed+"long-body", "bodies of some length get 400", turnsAway(isLong, http.StatusBadRequest)),
		breaks(typed+"chunks", "bodies in chunks get 400", turnsAway(isChunked, http.StatusBadRequest)),
		breaks(typed+"slow-body", "bodies that come slowly get 400", slowRefused(http.StatusBadRequest)),
		breaks(typed+"first-piece", "the first chunk of a body is taken for all of it", firstPiece()),
		breaks(typed+"lower-case-names", "a session header whose name is in lower case is not found", unread("mcp-session-id")),
		breaks(typed+"upper-case-names", "a content type whose name is in upper case is not found", unread("CONTENT-TYPE")),
		breaks(typed+"kept-connection", "what is left of a body is taken for the next request on the connection", nextRequests(behindABody)),
		breaks(typed+"blanks", "bodies that begin with blank space get 400", visits(func(v *visit) bool {
			if v.frame == nil {
				return false
			}
			first := make([]byte, 1)
			body, _ := io.ReadAll(v.r.Body)
			v.r.Body = io.NopCloser(bytes.NewReader(body))
			copy(first, body)
			return strings.ContainsAny(string(first), "\r\n\t ")
		}, says(http.StatusBadRequest))),
	}
}

// legalBodies are the refusals that HTTP itself has for bodies.
func legalBodies() []Fault {
	return []Fault{
		legal("http-idle-closed", "connections are closed without a word once a response is over", nextRequests(closed)),
		legal("http-413", "bodies of some length get 413", turnsAway(isLong, http.StatusRequestEntityTooLarge)),
		legal("http-411", "bodies in chunks get 411", turnsAway(isChunked, http.StatusLengthRequired)),
		legal("http-408", "bodies that come slowly get 408", slowRefused(http.StatusRequestTimeout)),
	}
}

func hasCharset(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Content-Type"), "charset")
}

// spellingFaults understand headers in some of their spellings only.
func spellingFaults() []Fault {
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
	return []Fault{
		breaks(both+"order", "Accept must begin with application/json", turnsAway(accept(func(v []string) bool { return strings.HasPrefix(v[0], streamType) }), http.StatusNotAcceptable)),
		breaks(both+"lines", "Accept must be one line", turnsAway(accept(func(v []string) bool { return len(v) > 1 }), http.StatusNotAcceptable)),
		breaks(both+"close", "Accept must have a space behind its comma", turnsAway(accept(func(v []string) bool { return v[0] == jsonType+","+streamType }), http.StatusBadRequest)),
		breaks(both+"capitals", "Accept must be in small letters", turnsAway(accept(func(v []string) bool { return v[0] != strings.ToLower(v[0]) }), http.StatusNotAcceptable)),
		breaks(both+"weights", "Accept must have no weights", turnsAway(accept(func(v []string) bool { return strings.Contains(v[0], ";q") && !strings.Contains(v[0], "*") }), http.StatusBadRequest)),
		breaks(both+"three-digits", "weights have one digit", turnsAway(holds("0.875"), http.StatusNotAcceptable)),
		breaks(both+"further", "Accept must have no other types", turnsAway(holds("text/html, app"), http.StatusNotAcceptable)),
		breaks(both+"quoted", "a comma within quotes parts two types", turnsAway(holds(`"a, b"`), http.StatusBadRequest)),
		breaks(both+"blanks", "Accept must have no tabs", turnsAway(holds("\t"), http.StatusNotAcceptable)),
		breaks(both+"empty", "Accept must have no empty elements", turnsAway(holds(", ,"), http.StatusNotAcceptable)),
		breaks(typed+"charset", "a content type with a charset gets 415", turnsAway(hasCharset, http.StatusUnsupportedMediaType)),
		breaks(typed+"quoted", "a content type with a quoted charset gets 400", turnsAway(typeHolds(`"`), http.StatusBadRequest)),
		breaks(typed+"capitals", "a content type in capitals gets 415", turnsAway(typeHolds("JSON"), http.StatusUnsupportedMediaType)),
		breaks(typed+"blanks-around", "a content type with a blank ahead of its semicolon gets 415", turnsAway(typeHolds(" ;"), http.StatusUnsupportedMediaType)),
	}
}

// legalSpellings are what a server may do about headers that no client of the
// protocol has to send.
func legalSpellings() []Fault {
	lists := func(r *http.Request) bool {
		accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
		return strings.Contains(accept, jsonType) && strings.Contains(accept, streamType)
	}
	return []Fault{
		legal("http-any-refused", "what accepts anything, and lists neither type, gets 406", turnsAway(func(r *http.Request) bool { return !lists(r) }, http.StatusNotAcceptable)),
		legal("http-accept-ignored", "Accept means nothing", visits(posts, func(v *visit) {
			v.r.Header.Set("Accept", jsonType+", "+streamType)
			v.serve()
		})),
		legal("http-content-type-ignored", "Content-Type means nothing", visits(posts, func(v *visit) {
			v.r.Header.Set("Content-Type", jsonType)
			v.serve()
		})),
		legal("http-content-type-400", "a content type that is not JSON gets 400", restatus(posts, instead(http.StatusUnsupportedMediaType, http.StatusBadRequest))),
		legal("http-no-pages", "no page is served, not even one of the server's own", visits(func(v *visit) bool { return v.r.Header.Get("Origin") != "" }, says(http.StatusForbidden))),
		legal("http-local-pages", "pages on any port of this machine are served", visits(func(v *visit) bool {
			u, err := url.Parse(v.r.Header.Get("Origin"))
			return err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
		}, func(v *visit) {
			v.r.Header.Del("Origin")
			v.serve()
		})),
		legal("http-pages-of-its-own", "pages of the server's own are served, and told so", visits(func(v *visit) bool { return v.r.Header.Get("Origin") == "http://"+v.r.Host }, func(v *visit) {
			v.w.Header().Set("Access-Control-Allow-Origin", v.r.Header.Get("Origin"))
			v.serve()
		})),
		legal("http-host-421", "a request for another host gets 421", visits(func(v *visit) bool { return strings.Contains(v.r.Host, "evil") }, says(http.StatusMisdirectedRequest))),
		legal("http-session-unknown-400", "a session id that was never given gets 400", unknownSession(http.StatusBadRequest)),
		legal("http-last-event-ignored", "Last-Event-ID means nothing: a GET opens the stream anew", visits(resumes, func(v *visit) {
			v.r.Header.Del(eventHeader)
			v.serve()
		})).in(spec.V20250326, spec.V20250618),
	}
}

// unknownSession refuses ids that were never given by a status of its own.
func unknownSession(status int) refserver.Seams {
	m := &members{}
	return alters(anyVisit, func(v *visit, r *reply) {
		id := v.r.Header.Get(sessionHeader)
		never := id != "" && strings.HasPrefix(id, "mcp-conform-")
		m.joins(v, r)
		inner := r.head
		r.head = func(old int, h http.Header, first []byte) int {
			if never && old == http.StatusNotFound {
				old = status
			}
			return inner(old, h, first)
		}
	})
}
