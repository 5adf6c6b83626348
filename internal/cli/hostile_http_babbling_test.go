package cli

import (
	"fmt"
	"time"
)

// babbling returns servers that send malformed HTTP or, over the older transport, no usable
// endpoint.
func babbling() []hostileServer {
	const ok, json = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	broke := func(text string) func(p *peer) {
		return func(p *peer) {
			p.ask()
			p.say(text)
			p.wait(50 * time.Millisecond) // a reset discards bytes that the client has not read
			p.reset()
		}
	}
	result := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"odd","version":"1"}}}`
	return []hostileServer{
		{"closes at once", served(func(*peer) {}), 3, []string{`the connection was (closed|reset) before a response came`, `check that an MCP server`}, 0},
		{"closes at once, sse", over("sse", served(func(*peer) {})), 3, []string{`the connection was (closed|reset) before a response came`}, 0},
		{"resets at once", served(func(p *peer) { p.reset() }), 3, []string{`the connection was reset before a response came|connection reset by peer`}, 0},
		{"reset before the head", served(broke("")), 3, []string{`the connection was reset before a response came`}, 0},
		{"reset in the status line", served(broke("HTTP/1.1 20")), 3, []string{`within the head of the response`}, 0},
		{"reset in the head", served(broke(ok + "Content-Ty")), 3, []string{`within the head of the response`}, 0},
		{"reset in the body", served(broke(json + "Content-Length: 1000\r\n\r\n{\"jsonrpc\"")), 3, []string{`the connection was reset after 10 bytes of the body, of the 1000`}, 0},
		{"reset in the stream", served(broke(ok + "Content-Type: text/event-stream\r\n\r\ndata: {")), 3, []string{`the connection was reset after 7 bytes of the body`}, 0},
		{"reset in the stream, sse", over("sse", served(broke(ok+"Content-Type: text/event-stream\r\n\r\nevent: end"))), 3, []string{`ended before it named an endpoint: the connection was reset`}, 0},
		{"length too long", says(json + "Content-Length: 1000\r\n\r\n" + result), 3, []string{`the connection was closed after \d+ bytes of the body, of the 1000 that its Content-Length promises`}, 0},
		{"length too short", says(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", json, len(result)-9, result)), 3, []string{`a body that is not JSON`}, 0},
		{"length is not a number", says(json + "Content-Length: all\r\n\r\n" + result), 3, []string{`the Content-Length is "all"`}, 0},
		{"two lengths", says(json + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + result), 3, []string{`two different Content-Lengths`}, 0},
		{"chunked garbage", says(json + "Transfer-Encoding: chunked\r\n\r\nzzz\r\n" + result), 3, []string{`invalid byte in chunk length`}, 0},
		{"chunk without an end", says(json + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"js"), 3, []string{`the connection was closed after 4 bytes of the body`}, 0},
		{"an unknown encoding", says(json + "Transfer-Encoding: gzip\r\n\r\nxxxx"), 3, []string{`transfer encoding "gzip"`}, 0},
		{"gzip that is none", says(json + "Content-Encoding: gzip\r\n\r\n" + result), 3, []string{`the body does not match its Content-Encoding`}, 0},
		{"HTTP 0.9", says("<html>hello</html>"), 3, []string{`no HTTP response`, `begins with "<html>hello`}, 0},
		{"ssh", served(func(p *peer) { p.say("SSH-2.0-OpenSSH_9.6\r\n"); p.hold() }), 3, []string{`no HTTP response`, `begins with "SSH-2\.0-OpenSSH`}, 0},
		{"an SMTP server that waits for more", served(func(p *peer) { p.say("220 mail ESMTP ready"); p.hold() }), 3, []string{`begins with "220 mail`}, 0},
		{"bytes without lines", served(func(p *peer) { p.flood("\x00\xff") }), 3, []string{`no HTTP response`, `begins with`}, 0},
		{"HTTP/2 alone", served(func(p *peer) {
			p.say(http2)
			p.hold()
		}), 3, []string{`HTTP/2`, `also speak HTTP/1\.1`}, 0},
		{"HTTP/2 alone, TLS", trusting(certifiedH2), 3, []string{`HTTP/2`}, 0},
		{"no status", says("HTTP/1.1 fine\r\n\r\n"), 3, []string{`the response begins with "HTTP/1\.1 fine`}, 0},
		{"a huge header", served(func(p *peer) { p.ask(); p.say(ok + "X: "); p.flood("x") }), 3, []string{`the head is longer than 65536 bytes`}, 0},
		{"thousands of headers", served(func(p *peer) { p.ask(); p.say(ok); p.flood("X-Header: value\r\n") }), 3, []string{`the head is longer than 65536 bytes`}, 0},
		{"100 Continue without end", served(func(p *peer) { p.ask(); p.flood("HTTP/1.1 100 Continue\r\n\r\n") }), 3, []string{`interim responses`}, 0},
		{"endpoint at another origin", over("sse", endpoint("http://example.com/steal")), 3, []string{`names "http://example\.com/steal", to which the client sends nothing, because it is another origin`}, 0},
		{"endpoint that is not a URL", over("sse", endpoint(`http://[::1`)), 1, []string{`BROKEN  sse.endpoint-event`}, 0},
		{"endpoint without a word", over("sse", endpoint("")), 1, []string{`BROKEN  sse.endpoint-event`}, 0},
		{"endpoint that is not there", over("sse", endpoint("/nowhere")), 3, []string{`the POST of initialize was answered with "HTTP/1\.1 404`}, 0},
		{"endpoint never sent", over("sse", held(ok+"Content-Type: text/event-stream\r\n\r\n: hello\n\n")), 3, []string{`no endpoint event came within 2s`}, 0},
		{"another event first", over("sse", held(ok+"Content-Type: text/event-stream\r\n\r\nevent: message\ndata: {}\n\n")), 3, []string{`no endpoint event came within 2s`}, 0},
		{"stream that ends at once", over("sse", says(ok+"Content-Type: text/event-stream\r\n\r\n")), 3, []string{`ended before it named an endpoint`}, 0},
		{"json instead of a stream", over("sse", answers("200 OK", "Content-Type: application/json\r\n", `{"status":"ok"}`)), 3, []string{`no event stream`, `application/json`}, 0},
	}
}
