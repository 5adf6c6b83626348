package cli

import (
	"strings"
	"time"
)

// turning returns servers that conform at first and misbehave after the
// handshake, in the middle of the run, or occasionally. Behaviour that an
// intermediary may have caused is not a finding.
func turning() []hostileServer {
	const (
		json   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	)
	hold := func(p *peer) { p.hold() }
	reset := func(p *peer) { p.reset() }
	ping := func(p *peer) {
		for p.chunk(strings.Repeat(": ping\n\n", 8000)) {
		}
	}
	page := reply("502 Bad Gateway", "Content-Type: text/html\r\n", "<html>Bad Gateway</html>")
	return []hostileServer{
		{"500 after the handshake", turned(afterHandshake, reply("500 Internal Server Error", "", "boom")), 1, []string{`after the handshake the POST of ping was answered with "HTTP/1\.1 500`}, 0},
		{"404 after the handshake", turned(afterHandshake, reply("404 Not Found", "", "")), 4, []string{`after the handshake the POST of ping was answered with "HTTP/1\.1 404`}, 0},
		{"401 after the handshake", turned(afterHandshake, reply("401 Unauthorized", "", "")), 4, []string{`after the handshake the POST of ping was answered with "HTTP/1\.1 401`}, 0},
		{"proxy page after the handshake", turned(afterHandshake, page), 4, []string{`after the handshake the POST of ping was answered with "HTTP/1\.1 502`}, 0},
		{"nothing with 200 after the handshake", turned(afterHandshake, reply("200 OK", "", "")), 1, []string{`The server's response to a request has no body`}, 0},
		{"202 after the handshake", turned(afterHandshake, reply("202 Accepted", "", "")), 1, []string{`The server's response to a request has no body`}, 0},
		{"a page after the handshake", turned(afterHandshake, reply("200 OK", "Content-Type: text/html\r\n", "<html>hello</html>")), 1, []string{`The server answers a request with another media type`}, 0},
		{"silence after the handshake", turned(afterHandshake, hold), 1, []string{`The server does not answer a ping`, `got no response within 1s`}, 60 * time.Second},
		{"resets after the handshake", turned(afterHandshake, reset), 4, []string{`got no response: the connection was reset before a response came`}, 0},
		{"gzip bombs after the handshake", turned(afterHandshake, func(p *peer) { p.bomb(json, "\x00") }), 1, []string{`more than 16777216 bytes|within [12]s`}, 60 * time.Second},
		{"floods after the handshake", turned(afterHandshake, func(p *peer) { p.say(json + "\r\n"); p.flood("flood ") }), 1, []string{`more than 16777216 bytes|within [12]s`}, 60 * time.Second},
		{"comments after the handshake", turned(afterHandshake, func(p *peer) { p.say(stream); p.flood(": ping\n\n") }), 1, []string{`more than \d+ messages|within 1s`}, 60 * time.Second},
		{"silent streams after the handshake", turned(afterHandshake, func(p *peer) { p.say(stream); p.hold() }), 1, []string{`The server does not answer a ping`}, 60 * time.Second},
		{"streams that come back for ever", turned(afterHandshake, func(p *peer) { p.say(stream + "id: 1\nretry: 0\ndata:\n\n") }), 1, []string{`The server uses an event id twice`}, 60 * time.Second},
		{"drips after the handshake", turned(afterHandshake, func(p *peer) { p.drip(json, time.Second) }), 1, []string{`The server does not answer a ping`}, 60 * time.Second},
		{"500 in the middle", turned(late, reply("500 Internal Server Error", "", "boom")), 4, []string{`no longer serves any client: the POST of initialize was answered with "HTTP/1\.1 500`}, 60 * time.Second},
		{"proxy page in the middle", turned(late, page), 4, []string{`no longer serves any client: the POST of initialize was answered with "HTTP/1\.1 502`}, 60 * time.Second},
		{"401 in the middle", turned(late, reply("401 Unauthorized", "", "")), 4, []string{`no longer serves any client: the POST of initialize was answered with "HTTP/1\.1 401`}, 60 * time.Second},
		{"silence in the middle", turned(late, hold), 4, []string{`no longer serves any client: the POST of initialize got no response within [12]s`}, 60 * time.Second},
		{"resets in the middle", turned(late, reset), 4, []string{`no longer serves any client: the POST of initialize got no response: the connection was reset`}, 60 * time.Second},
		{"floods in the middle", turned(late, func(p *peer) { p.say(json + "\r\n"); p.flood("flood ") }), 4, []string{`more than 16777216 bytes|within [12]s`}, 60 * time.Second},
		{"proxy page now and then", briefly(turned(seldom, page)), 0, []string{`requests were answered with "HTTP/1\.1 502 Bad Gateway" and the like`}, 60 * time.Second},
		{"resets now and then", briefly(turned(rarely, reset)), 0, nil, 60 * time.Second},
		{"500 after the handshake, sse", turnedSSE(afterHandshake, reply("500 Internal Server Error", "", "boom")), 4, []string{`after the handshake the POST of ping was answered with "HTTP/1\.1 500`}, 0},
		{"proxy page after the handshake, sse", turnedSSE(afterHandshake, page), 4, []string{`after the handshake the POST of ping was answered with "HTTP/1\.1 502`}, 0},
		{"202 and nothing after the handshake, sse", turnedSSE(afterHandshake, reply("202 Accepted", "", "")), 1, []string{`The server does not answer a ping`}, 60 * time.Second},
		{"silence after the handshake, sse", turnedSSE(afterHandshake, hold), 4, []string{`after the handshake the POST of ping got no response within 1s`}, 60 * time.Second},
		{"resets after the handshake, sse", turnedSSE(afterHandshake, reset), 4, []string{`got no response: the connection was reset`}, 60 * time.Second},
		{"stream breaks after the handshake, sse", streamTurns(3, func(p *peer) { p.wait(pingTime); p.reset() }), 1, []string{`The server ends without answering a request`, `the event stream ended: the connection was reset`}, 60 * time.Second},
		{"stream falls silent after the handshake, sse", streamTurns(3, hold), 1, []string{`The server does not answer a ping`}, 60 * time.Second},
		{"comments after the handshake, sse", streamTurns(3, ping), startsOrBroken, []string{`more than \d+ messages|within 1s`}, 60 * time.Second},
		{"an event without end after the handshake, sse", streamTurns(3, func(p *peer) {
			for p.chunk(strings.Repeat("data: x\n", 8000)) {
			}
		}), 1, []string{`more than 16777216 bytes of a stream without a blank line|within 1s`}, 60 * time.Second},
		{"chunked garbage after the handshake, sse", streamTurns(3, func(p *peer) { p.wait(pingTime); p.say("zzz\r\n"); p.hold() }), 1, []string{`The server ends without answering a request`, `invalid byte in chunk length`}, 60 * time.Second},
		{"500 in the middle, sse", turnedSSE(late, reply("500 Internal Server Error", "", "boom")), 4, []string{`no longer serves any client: the POST of initialize was answered with "HTTP/1\.1 500`}, 60 * time.Second},
		{"silence in the middle, sse", turnedSSE(late, hold), 4, []string{`no longer serves any client`}, 60 * time.Second},
		{"resets in the middle, sse", turnedSSE(late, reset), 4, []string{`no longer serves any client`}, 60 * time.Second},
		{"streams end in the middle, sse", streamTurns(20, reset), 1, nil, 60 * time.Second},
	}
}

// pingTime is a delay after which the ping that follows the handshake has
// certainly been posted.
const pingTime = 300 * time.Millisecond

// reply sends a response and closes the connection.
func reply(status, fields, body string) func(p *peer) {
	return func(p *peer) {
		p.say("HTTP/1.1 " + status + "\r\n" + fields + "Connection: close\r\n\r\n" + body)
	}
}
