package exchange

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// Reach describes how to reach a server.
type Reach struct {
	// Fields are headers to send with every request, such as Authorization.
	Fields []transcript.Field
	// Token, if not nil, returns the current bearer token, for a client whose tokens expire. An
	// Authorization header in Fields takes precedence.
	Token func() string
	// ObtainScope requests a token with further scopes, separated by spaces, because the server
	// refused the current token for lack of them. It returns false if it gets no such token. If
	// ObtainScope is nil, the refusal becomes the response.
	ObtainScope func(scope string) bool
	// TLS is the configuration for https; nil uses the root certificates of the system.
	TLS *tls.Config
	// Proxy returns the proxy for a URL, or nil. A nil function means no proxies.
	Proxy func(*url.URL) (*url.URL, error)
	// Dial opens a connection to an address; nil connects over TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Connect is the timeout for opening a connection; default 10 s.
	Connect time.Duration
	// Pacer keeps the requests below the server's rate limit. If it is nil, requests are sent at
	// once, and refused ones are not sent again.
	Pacer *Pacer
}

const defaultConnect = 10 * time.Second

// Access returns how to reach u outside of a link. The client does not connect to addresses in the
// private network of this machine unless u is in that network too, because an outside server could
// name such addresses to make the client attack them. This is not checked if Dial is set, nor for
// requests through a proxy, which resolves names itself. Requests to the host of u wait for the
// pacer. While a request waits, the pacer stops the transcript.Clock in the request's context.
func (r *Reach) Access(u *url.URL) transport.Access {
	guarded := &net.Dialer{Timeout: defaultConnect, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !isPrivateAddress(at.Addr()) || hasOnlyPrivateAddresses(ctx, u.Hostname()) {
			return nil
		}
		return fmt.Errorf("%s is an address in the local network, but %s is not in that network", address, u.Hostname())
	}}
	over := func(d *net.Dialer) *http.Transport {
		t := &http.Transport{
			TLSClientConfig: r.TLS, TLSHandshakeTimeout: defaultConnect, DisableKeepAlives: true, DisableCompression: true,
			DialContext: d.DialContext,
		}
		if r.Dial != nil {
			t.DialContext = r.Dial
		}
		return t
	}
	toProxies := over(&net.Dialer{Timeout: defaultConnect})
	toProxies.Proxy = func(q *http.Request) (*url.URL, error) { return r.proxyFor(q.URL) }
	return transport.Access{URL: u, Fields: r.configuredFields(), Client: &http.Client{
		Transport:     &pacedTransport{r.Pacer, u.Host, &routingTransport{r, over(guarded), toProxies}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// routingTransport sends each request directly, or through the proxy that reach has for the
// request's URL.
type routingTransport struct {
	reach             *Reach
	direct, toProxies http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *routingTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	if proxy, err := t.reach.proxyFor(q.URL); err == nil && proxy == nil {
		return t.direct.RoundTrip(q)
	}
	return t.toProxies.RoundTrip(q)
}

// isPrivateAddress reports whether an address belongs to this machine or to a private network.
func isPrivateAddress(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified()
}

// hasOnlyPrivateAddresses reports whether the name of a host resolves only to addresses of this
// machine or a private network. One such address among others is not enough, because the owner of
// an outside server could add it to the server's DNS name.
func hasOnlyPrivateAddresses(ctx context.Context, host string) bool {
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return err == nil && areAllPrivate(all)
}

func areAllPrivate(all []netip.Addr) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(a netip.Addr) bool { return !isPrivateAddress(a) })
}

// dial opens a connection to the server, through the proxy if there is one, and with TLS for https.
func (r *Reach) dial(ctx context.Context, u *url.URL) (net.Conn, error) {
	limit := cmp.Or(r.Connect, defaultConnect)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("there was no connection within %s", limit))
	defer cancel()
	proxy, err := r.proxyFor(u)
	if err != nil {
		return nil, err
	}
	at := address(u)
	if proxy != nil {
		at = address(proxy)
	}
	open := r.Dial
	if open == nil {
		open = (&net.Dialer{}).DialContext
	}
	conn, err := open(ctx, "tcp", at)
	if err != nil {
		return nil, withProxy(proxy, withStage(ctx, transcript.NoConnection, "while connecting to "+at, err))
	}
	if proxy != nil && proxy.Scheme == "https" {
		if conn, err = r.handshakeTLS(ctx, conn, proxy); err != nil {
			return nil, withProxy(proxy, err)
		}
	}
	if u.Scheme != "https" {
		return conn, nil
	}
	if proxy != nil {
		if err := tunnel(ctx, conn, proxy, address(u)); err != nil {
			_ = conn.Close()
			return nil, withProxy(proxy, withStage(ctx, transcript.NoTunnel, "while the proxy "+at+" was asked for a connection to "+address(u), err))
		}
	}
	return r.handshakeTLS(ctx, conn, u)
}

// withStage returns err unchanged, unless err is not nil and the context has ended. In that case it
// returns a stageError with the cause of the context's end. stage and obstacle describe the
// operation that the context interrupted.
func withStage(ctx context.Context, obstacle transcript.Obstacle, stage string, err error) error {
	if err != nil && ctx.Err() != nil {
		return &stageError{stage, context.Cause(ctx), obstacle}
	}
	return err
}

// withProxy adds the address of the proxy, if there is one, to an error.
func withProxy(proxy *url.URL, err error) error {
	if proxy == nil {
		return err
	}
	return &proxyError{address(proxy), err}
}

// proxyError is an error of the connection to a proxy.
type proxyError struct {
	at  string
	err error
}

func (e *proxyError) Error() string { return "the proxy " + e.at + ": " + e.err.Error() }

func (e *proxyError) Unwrap() error { return e.err }

func (r *Reach) proxyFor(u *url.URL) (*url.URL, error) {
	if r.Proxy == nil {
		return nil, nil
	}
	proxy, err := r.Proxy(u)
	if err != nil || proxy == nil {
		return nil, err
	}
	if proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, &proxyError{proxy.Redacted(), errors.New("only http and https proxies can be used")}
	}
	return proxy, nil
}

// handshakeTLS performs the TLS handshake and offers only HTTP/1.1.
func (r *Reach) handshakeTLS(ctx context.Context, conn net.Conn, u *url.URL) (net.Conn, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.TLS != nil {
		config = r.TLS.Clone()
	}
	config.NextProtos = []string{"http/1.1"}
	if config.ServerName == "" {
		config.ServerName = u.Hostname()
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, withStage(ctx, transcript.TLSFailed, "while agreeing on TLS", explainTLS(err, u.Hostname()))
	}
	return secured, nil
}

// tunnelError reports that a proxy opened no connection to the server.
type tunnelError struct{ to, why string }

func (e *tunnelError) Error() string { return "asked for a connection to " + e.to + e.why }

// tunnel requests a connection to the server from the proxy, with CONNECT.
func tunnel(ctx context.Context, conn net.Conn, proxy *url.URL, to string) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", to, to, proxyField(proxy)); err != nil {
		return err
	}
	// The reader is discarded after the head. It holds no more bytes then, because after the head
	// of a successful response, nothing arrives until the client sends.
	raw, err := readHead(bufio.NewReaderSize(conn, 1), maxHead)
	switch {
	case errors.Is(err, errLongHead) || err == nil && !bytes.HasPrefix(raw, []byte(http1)):
		what, _ := describeForeign(raw)
		return errors.New(what)
	case err != nil:
		return &tunnelError{to, ": " + describeLoss(err) + " before it answered"}
	}
	if head := transcript.ParseHead(raw); head.Status()/100 != 2 {
		return &tunnelError{to, fmt.Sprintf(", it answers %q", head.Line)}
	}
	return nil
}

// proxyField returns the header line with the credentials for a proxy, or "" if the proxy's URL has
// no credentials.
func proxyField(proxy *url.URL) string {
	if proxy.User == nil {
		return ""
	}
	password, _ := proxy.User.Password()
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password)) + "\r\n"
}

// address returns the host and port of a URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Authorizes reports whether Fields have an Authorization header.
func (r *Reach) Authorizes() bool {
	return slices.ContainsFunc(r.Fields, func(f transcript.Field) bool { return strings.EqualFold(f.Name, "Authorization") })
}

// configuredFields returns the headers to send with every request, with the current token unless
// Fields contain an Authorization header.
func (r *Reach) configuredFields() []transcript.Field {
	if r.Token == nil || r.Authorizes() {
		return r.Fields
	}
	return append(slices.Clone(r.Fields), transcript.Field{Name: "Authorization", Value: "Bearer " + r.Token()})
}

// requestHead returns the request line and the headers.
func (r *Reach) requestHead(q Request) (line string, fields []transcript.Field) {
	const ours = 5 // maximum number of headers that are added here, including those for a proxy and a token
	fields = make([]transcript.Field, 0, len(q.Fields)+len(r.Fields)+ours)
	target := q.URL.RequestURI()
	if proxy, _ := r.proxyFor(q.URL); proxy != nil && q.URL.Scheme == "http" {
		target = q.URL.Scheme + "://" + q.URL.Host + target
		if field := proxyField(proxy); field != "" {
			name, value, _ := strings.Cut(strings.TrimSpace(field), ": ")
			fields = append(fields, transcript.Field{Name: name, Value: value})
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(q.Fields, func(f transcript.Field) bool { return strings.EqualFold(f.Name, name) })
	}
	if !has("Host") {
		fields = append(fields, transcript.Field{Name: "Host", Value: q.URL.Host})
	}
	fields = append(fields, q.Fields...)
	for _, f := range r.configuredFields() {
		if !has(f.Name) {
			fields = append(fields, f)
		}
	}
	if !has("Accept-Encoding") {
		fields = append(fields, transcript.Field{Name: "Accept-Encoding", Value: "identity"})
	}
	switch {
	case q.Chunks != nil:
		fields = append(fields, transcript.Field{Name: "Transfer-Encoding", Value: "chunked"})
	case (q.Body != nil || q.Method == "POST") && !has("Content-Length"):
		fields = append(fields, transcript.Field{Name: "Content-Length", Value: strconv.Itoa(len(q.Body))})
	}
	return q.Method + " " + target + " HTTP/1.1", fields
}
