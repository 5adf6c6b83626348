package cli

import (
	"strings"
	"testing"
	"time"
)

// deafening returns servers whose responses are endless, or never complete.
func deafening() []hostileServer {
	const ok, json, stream = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	flood := func(head, text string) func(*testing.T, *hostileRun) string {
		return served(func(p *peer) {
			p.ask()
			p.say(head)
			p.flood(text)
		})
	}
	slow := func(quick, text string) func(*testing.T, *hostileRun) string {
		return served(func(p *peer) {
			p.ask()
			p.say(quick)
			p.drip(strings.Repeat(text, 100), time.Second)
		})
	}
	return []hostileServer{
		{"never answers", held(""), 3, []string{`no response within 2s`, `--start-timeout`}, 0},
		{"never answers, sse", over("sse", held("")), 3, []string{`no response within 2s`, `--start-timeout`}, 0},
		{"never reads", served(func(p *peer) { p.wait(time.Hour) }), 3, []string{`no response within 2s`}, 0},
		{"never ends its body", held(json + `{"jsonrpc":"2.0",`), 3, []string{`a body that did not end within 2s`, `"jsonrpc`}, 0},
		{"json without end", flood(json+`{"padding":"`, "padding "), 3, []string{`more than 16777216 bytes|within 2s`, `padding`}, 0},
		{"json without end, slow", slow(json, `{"padding":[`), 3, []string{`did not end within 2s`}, 0},
		{"a slow status line", slow("", "HTTP/1.1 200 OK\r\n"), 3, []string{`no response within 2s: its head began`}, 0},
		{"a slow head", slow(ok, "X-Header: value\r\n"), 3, []string{`its head began and did not end`}, 0},
		{"a slow stream", slow(stream, "data: x\n\n"), 3, []string{`within 2s`}, 0},
		{"a stream with nothing in it", held(stream), 3, []string{`event stream`, `got no response within 2s, and nothing else`}, 0},
		{"a stream of comments", flood(stream, ": ping\n\n"), 3, []string{`more than \d+ messages|within 2s`}, 0},
		{"a stream of comments, sse", over("sse", flood(stream, ": ping\n\n")), 3, []string{`more than \d+ messages|within 2s`}, 0},
		{"a stream of slow comments", served(func(p *peer) {
			p.ask()
			p.say(stream)
			for p.say(": ping\n\n") {
				p.wait(20 * time.Millisecond)
			}
		}), 3, []string{`event stream`, `within 2s`}, 0},
		{"an event without end", flood(stream, "data: x\n"), 3, []string{`more than 16777216 bytes of a stream without a blank line|within 2s`}, 0},
		{"an endpoint of 100 MB", over("sse", served(func(p *peer) {
			p.ask()
			p.say(stream + "event: endpoint\ndata: /")
			for range 100 {
				p.say(strings.Repeat("x", 1<<20))
			}
			p.say("\n\n")
		})), 3, []string{`the event stream floods: more than 16777216 bytes|within 2s`}, 0},
		{"a stream that ends and comes back for ever", reconnecting(), 3, []string{`event stream`}, 0},
		{"gzip bomb", bomb("application/json", "\x00"), 3, []string{`more than 16777216 bytes|within 2s`}, 0},
		{"gzip bomb in a stream", bomb("text/event-stream", ": ping\n\n"), 3, []string{`more than |within 2s`}, 0},
		{"gzip bomb in a refusal", bombed("HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\n", "\x00"), 3, []string{`500 Internal Server Error`}, 0},
		{"a refusal without end", flood("HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\n", "boom "), 3, []string{`500 Internal Server Error`, `boom boom`}, 0},
	}
}

// held sends text in response to every request, and then nothing more.
func held(text string) func(*testing.T, *hostileRun) string {
	return served(func(p *peer) {
		if p.ask() != nil {
			p.say(text)
			p.hold()
		}
	})
}

// endpoint sends named as the endpoint and keeps the stream open. It serves
// only the path of the stream.
func endpoint(named string) func(*testing.T, *hostileRun) string {
	return served(func(p *peer) {
		r := p.ask()
		switch {
		case r == nil:
		case r.Method == "GET":
			p.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: " + named + "\n\n")
			p.hold()
		default:
			p.say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
	})
}

// reconnecting asks the client to reconnect immediately, forever.
func reconnecting() func(*testing.T, *hostileRun) string {
	return says("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\nretry: 0\ndata:\n\n")
}

// bomb sends a small compressed body that expands to 1 GB.
func bomb(media, text string) func(*testing.T, *hostileRun) string {
	return bombed("HTTP/1.1 200 OK\r\nContent-Type: "+media+"\r\n", text)
}

func bombed(head, text string) func(*testing.T, *hostileRun) string {
	return served(func(p *peer) {
		p.ask()
		p.bomb(head, text)
	})
}
