package started

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// Server is a server that was started and listened.
type Server struct {
	service *stdio.Service
	url     *url.URL
	told    chan struct{} // closed when its end was told to its links

	mu       sync.Mutex
	links    map[*link]bool
	stopping bool
}

func newServer(service *stdio.Service, u *url.URL) *Server {
	s := &Server{service: service, url: u, told: make(chan struct{}), links: map[*link]bool{}}
	go s.watch()
	return s
}

// URL is where it listens.
func (s *Server) URL() *url.URL { return s.url }

// Output returns the end of what it wrote to stdout and stderr.
func (s *Server) Output() string { return output(s.service) }

// Alive tells whether its process lives and is not to end.
func (s *Server) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.service.Exited():
		return false
	default:
		return !s.stopping
	}
}

// Stop ends the server with all that it started.
func (s *Server) Stop() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.service.Stop(patience)
	<-s.told
}

// watch tells the links when the process has ended by itself.
func (s *Server) watch() {
	defer close(s.told)
	<-s.service.Exited()
	s.mu.Lock()
	links := s.links
	s.links = nil
	if s.stopping {
		links = nil
	}
	s.mu.Unlock()
	detail, code := s.service.Ending()
	var tell sync.WaitGroup
	for l := range links {
		tell.Go(func() { l.serverEnded(detail, code, output(s.service)) })
	}
	tell.Wait()
}

// Dialer opens links to one server, which it starts with the first of them,
// and again where it has ended.
type Dialer struct {
	starter   *Starter
	transport spec.Transport
	over      func(*url.URL) transport.Dialer
	shared    *Dialer // whose server has to end before ours can start; nil for none

	mu     sync.Mutex
	server *Server
}

// Dialer returns a dialer that speaks with the servers by the dialers that over
// returns, for the transport. The first server may be started already, or nil.
func (s *Starter) Dialer(first *Server, t spec.Transport, over func(*url.URL) transport.Dialer) *Dialer {
	return &Dialer{starter: s, transport: t, over: over, server: first}
}

// Transport implements transport.Dialer.
func (d *Dialer) Transport() spec.Transport { return d.transport }

// Single implements transport.Sharer: on a port that is fixed one server can
// listen.
func (d *Dialer) Single() bool { return !d.starter.o.Ported }

// Fresh implements transport.Sharer.
func (d *Dialer) Fresh() (fresh transport.Dialer, stop func()) {
	f := &Dialer{starter: d.starter, transport: d.transport, over: d.over}
	if d.Single() {
		f.shared = d
	}
	return f, f.Close
}

// Close ends the server; another link starts it again.
func (d *Dialer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

func (d *Dialer) end() {
	if d.server != nil {
		d.server.Stop()
		d.server = nil
	}
}

// Dial implements transport.Dialer.
func (d *Dialer) Dial(ctx context.Context, rec *transcript.Transcript) (transport.Link, error) {
	server, err := d.alive(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := d.over(server.url).Dial(ctx, rec)
	if err != nil {
		return nil, err
	}
	l := &link{Mortal: inner.(transport.Mortal), record: rec, server: server}
	server.attach(l)
	return l, nil
}

// alive returns the server, started anew where there is none.
func (d *Dialer) alive(ctx context.Context) (*Server, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil && d.server.Alive() {
		return d.server, nil
	}
	d.end()
	if d.shared != nil {
		d.shared.Close()
	}
	server, err := d.starter.Start(ctx)
	if err != nil {
		return nil, err
	}
	d.server = server
	return server, nil
}

// link is a link that hears of the end of the server's process.
type link struct {
	transport.Mortal
	record *transcript.Transcript
	server *Server
}

func (s *Server) attach(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links != nil {
		s.links[l] = true
	}
}

// leave takes a link off those that hear of the end, and waits where they are
// hearing of it.
func (s *Server) leave(l *link) {
	s.mu.Lock()
	waits := s.links == nil && !s.stopping
	delete(s.links, l)
	s.mu.Unlock()
	if waits {
		<-s.told
	}
}

// Shutdown implements transport.Link.
func (l *link) Shutdown(p transport.Patience) {
	l.server.leave(l)
	l.Mortal.Shutdown(p)
}

// settleTime bounds the wait for exchanges to be over whose server has ended.
const settleTime = 500 * time.Millisecond

// serverEnded records that the process has ended, behind what still came.
func (l *link) serverEnded(detail string, code int, said string) {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	for pos := 0; under(l.record) && ctx.Err() == nil; pos = l.record.Len() {
		_, _ = l.record.Wait(ctx, pos)
	}
	if said != "" {
		l.record.Add(transcript.Event{Kind: transcript.Stderr, Raw: []byte(said)})
	}
	l.ServerEnded("the server's process has ended")
	l.record.Add(transcript.Event{Kind: transcript.Exited, Detail: detail, ExitCode: code})
}

// under tells whether an exchange is under way.
func under(record *transcript.Transcript) bool {
	for _, x := range transcript.ExchangesOf(record.From(0)).All() {
		if x.End == nil {
			return true
		}
	}
	return false
}
