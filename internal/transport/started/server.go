package started

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// Server is a server that was started and listened.
type Server struct {
	service *stdio.Service
	url     *url.URL
	ended   chan struct{} // closed when it can't be spoken with any more
	told    chan struct{} // closed when all its links know that
	detail  string        // how it ended, before told is closed
	code    int
	itself  bool // it ended by itself, before told is closed
	cut     bool // and left a POST without its response

	mu       sync.Mutex
	links    map[*link]bool
	stopping bool
}

func newServer(service *stdio.Service, u *url.URL, listening []int) *Server {
	s := &Server{service: service, url: u, ended: make(chan struct{}), told: make(chan struct{}), links: map[*link]bool{}}
	silent, stop := gone(listening)
	go s.watch(silent, stop)
	return s
}

// URL is where it listens.
func (s *Server) URL() *url.URL { return s.url }

// Output returns the end of what it wrote to stdout and stderr.
func (s *Server) Output() string { return output(s.service) }

// endTime is what a server gets to end that seems to be about to.
const endTime = 500 * time.Millisecond

// Ended tells how it ended by itself. It waits a little for that, for it is
// asked when something went wrong.
func (s *Server) Ended() (how string, ended bool) {
	timer := time.NewTimer(endTime)
	defer timer.Stop()
	select {
	case <-s.ended:
		<-s.told
		return s.detail, true
	case <-timer.C:
		return "", false
	}
}

// Alive reports whether it can be spoken with, and is not to end.
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

// Stop ends the server with all that it started.
func (s *Server) Stop() {
	s.mu.Lock()
	s.stopping = true
	select {
	case <-s.ended: // by itself: how, a signal of ours would blur
		s.mu.Unlock()
		<-s.told
	default:
		s.mu.Unlock()
	}
	s.service.Stop(patience)
	<-s.told
}

// outlives is how long a command may outlive those that listened.
const outlives = time.Second

// watch tells the links when the server has ended by itself.
func (s *Server) watch(silent <-chan struct{}, stop func()) {
	defer close(s.told)
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
		forget(links)
		links = nil
	}
	s.mu.Unlock()
	each(links, (*link).hangUp)
	for l := range links {
		s.cut = s.cut || cut(l.record)
	}
	select {
	case <-s.service.Exited():
		s.detail, s.code = s.service.Ending()
	case <-time.After(outlives):
		s.detail, s.code = "the process that listened ended, and the command that had started it did not", -1
		s.service.Stop(patience)
	}
	each(links, (*link).exited)
}

// ending tells how it ended, where it did so by itself; it must have ended.
func (s *Server) ending() (transport.Ending, bool) {
	<-s.told
	return transport.Ending{Detail: s.detail, Output: s.Output(), Cut: s.cut}, s.itself
}

func each(links map[*link]bool, do func(*link)) {
	var all sync.WaitGroup
	for l := range links {
		all.Go(func() { do(l) })
	}
	all.Wait()
}

// forget tells links that they will hear nothing.
func forget(links map[*link]bool) {
	for l := range links {
		close(l.heard)
	}
}

// attach adds a link to those that hear of the end.
func (s *Server) attach(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.links != nil:
		s.links[l] = true
	case s.stopping:
		close(l.heard)
	default: // it has just ended
		go func() {
			l.hangUp()
			<-s.told
			l.exited()
		}()
	}
}

// leave takes a link off those that hear of the end, and waits where it is
// hearing of it.
func (s *Server) leave(l *link) {
	s.mu.Lock()
	if s.links[l] {
		delete(s.links, l)
		close(l.heard)
	}
	hears := s.links == nil
	s.mu.Unlock()
	if hears {
		<-l.heard
	}
}

// link is a link that hears of the end of the server's process.
type link struct {
	transport.Mortal
	record *transcript.Transcript
	server *Server
	heard  chan struct{} // closed when it was told of the end, or never will be
}

// Shutdown implements transport.Link. A connection that broke may be the first
// that is seen of the server's end, of which the link is to hear then.
func (l *link) Shutdown(p transport.Patience) {
	if broke(l.record) {
		l.server.Ended()
	}
	l.server.leave(l)
	l.Mortal.Shutdown(p)
}

// settleTime bounds the wait for exchanges to be over whose server has ended.
const settleTime = 500 * time.Millisecond

// hangUp says that nothing comes any more, behind what still came.
func (l *link) hangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	for pos := 0; underWay(l.record) && ctx.Err() == nil; pos = l.record.Len() {
		_, _ = l.record.Wait(ctx, pos)
	}
	l.ServerEnded("the server's process has ended")
}

// exited records how the process has ended.
func (l *link) exited() {
	defer close(l.heard)
	if said := l.server.Output(); said != "" {
		l.record.Add(transcript.Event{Kind: transcript.Stderr, Raw: []byte(said)})
	}
	l.record.Add(transcript.Event{Kind: transcript.Exited, Detail: l.server.detail, ExitCode: l.server.code})
}

// cut reports whether a POST was left without its response, or in the midst of it.
func cut(record *transcript.Transcript) bool {
	return slices.ContainsFunc(transcript.ExchangesOf(record.From(0)).All(), func(x *transcript.Exchange) bool {
		return x.Method() == http.MethodPost && (x.End == nil || x.Ended() == transcript.Broken)
	})
}

// broke reports whether the last connection of a POST broke, or could not be made.
func broke(record *transcript.Transcript) bool {
	all := transcript.ExchangesOf(record.From(0)).All()
	for _, x := range slices.Backward(all) {
		if x.Method() == http.MethodPost && x.End != nil {
			return x.Ended() == transcript.Broken || x.Ended() == transcript.Unreachable
		}
	}
	return false
}

// underWay reports whether an exchange is.
func underWay(record *transcript.Transcript) bool {
	for _, x := range transcript.ExchangesOf(record.From(0)).All() {
		if x.End == nil {
			return true
		}
	}
	return false
}
