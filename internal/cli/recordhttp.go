package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/record"
	"github.com/mcp-conform/mcp-conform/internal/target"
)

// recordHTTP records sessions over Streamable HTTP or HTTP+SSE until a signal arrives or the proxy
// fails.
func (a *app) recordHTTP(f *recordFlags, t *target.Target) error {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usagef("give http:// or https:// with a host, as in http://localhost:3000/mcp", "%s can't be the URL of the server", t.Display())
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return usagef("give HOST:PORT, as in 127.0.0.1:8080; port 0 takes any", "invalid --listen %q", f.listen)
	}
	address := f.listen
	if host == "" { // net.Listen would take all interfaces
		host, address = "127.0.0.1", "127.0.0.1"+f.listen
	}
	if _, err := sessionFile(f.file, ""); err != nil {
		return usagef("name a folder that can be written with --transcript", "the sessions can't be recorded: %v", err)
	}
	l, err := new(net.ListenConfig).Listen(a.ctx, "tcp", address)
	if err != nil {
		return usagef("give a free HOST:PORT; port 0 takes any", "can't listen at %s: %v", address, err)
	}
	signals, stop := a.interrupts()
	defer stop()
	rec := a.sessionRecorder(t.Display())
	proxy := record.NewProxy(u, host, rec.printOnce)
	own := url.URL{Scheme: "http", Host: l.Addr().String(), Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	fmt.Fprintf(a.Err, "mcp-conform: recording %s, which passes requests on to %s; stop with Ctrl-C\n", a.redactAndEscape(own.String()), a.redactAndEscape(u.Redacted()))

	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	failed, done := make(chan error, 1), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { failed <- proxy.Serve(ctx, l) })
	update := func() { rec.addSessions(proxy, f.file) }
	running.Go(func() { rec.follow(done, update) })
	select {
	case <-signals:
	case err = <-failed:
		err = harnessError{err}
	}
	cancel()
	close(done)
	running.Wait()
	if err != nil {
		return err
	}
	update()
	return rec.end()
}

// addSessions adds the sessions that the proxy has opened since the last call, and creates their
// files in the folder dir.
func (r *sessionRecorder) addSessions(p *record.Proxy, dir string) {
	for _, s := range p.Sessions()[r.seen:] {
		r.seen++
		path, err := sessionFile(dir, fmt.Sprintf("-%d", r.seen))
		if err == nil {
			err = r.create(&recordedSession{rec: s.Transcript, transport: s.Transport, path: path})
		}
		if err != nil {
			r.printOnce(fmt.Sprintf("a session can't be recorded: %s", strings.TrimSpace(err.Error())))
		}
	}
}
