package mcptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/transport/exchange"
	"github.com/mcp-conform/mcp-conform/internal/transport/sse"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/transport/streamablehttp"
)

// A Server is a server to judge: made by Command, URL, SSE, Handler, SSEHandler or Stream.
type Server struct {
	name     string // in reports
	inMemory bool   // it is not a process, so that nothing is judged about its exit
	// open returns a dialer, and a function that ends what open has started. It adds to the
	// secrets what must not be printed.
	open func(*redact.Secrets) (d transport.Dialer, stop func(), err error)
}

// Command returns a server over stdio that is started with this command and these arguments, in the
// environment of the test. It is started several times.
func Command(name string, args ...string) Server {
	return Server{name: name, open: func(secrets *redact.Secrets) (transport.Dialer, func(), error) {
		c := stdio.Command{Argv: append([]string{name}, args...), Env: os.Environ()}
		secrets.AddArgs(c.Argv...)
		for _, entry := range c.Env { // the server may print what it inherits
			variable, value, _ := strings.Cut(entry, "=")
			secrets.AddNamed(variable, value)
		}
		return stdio.NewDialer(c), func() {}, nil
	}}
}

// URL returns a server over Streamable HTTP that is already running. The fields of header, which
// may be nil, are sent with each request.
func URL(address string, header http.Header) Server {
	return remote(spec.StreamableHTTP, address, header)
}

// SSE is like URL for a server over HTTP+SSE (2024-11-05).
func SSE(address string, header http.Header) Server { return remote(spec.SSE, address, header) }

func remote(over spec.Transport, address string, header http.Header) Server {
	return Server{name: address, open: func(secrets *redact.Secrets) (transport.Dialer, func(), error) {
		secrets.AddArgs(address)
		var r exchange.Reach
		for _, name := range slices.Sorted(maps.Keys(header)) {
			for _, value := range header[name] {
				secrets.AddGiven(name, value)
				r.Fields = append(r.Fields, transcript.Field{Name: name, Value: value})
			}
		}
		u, err := url.Parse(address)
		switch {
		case err != nil:
			return nil, nil, err
		case u.Scheme != "http" && u.Scheme != "https":
			return nil, nil, errors.New("the URL of a server begins with http:// or https://, not " + address)
		}
		return dialerFor(over, u, r), func() {}, nil
	}}
}

// Handler returns a server over Streamable HTTP whose endpoint is h. It serves on the loopback
// interface while the test runs.
func Handler(h http.Handler) Server { return serving(spec.StreamableHTTP, h, "/mcp") }

// SSEHandler is like Handler for a server over HTTP+SSE. path is the path of its event stream.
func SSEHandler(h http.Handler, path string) Server { return serving(spec.SSE, h, path) }

func serving(over spec.Transport, h http.Handler, path string) Server {
	return Server{name: "the handler", open: func(*redact.Secrets) (transport.Dialer, func(), error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, fmt.Errorf("listening for the handler: %w", err)
		}
		s := &http.Server{Handler: h}  //nolint:gosec // its only client is this test
		go func() { _ = s.Serve(l) }() // Serve returns when stop is called
		stop := func() {
			ctx, cancel := context.WithTimeout(context.Background(), handlerEnd)
			defer cancel()
			if s.Shutdown(ctx) != nil { // a handler hangs; that is a finding, and must not hang the test
				_ = s.Close()
			}
		}
		return dialerFor(over, &url.URL{Scheme: "http", Host: l.Addr().String(), Path: path}, exchange.Reach{}), stop, nil
	}}
}

// handlerEnd is how long handlers may still run after the judging has ended.
const handlerEnd = 2 * time.Second

func dialerFor(over spec.Transport, u *url.URL, r exchange.Reach) transport.Dialer {
	if over == spec.SSE {
		return sse.NewDialer(u, r)
	}
	return streamablehttp.NewDialer(u, r)
}

// Stream returns a server in this process that reads messages from a stream, one per line, and
// writes its own to it. connect is called for each session, and returns the client's end of the
// stream; its server must run until the stream is closed. The session is that of stdio, without
// what is specified for a process: its exit and its stderr. If the stream has a method CloseWrite,
// that ends the input of the server.
func Stream(connect func(context.Context) (io.ReadWriteCloser, error)) Server {
	return Server{name: "the stream", inMemory: true, open: func(*redact.Secrets) (transport.Dialer, func(), error) {
		return stdio.InProcess("stream", func(ctx context.Context, in io.Reader, out, errOut io.Writer, signals <-chan string) int {
			return serve(ctx, connect, in, out, errOut, signals)
		}), func() {}, nil
	}}
}

// quietTime is how long a stream that can't be closed in one direction must be silent before it is
// closed.
const quietTime = 100 * time.Millisecond

// serve connects the client's streams to a server until the server's output ends, a signal comes,
// or ctx is done. If the stream can't be closed in one direction, serve also returns once the
// client's input has ended and the server has sent nothing for quietTime.
func serve(ctx context.Context, connect func(context.Context) (io.ReadWriteCloser, error), in io.Reader, out, errOut io.Writer, signals <-chan string) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := connect(ctx)
	if err != nil {
		fmt.Fprintf(errOut, "connecting to the server: %v\n", err)
		return 1
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	wrote, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(notifyingWriter{out, wrote}, conn) // an error ends the output
	}()
	input := make(chan struct{})
	go func() {
		defer close(input)
		_, _ = io.Copy(conn, in) // an error shows in the output
	}()
	select {
	case <-ended:
		return 0
	case <-signals:
		return 0
	case <-input:
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // an error shows in the output
		select {
		case <-ended:
		case <-signals:
		case <-ctx.Done():
		}
		return 0
	}
	for {
		select {
		case <-wrote:
		case <-time.After(quietTime):
			return 0
		case <-ended:
			return 0
		}
	}
}

// notifyingWriter is a writer that signals each write on wrote.
type notifyingWriter struct {
	io.Writer
	wrote chan<- struct{}
}

func (n notifyingWriter) Write(p []byte) (int, error) {
	select {
	case n.wrote <- struct{}{}:
	default:
	}
	return n.Writer.Write(p)
}
