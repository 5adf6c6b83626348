package started

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Server is a started server that has begun to listen.
type Server struct {
	service  *stdio.Service
	url      *url.URL
	ended    chan struct{} // closed when the server can no longer be reached
	notified chan struct{} // closed when all its links have been notified
	detail   string        // how it exited; set before notified is closed
	code     int
	itself   bool // it exited without being stopped; set before notified is closed
	cut      bool // when it exited, it left a POST without a complete response

	mu       sync.Mutex
	links    map[*link]bool
	cutShort []*transcript.Transcript // the records of the links that are notified of its exit
	stopping bool
}

func newServer(service *stdio.Service, u *url.URL, listening []int) *Server {
	s := &Server{service: service, url: u, ended: make(chan struct{}), notified: make(chan struct{}), links: map[*link]bool{}}
	silent, stop := watchExits(listening)
	go s.watch(silent, stop)
	return s
}

// URL returns the URL at which the server listens.
func (s *Server) URL() *url.URL { return s.url }

// Output returns the end of what the server wrote to stdout and stderr.
func (s *Server) Output() string { return shownOutput(s.service) }

// endTime and refusedTime limit how long HowEnded waits for a server to exit: endTime in any case,
// and refusedTime in addition if the server's address refuses connections.
const (
	endTime     = 500 * time.Millisecond
	refusedTime = 2 * time.Second
)

// HowEnded reports whether the server has ended, and how. Callers use it after an error, when the
// server may be about to exit. It therefore waits for the exit, up to the limits above.
func (s *Server) HowEnded() (how string, ended bool) {
	if !s.awaitEnd(endTime) && (s.acceptsConnections() || !s.awaitEnd(refusedTime)) {
		return "", false
	}
	<-s.notified
	return s.detail, true
}

func (s *Server) awaitEnd(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.ended:
		return true
	case <-timer.C:
		return false
	}
}

// acceptsConnections returns false only if the server's address refuses connections. It returns
// true if the attempt to connect succeeds, or fails in any other way.
func (s *Server) acceptsConnections() bool {
	conn, err := net.DialTimeout("tcp", address(s.url), endTime)
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = conn.Close() // nothing was sent
	return true
}

// Alive reports whether the server can be reached and is not being stopped.
func (s *Server) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return false
	default:
		return !s.stopping
	}
}

// Stop ends the server with all processes that it started.
func (s *Server) Stop() {
	s.mu.Lock()
	s.stopping = true
	select {
	case <-s.ended: // it exited by itself; a signal now would change the reported exit status
		s.mu.Unlock()
		<-s.notified
	default:
		s.mu.Unlock()
	}
	s.service.Stop(patience)
	<-s.notified
}

// outlives is how long the command may keep running after its listening processes have exited.
const outlives = time.Second

// watch waits until the service exits or the channel silent is closed, which means that no process
// listens any more. Then it notifies the links, unless the server is being stopped. It calls stop
// when it no longer needs silent.
func (s *Server) watch(silent <-chan struct{}, stop func()) {
	defer close(s.notified)
	defer stop()
	select {
	case <-silent:
	case <-s.service.Exited():
	}
	s.mu.Lock()
	links := s.links
	s.links = nil
	close(s.ended)
	s.itself = !s.stopping
	if s.stopping {
		releaseLinks(links)
		links = nil
	}
	for l := range links {
		s.cutShort = append(s.cutShort, l.record)
	}
	s.mu.Unlock()
	forEachLink(links, (*link).endAfterExchanges)
	for l := range links {
		s.cut = s.cut || hasIncompletePost(l.record)
	}
	select {
	case <-s.service.Exited():
		s.detail, s.code = s.service.Ending()
	case <-time.After(outlives):
		s.detail, s.code = "the process that listened exited, but the command that started it did not", -1
		s.service.Stop(patience)
	}
	forEachLink(links, (*link).recordExit)
}

// awaitEnding waits until the server has ended, and returns how. The second result reports whether
// the server ended without being stopped.
func (s *Server) awaitEnding() (transport.Ending, bool) {
	<-s.notified
	s.mu.Lock()
	defer s.mu.Unlock()
	return transport.Ending{Detail: s.detail, Output: s.Output(), Cut: s.cut, Records: slices.Clone(s.cutShort)}, s.itself
}

func forEachLink(links map[*link]bool, do func(*link)) {
	var all sync.WaitGroup
	for l := range links {
		all.Go(func() { do(l) })
	}
	all.Wait()
}

// releaseLinks releases links that will not be notified of the server's end.
func releaseLinks(links map[*link]bool) {
	for l := range links {
		close(l.notified)
	}
}

// attach adds a link to those that are notified of the server's end.
func (s *Server) attach(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.links != nil:
		s.links[l] = true
	case s.stopping:
		close(l.notified)
	default: // the server has just ended
		s.cutShort = append(s.cutShort, l.record)
		go func() {
			l.endAfterExchanges()
			<-s.notified
			l.recordExit()
		}()
	}
}

// removeLink removes a link from those that are notified of the server's end; if the
// notification is under way, it waits for that.
func (s *Server) removeLink(l *link) {
	s.mu.Lock()
	if s.links[l] {
		delete(s.links, l)
		close(l.notified)
	}
	isUnderWay := s.links == nil
	s.mu.Unlock()
	if isUnderWay {
		<-l.notified
	}
}

// A link is an HTTP link that is notified when the server's process ends.
type link struct {
	transport.ExitNotifiable
	record   *transcript.Transcript
	server   *Server
	notified chan struct{} // closed after the notification, or when there will be none
}

// CloseResponse implements transport.Canceller.
func (l *link) CloseResponse(id wire.ID, reason string) bool {
	inner, ok := l.ExitNotifiable.(transport.Canceller)
	return ok && inner.CloseResponse(id, reason)
}

// Shutdown implements transport.Link. A broken connection may be the first sign that the server has
// ended. If the last POST broke, Shutdown therefore first waits for the notification that the
// server has ended.
func (l *link) Shutdown(p transport.Patience) {
	if lastPostBroke(l.record) {
		l.server.HowEnded()
	}
	l.server.removeLink(l)
	l.ExitNotifiable.Shutdown(p)
}

// settleTime bounds the wait for the open exchanges of a server that has ended.
const settleTime = 500 * time.Millisecond

// endAfterExchanges waits until the open exchanges are over, at most settleTime, and then
// records that nothing more can arrive.
func (l *link) endAfterExchanges() {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	for pos := 0; hasOpenExchange(l.record) && ctx.Err() == nil; pos = l.record.Len() {
		_, _ = l.record.Wait(ctx, pos)
	}
	l.NotifyExit("the server's process has ended")
}

// recordExit records how the process exited.
func (l *link) recordExit() {
	defer close(l.notified)
	if said := l.server.Output(); said != "" {
		l.record.Add(transcript.Event{Kind: transcript.Stderr, Raw: []byte(said)})
	}
	l.record.Add(transcript.Event{Kind: transcript.Exited, Detail: l.server.detail, ExitCode: l.server.code})
}

// hasIncompletePost reports whether a POST was left without a complete response.
func hasIncompletePost(record *transcript.Transcript) bool {
	return slices.ContainsFunc(transcript.ExchangesOf(record.From(0)).All(), func(x *transcript.Exchange) bool {
		return x.Method() == http.MethodPost && (x.End == nil || x.HowEnded() == transcript.Broken)
	})
}

// lastPostBroke reports whether the connection of the last finished POST broke or could
// not be made.
func lastPostBroke(record *transcript.Transcript) bool {
	all := transcript.ExchangesOf(record.From(0)).All()
	for _, x := range slices.Backward(all) {
		if x.Method() == http.MethodPost && x.End != nil {
			return x.HowEnded() == transcript.Broken || x.HowEnded() == transcript.Unreachable
		}
	}
	return false
}

// hasOpenExchange reports whether any exchange is not over yet.
func hasOpenExchange(record *transcript.Transcript) bool {
	for _, x := range transcript.ExchangesOf(record.From(0)).All() {
		if x.End == nil {
			return true
		}
	}
	return false
}
