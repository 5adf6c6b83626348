package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/target"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// remoteFlags are the flags for servers that are reached by a URL.
type remoteFlags struct {
	caFile     string
	insecure   bool
	authServer bool

	clientID        string
	clientSecretEnv string // the variable with the client's secret

	foreignTokenEnv string // the variable with a token for another server

	upstreamEnv, upstreamURL string

	as, otherUser string                     // names of identities; "" if none is named
	identities    map[string]config.Identity // those of the configuration file
	origins       map[string]string          // how messages name a flag that the configuration file sets, by flag
}

// settingName returns the name of a flag for messages: the key in the configuration file if that
// sets the flag, otherwise the flag with its dashes.
func (f *remoteFlags) settingName(flag string) string { return cmp.Or(f.origins[flag], "--"+flag) }

// registerTLS adds the flags that say which certificates to trust.
func (f *remoteFlags) registerTLS(fs *pflag.FlagSet) {
	fs.StringVar(&f.caFile, "ca-file", "", "file of PEM certificates to trust in addition to the system's")
	fs.BoolVar(&f.insecure, "insecure", false, "trust any certificate")
}

// dialURL returns the dialer for a server that runs at its URL, and a sentence that says which
// transport was chosen and why. The sentence is "" if the user named the transport, or if the
// server responded with an error status that does not show the transport.
func (a *app) dialURL(t target.Target, s *remoteServer, timeout time.Duration) (transport.Dialer, string, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, "", usagef("give one like https://example.com/mcp", "the URL can't be read")
	}
	reach, err := s.flags.reach(t, s.pacer)
	if err != nil {
		return nil, "", err
	}
	over, why := t.Transport, ""
	if over == "" {
		if over, why, err = chooseTransport(a.ctx, u, reach, timeout, s.waiting); err != nil {
			return nil, "", err
		}
	}
	if reach, err = a.addToken(s, u, reach); err != nil {
		return nil, "", err
	}
	s.recordAccess(reach, u)
	if over == spec.SSE {
		return sse.NewDialer(u, reach), why, nil
	}
	return streamablehttp.NewDialer(u, reach), why, nil
}

// reach returns how to connect to the server of a target: proxy, headers and
// TLS. All requests share the pacer.
func (f *remoteFlags) reach(t target.Target, pacer *exchange.Pacer) (reach exchange.Reach, err error) {
	reach.Proxy = func(u *url.URL) (*url.URL, error) { return http.ProxyFromEnvironment(&http.Request{URL: u}) }
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		reach.Fields = append(reach.Fields, transcript.Field{Name: name, Value: t.Headers[name]})
	}
	reach.Pacer = pacer
	reach.TLS, err = f.tlsConfig()
	return reach, err
}

// registerOtherTokens adds the flags about tokens other than the user's, for commands that judge what
// the server does with them.
func (f *remoteFlags) registerOtherTokens(fs *pflag.FlagSet) {
	fs.StringVar(&f.otherUser, "other-user", "", "a second user, who must not get what belongs to the first")
	fs.StringVar(&f.foreignTokenEnv, "foreign-token-env", "", "variable that holds a token that the server's authorization server issued for another server")
}

// runArgs returns flags of the run that are needed in a command that repeats the whole run. A
// command that replays a single finding does not need them.
func (f *remoteFlags) runArgs() []string {
	var words []string
	if f.otherUser != "" {
		words = append(words, "--other-user", f.otherUser)
	}
	if f.foreignTokenEnv != "" {
		words = append(words, "--foreign-token-env", f.foreignTokenEnv)
	}
	return words
}

// replayFlags returns the flags with which a replay command reaches the server as this command did.
func (f *remoteFlags) replayFlags() []string {
	var words []string
	switch {
	case f.insecure:
		words = []string{"--insecure"}
	case f.caFile != "":
		words = []string{"--ca-file", f.caFile}
	}
	if f.authServer {
		words = append(words, "--auth-server")
	}
	for _, flag := range []struct{ name, value string }{
		{"--client-id", f.clientID}, {"--client-secret-env", f.clientSecretEnv}, {"--as", f.as},
		{"--upstream-env", f.upstreamEnv}, {"--upstream-url", f.upstreamURL},
	} {
		if flag.value != "" {
			words = append(words, flag.name, flag.value)
		}
	}
	return words
}

// tlsConfig returns the TLS configuration, or nil for the default. Errors are usage errors.
func (f *remoteFlags) tlsConfig() (*tls.Config, error) {
	switch {
	case f.insecure && f.caFile != "":
		return nil, usagef("give one of them", "both --insecure and --ca-file are given")
	case f.insecure:
		return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, nil //nolint:gosec // the user asked for it
	case f.caFile == "":
		return nil, nil
	}
	pem, err := os.ReadFile(f.caFile)
	if err != nil {
		return nil, usagef("name a file of PEM certificates", "--ca-file: %v", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, usagef("name a file of PEM certificates", "--ca-file: %s holds no certificate", f.caFile)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// chooseTransport detects the transport at the URL as the specification's sections on backwards
// compatibility describe: HTTP+SSE if the server rejects the POST of initialize with 400, 404 or
// 405 and GET opens an event stream, otherwise Streamable HTTP. It also returns a sentence with the
// reason. The sentence is "" if the POST got a status of 300 or more that is none of these three.
// The error is an UnreachableError if the POST gets no response, otherwise a usage error.
func chooseTransport(ctx context.Context, u *url.URL, reach exchange.Reach, timeout time.Duration, waiting func(string)) (spec.Transport, string, error) {
	defer engine.ReportWaiting("the server's first response", timeout, waiting)()
	c, err := exchange.Open(u, reach, transcript.New())
	if err != nil {
		return "", "", usagef("give one like https://example.com/mcp", "%v", err)
	}
	defer c.Wait()
	ctx, cancel := c.Record.WithTimeout(ctx, timeout, context.DeadlineExceeded)
	defer cancel()
	newest := spec.NewestHandshake
	initialize := wire.NewRequest(wire.IntID(1), spec.MethodInitialize, map[string]any{
		"protocolVersion": newest, "capabilities": client.AllCapabilities(newest), "clientInfo": client.ClientInfo(),
	})
	post := c.Begin(ctx, exchange.Request{URL: u, Request: transport.Request{Method: "POST", Body: initialize, Fields: []transcript.Field{
		{Name: "Content-Type", Value: "application/json"}, {Name: "Accept", Value: "application/json, text/event-stream"},
	}}})
	<-post.Responded()
	if post.Head() == nil {
		<-post.Over()
		return "", "", engine.ExplainRefusal(c.Record.From(0), timeout)
	}
	switch status := post.Head().Status(); {
	case status == 400, status == 404, status == 405:
		if stream := c.Begin(ctx, exchange.Request{URL: u, Request: transport.Request{Method: "GET", Fields: []transcript.Field{{Name: "Accept", Value: transcript.EventStream}}}}); opensStream(stream) {
			return spec.SSE, fmt.Sprintf("transport: HTTP+SSE (POST initialize got %d, and GET opens an event stream)", status), nil
		}
		if isJSONRPCError(c, post) { // a server without initialize responds like this
			return spec.StreamableHTTP, fmt.Sprintf("transport: Streamable HTTP (POST initialize got %d and a JSON-RPC error)", status), nil
		}
		return spec.StreamableHTTP, fmt.Sprintf("trying Streamable HTTP, though POST initialize got %d: GET opens no event stream either", status), nil
	case status >= 300:
		return spec.StreamableHTTP, "", nil // the run reports the problem
	default:
		endSession(ctx, c, u, post)
		return spec.StreamableHTTP, fmt.Sprintf("transport: Streamable HTTP (POST initialize got %d)", status), nil
	}
}

// isJSONRPCError reports whether the body of the response is a JSON-RPC error.
func isJSONRPCError(c *exchange.Client, post *exchange.Pending) bool {
	<-post.Over()
	for _, m := range transcript.Messages(c.Record.From(0), transcript.Received) {
		if m.IsError() {
			return true
		}
	}
	return false
}

// opensStream reports whether the response to a GET is an event stream, and then drops the
// exchange.
func opensStream(p *exchange.Pending) bool {
	<-p.Responded()
	defer p.Drop()
	return p.Head() != nil && p.Head().Status() == 200 && p.Head().MediaType() == transcript.EventStream
}

// endSession ends the session that the server may have opened in its response to the POST of
// initialize.
func endSession(ctx context.Context, c *exchange.Client, u *url.URL, post *exchange.Pending) {
	const session = "Mcp-Session-Id"
	if id := post.Head().Get(session); id != "" {
		<-c.Begin(ctx, exchange.Request{URL: u, Request: transport.Request{Method: "DELETE", Fields: []transcript.Field{{Name: session, Value: id}}}}).Over()
	}
}
