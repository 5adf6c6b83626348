package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/officialsuite"
)

// start starts the server, with sessions or without, and returns its address once it
// listens.
func start(ctx context.Context, suite *officialsuite.Suite, sessions bool) (*exec.Cmd, string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, "", err
	}
	server := suite.Server(ctx, address, sessions)
	if err := server.Start(); err != nil {
		return nil, "", err
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	late := time.After(startTime)
	for {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
			return server, address, conn.Close()
		}
		select {
		case <-again.C:
		case <-late:
			stop(server)
			return nil, "", errors.New("the server of the Go SDK does not listen")
		}
	}
}

const startTime = 20 * time.Second

// stop kills the server and waits for it, if it has not ended yet.
func stop(server *exec.Cmd) {
	if server.ProcessState == nil {
		_ = server.Process.Kill()
		_ = server.Wait() // the error only says that it was killed
	}
}

// counter is a relay that counts the HTTP requests to a server without changing
// them.
type counter struct {
	ctx      context.Context
	target   string
	listener net.Listener
	counted  atomic.Int64
	open     sync.WaitGroup
}

func newCounter(ctx context.Context, target string) (*counter, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{ctx: ctx, target: target, listener: l}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.open.Go(func() { c.relay(conn) })
		}
	}()
	return c, nil
}

func (c *counter) address() string { return c.listener.Addr().String() }

func (c *counter) close() { _ = c.listener.Close() }

// requests returns the number of requests, once all connections have ended.
func (c *counter) requests() int {
	c.close()
	c.open.Wait()
	return int(c.counted.Load())
}

// relay relays one connection. Bytes that are not HTTP count as one request.
func (c *counter) relay(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(c.ctx, "tcp", c.target)
	if err != nil {
		return
	}
	copied, copies := io.Pipe()
	var sides sync.WaitGroup
	sides.Go(func() {
		_, err := io.Copy(server, io.TeeReader(client, copies))
		_ = copies.CloseWithError(errors.Join(io.EOF, err))
		halfClose(server)
	})
	sides.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close() // the server has closed the connection
	})
	sides.Go(func() { c.count(copied) })
	sides.Wait()
	_ = server.Close()
}

func halfClose(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

func (c *counter) count(sent io.Reader) {
	r := bufio.NewReader(sent)
	for {
		if _, err := r.Peek(1); err != nil {
			break
		}
		c.counted.Add(1)
		request, err := http.ReadRequest(r)
		if err != nil {
			break
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			break
		}
	}
	_, _ = io.Copy(io.Discard, r)
}
