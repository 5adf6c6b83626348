// Package gateway compares a client's view of the reference server through a gateway with its view
// without one. It reports changes, not violations, because a gateway may change some things.
package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const (
	// holdPrefix begins the argument text of a call of the tool echo that the upstream holds open
	// until the call is released.
	holdPrefix = "mcp-conform/hold/"
	// longestHold bounds how long the upstream holds a call.
	longestHold = 30 * time.Second
	// mostArrivals bounds the number of messages and of POSTs that are kept. Frames and bodies
	// above largestArrival bytes are not kept.
	mostArrivals   = 2000
	largestArrival = 64 << 10
)

// An Upstream is the reference server behind a gateway. It keeps the messages that arrive, and
// holds calls open for probes.
type Upstream struct {
	// URL is the upstream's Streamable HTTP endpoint, for a gateway that takes a URL.
	URL *url.URL
	// Addr is the upstream's TCP address, for gateways that take a command. The command connects to
	// it, and forwards its stdin and stdout.
	Addr string

	ctx    context.Context //nolint:containedctx // of all sessions
	cancel context.CancelFunc
	http   *refserver.HTTPServer
	lines  net.Listener
	names  map[string]map[string]bool // the names of its tools and prompts by list, see nameLists; set before probes run

	mu       sync.Mutex
	count    int // of all messages that arrived, including those that are not kept
	arrivals []arrival
	headers  []post
	holds    map[string]*hold
}

// An arrival is a message that reached the upstream.
type arrival struct {
	session *refserver.Session
	message wire.Message
}

// A post is the headers and the body of a POST.
type post struct {
	header http.Header
	body   string
}

// A hold is a call to which the upstream does not respond until the call is released.
type hold struct {
	number                       int // the progress in the progress notification of the call; differs for each call
	arrived, release, cancelled  chan struct{}
	arriving, ending, cancelling sync.Once
}

// Listen starts an upstream that serves HTTP at the address, and stdio sessions at a free TCP port
// of this machine.
func Listen(ctx context.Context, address string) (*Upstream, error) {
	u := &Upstream{holds: map[string]*hold{}}
	u.ctx, u.cancel = context.WithCancel(ctx)
	var err error
	if u.http, err = refserver.Listen(u.ctx, address, spec.StreamableHTTP, u.options()); err != nil {
		u.cancel()
		return nil, err
	}
	if u.lines, err = (&net.ListenConfig{}).Listen(u.ctx, "tcp", "127.0.0.1:0"); err != nil {
		u.Close()
		return nil, err
	}
	u.URL, u.Addr = u.http.URL, u.lines.Addr().String()
	go u.accept()
	return u, nil
}

// accept serves a stdio session on each connection.
func (u *Upstream) accept() {
	for {
		c, err := u.lines.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			stop := context.AfterFunc(u.ctx, func() { _ = c.Close() })
			defer stop()
			refserver.ServeStdio(u.ctx, c, c, io.Discard, nil, u.options())
		}()
	}
}

// Close ends the upstream and its sessions.
func (u *Upstream) Close() {
	u.cancel()
	if u.lines != nil {
		_ = u.lines.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), time.Second)
	defer cancel()
	u.http.Shutdown(ctx)
}

// CountArrived returns the number of messages that reached the upstream.
func (u *Upstream) CountArrived() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count
}

func (u *Upstream) options() refserver.Options {
	return refserver.Options{Seams: refserver.Seams{
		Incoming: func(s *refserver.Session, raw []byte) refserver.FrameAction {
			u.keepMessages(s, raw)
			return refserver.Pass(raw)
		},
		HTTP: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				r.Body = u.keepPost(r)
			}
			next.ServeHTTP(w, r)
		},
		Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			if text, _ := wire.Text(wire.At(c.Params, "/arguments/text")); strings.HasPrefix(text, holdPrefix) {
				return u.serveHeld(c, strings.TrimPrefix(text, holdPrefix))
			}
			return next(c)
		},
	}}
}

// keepMessages counts the messages of a frame, and keeps them unless the frame is too large.
func (u *Upstream) keepMessages(s *refserver.Session, raw []byte) {
	messages := wire.Parse(raw).Messages
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count += len(messages)
	if len(raw) > largestArrival {
		return
	}
	for _, m := range messages {
		u.arrivals = append(dropOlder(u.arrivals), arrival{s, m})
	}
}

// dropOlder drops the older half of the elements if there are mostArrivals of them.
func dropOlder[T any](all []T) []T {
	if len(all) < mostArrivals {
		return all
	}
	return append([]T(nil), all[len(all)/2:]...)
}

// keepPost keeps a POST unless its body is too large, and returns the body, which can still be
// read from the beginning.
func (u *Upstream) keepPost(r *http.Request) io.ReadCloser {
	begin, err := io.ReadAll(io.LimitReader(r.Body, largestArrival))
	rest := io.MultiReader(strings.NewReader(string(begin)), r.Body)
	if err == nil && len(begin) < largestArrival {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.headers = append(dropOlder(u.headers), post{r.Header.Clone(), string(begin)})
	}
	return struct {
		io.Reader
		io.Closer
	}{rest, r.Body}
}

// serveHeld reports progress, holds the call until it is released or cancelled or longestHold has
// passed, and responds with the mark, a text in the arguments that identifies the call.
func (u *Upstream) serveHeld(c *refserver.Call, mark string) (any, *refserver.Error) {
	h := u.findOrAddHold(mark)
	if token := wire.At(c.Params, "/_meta/progressToken"); token != nil {
		c.Notify(spec.MethodProgress, map[string]any{"progressToken": token, "progress": h.number})
	}
	h.arriving.Do(func() { close(h.arrived) })
	timer := time.NewTimer(longestHold)
	defer timer.Stop()
	select {
	case <-h.release:
	case <-timer.C:
	case <-c.Context().Done():
		h.cancelling.Do(func() { close(h.cancelled) })
	}
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": mark}}}, nil
}

// findOrAddHold returns the hold of the calls whose arguments have the mark, and creates it if
// there is none yet.
func (u *Upstream) findOrAddHold(mark string) *hold {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.holds[mark]
	if h == nil {
		h = &hold{number: len(u.holds) + 1, arrived: make(chan struct{}), release: make(chan struct{}), cancelled: make(chan struct{})}
		u.holds[mark] = h
	}
	return h
}

// isCancelled reports whether the call was cancelled while it was held.
func (h *hold) isCancelled() bool {
	select {
	case <-h.cancelled:
		return true
	default:
		return false
	}
}

// releaseCall lets the upstream respond to the call. Further calls of releaseCall have no effect.
func (h *hold) releaseCall() { h.ending.Do(func() { close(h.release) }) }

// arrivalsWhere returns the kept messages for which match is true.
func (u *Upstream) arrivalsWhere(match func(*arrival) bool) []arrival {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []arrival
	for i := range u.arrivals {
		if match(&u.arrivals[i]) {
			out = append(out, u.arrivals[i])
		}
	}
	return out
}

// requestWithMark returns the first kept request whose params contain the mark, or an error if
// there is none.
func (u *Upstream) requestWithMark(mark string) (arrival, error) {
	found := u.arrivalsWhere(func(a *arrival) bool {
		return a.message.Kind == wire.Request && strings.Contains(string(a.message.Params()), mark)
	})
	if len(found) == 0 {
		return arrival{}, fmt.Errorf("the request did not reach the upstream")
	}
	return found[0], nil
}

// headersOf returns the headers of the first kept POST whose body contains the mark, or nil.
func (u *Upstream) headersOf(mark string) http.Header {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range u.headers {
		if strings.Contains(p.body, mark) {
			return p.header
		}
	}
	return nil
}

// ownName returns the upstream's name of an entry. The argument offered is the name under which the
// gateway offers the entry. ownName recognizes names to which the gateway added a prefix or suffix,
// and returns any other name unchanged.
func (u *Upstream) ownName(list, offered string) string {
	if u.names[list][offered] {
		return offered
	}
	name := offered
	for own := range u.names[list] {
		if isAffixed(offered, own) && (name == offered || len(own) > len(name)) {
			name = own
		}
	}
	return name
}
