package cli

import (
	"cmp"
	"net/url"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/sdk"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/upstream"
)

// An openedServer is the server that flags name, as far as it could be opened.
type openedServer struct {
	remoteServer
	options engine.Options
	notices []string         // say which configuration, logins and transport are used
	name    string           // the server's name in reports; "" until it is known
	over    spec.Transport   // the transport; for a URL, a guess until dialTarget detects it; "" until the target is known
	sdk     func() *sdk.Used // recognises the SDK that the server is built with
	stop    func()           // ends the server that open started; nil if there is none
}

// A remoteServer is a server that is reached by a URL, with the services that were started for it.
type remoteServer struct {
	flags      *remoteFlags
	waiting    func(string)                      // shows what the program waits for
	pacer      *exchange.Pacer                   // paces all requests to the server
	issuer     *issuer.Issuer                    // the authorization server of --auth-server; nil without it
	upstream   *upstream.Double                  // nil without --upstream-env
	reached    transport.Access                  // how to reach the server; the zero value before that is known
	accessTo   func(u *url.URL) transport.Access // like reached, for the server at a URL
	authorized bool                              // there is a token of the user
}

// open determines how to reach the server that the flags name, and starts it if it has a URL and a
// command. waiting shows what the program waits for; if it is nil, open prints that on stderr.
// After an error, the result contains what had been opened before. The caller must close the result
// in any case.
func (a *app) open(f *serverFlags, waiting func(string)) (*openedServer, error) {
	if waiting == nil {
		waiting = a.waitingPrinter()
	}
	s := &openedServer{remoteServer: remoteServer{flags: &f.remote, waiting: waiting, pacer: exchange.NewPacer()}}
	s.pacer.Say, a.pacer = waiting, s.pacer
	s.options = engine.Options{Timeout: f.timeout, StartTimeout: f.start, Policy: f.configured.calls, Version: version()}
	if err := requirePositive(map[string]time.Duration{"timeout": f.timeout, "start-timeout": f.start}); err != nil {
		return s, err
	}
	t, err := a.resolve(f)
	if err != nil {
		return s, err
	}
	o := &s.options
	if o.FirstStart = f.start; !f.startGiven && t.MayDownload() {
		o.FirstStart = firstStart
	}
	o.Target = t.Display()
	if f.reference {
		o.Target = "the reference server"
	}
	if err := a.startServices(&s.remoteServer, t); err != nil {
		return s, err
	}
	s.name, s.over = o.Target, spec.Stdio
	if t.URL != "" {
		s.over = cmp.Or(t.Transport, spec.StreamableHTTP)
	}
	why, err := a.dialTarget(s, t, f.start)
	if err != nil {
		return s, err
	}
	s.over = o.Dialer.Transport()
	if err := a.setTokenOptions(s, t); err != nil {
		return s, err
	}
	s.notices = append(f.configured.notices(), s.userNotices()...)
	if o.Answered = why != ""; o.Answered {
		s.notices = append(s.notices, why)
	}
	s.notices = append(s.notices, t.Notices...)
	s.sdk = func() *sdk.Used {
		if f.reference {
			return nil
		}
		return sdk.Recognise(t.Command())
	}
	o.RateLimit, o.Redactor, o.ServerArgs = s.pacer.Notice, transcript.NewRedactor(a.secrets), f.replayArgs(t, o.Policy.Policy)
	return s, nil
}

// startServices starts what the flags request for the server of the target: an authorization
// server, and the double of a service that the server calls. It checks the flags about credentials
// first.
func (a *app) startServices(s *remoteServer, t target.Target) error {
	if err := s.flags.checkCredentials(t, hasCredentials(t)); err != nil {
		return err
	}
	if s.flags.authServer {
		if t.Start == nil {
			return usagef("add --start COMMAND, or leave it out and give a token with --bearer-env", "--auth-server is for a server that the run starts, which learns the URL of the authorization server from its environment")
		}
		if err := a.startIssuer(s); err != nil {
			return err
		}
	}
	return a.startUpstream(s, t)
}

// dialTarget sets the dialer, and starts the server if it has a URL and a command. why says which
// transport was detected at a URL, and from which responses; "" if the user named it or if the
// responses do not show it.
func (a *app) dialTarget(s *openedServer, t target.Target, timeout time.Duration) (why string, err error) {
	switch {
	case t.Start != nil:
		s.options.Dialer, why, s.stop, err = a.startServer(t, &s.remoteServer, timeout)
	case t.URL == "":
		s.options.Dialer = stdio.NewDialer(stdio.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env})
	default:
		s.options.Dialer, why, err = a.dialURL(t, &s.remoteServer, timeout)
	}
	return why, err
}

// setTokenOptions sets the options about tokens: their issuer, the second user's token, the
// upstream double, which must not get the tokens, and the advice if the server refuses one.
func (a *app) setTokenOptions(s *openedServer, t target.Target) (err error) {
	o := &s.options
	if o.OtherToken, err = a.otherTokenFunc(&s.remoteServer, s.authorized || hasCredentials(t)); err != nil {
		return err
	}
	if s.issuer != nil {
		o.Issuer = s.issuer
	} else {
		o.Issuer = a.ownIssuer(&s.remoteServer)
	}
	if name := s.flags.foreignTokenEnv; name != "" {
		token, err := a.secretOf(target.Credential{What: s.flags.settingName("foreign-token-env"), Variable: name, Token: true})
		if err != nil {
			return err
		}
		o.Issuer = &foreignToken{token, o.Issuer}
	}
	o.Upstream, o.TokenAdvice = s.upstream, s.refusedTokenAdvice(hasCredentials(t))
	return nil
}

// close stops the server and the services that open started.
func (s *openedServer) close() {
	if s.stop != nil {
		s.stop()
	}
	if s.upstream != nil {
		s.upstream.Close()
	}
	if s.issuer != nil {
		s.issuer.Close()
	}
}
