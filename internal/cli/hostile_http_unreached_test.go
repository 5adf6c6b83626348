package cli

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// unreached returns URLs at which no server can be reached. The run ends with
// exit code 3 and says why.
func unreached() []hostileServer {
	url := func(u string, flags ...string) func(*testing.T, *hostileRun) string {
		return func(_ *testing.T, r *hostileRun) string { r.flags = append(r.flags, flags...); return u }
	}
	return []hostileServer{
		{"refused", closed, 3, []string{`nothing listens at 127\.0\.0\.1:\d+ \(connection refused\)`, `check that the server runs, and the URL`}, 0},
		{"refused, sse", over("sse", closed), 3, []string{`nothing listens at`}, 0},
		{"refused, http", over("http", closed), 3, []string{`nothing listens at`}, 0},
		{"no such host", url("http://nobody.invalid/mcp"), 3, []string{`there is no host nobody\.invalid`, `check the spelling`}, 0},
		{"self-signed", certified("127.0.0.1", time.Now().Add(time.Hour)), 3, []string{`TLS`, `certificate`, `an unknown authority has signed`, `--ca-file`, `--insecure`}, 0},
		{"another name", trusting(certified("example.com", time.Now().Add(time.Hour))), 3, []string{`the certificate is for example\.com, not for 127\.0\.0\.1`, `correct the certificate`}, 0},
		{"expired", trusting(certified("127.0.0.1", time.Now().Add(-time.Hour))), 3, []string{`the certificate expired`, `correct the certificate`}, 0},
		{"http behind https", func(t *testing.T, r *hostileRun) string {
			return strings.Replace(handled(http.NotFound)(t, r), "http:", "https:", 1)
		}, 3, []string{`TLS`, `speaks HTTP without TLS`, `http://`}, 0},
		{"https behind http", func(t *testing.T, r *hostileRun) string {
			return strings.Replace(certified("127.0.0.1", time.Now().Add(time.Hour))(t, r), "https:", "http:", 1)
		}, 3, []string{`https://`}, 0},
		{"TLS by one who does not speak it", func(t *testing.T, _ *hostileRun) string {
			return "https://" + raw(t, func(p *peer) { p.say("SSH-2.0-OpenSSH_9.6\r\n"); p.hold() }) + "/mcp"
		}, 3, []string{`TLS`, `the port is one for https`}, 0},
		{"TLS that is never established", func(t *testing.T, _ *hostileRun) string {
			return "https://" + raw(t, func(p *peer) { p.hold() }) + "/mcp"
		}, 3, []string{`the time ran out while agreeing on TLS`, `the port is one for https`}, 0},
		{"proxy page", proxied("http", func(p *peer) {
			p.ask()
			p.say("HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html><title>502 Bad Gateway</title>")
		}), 3, []string{`502 Bad Gateway`, `the proxy may have sent this`}, 0},
		{"proxy page, https", proxied("https", func(p *peer) {
			p.ask()
			p.say("HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html><title>502 Bad Gateway</title>")
		}), 3, []string{`the proxy 127\.0\.0\.1:\d+: asked for a connection to example\.invalid:443`, `502 Bad Gateway`, `what the proxy allows`}, 0},
		{"proxy wants to know who asks", proxied("https", func(p *peer) {
			p.ask()
			p.say("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n")
		}), 3, []string{`407`, `user and password`}, 0},
		{"proxy never answers", proxied("https", func(p *peer) { p.ask(); p.hold() }), 3, []string{`the time ran out while the proxy 127\.0\.0\.1:\d+ was asked`, `what the proxy allows`}, 0},
		{"proxy hangs up", proxied("https", func(p *peer) { p.ask() }), 3, []string{`the proxy 127`, `what the proxy allows`}, 0},
		{"proxy refused", func(t *testing.T, r *hostileRun) string {
			r.environ = append(r.environ, "HTTP_PROXY="+strings.TrimSuffix(closed(t, r), "/mcp"))
			return "http://example.invalid/mcp"
		}, 3, []string{`the proxy 127\.0\.0\.1:\d+`, `nothing listens`, `HTTP_PROXY`}, 0},
		{"proxy of a strange sort", func(_ *testing.T, r *hostileRun) string {
			r.environ = append(r.environ, "HTTP_PROXY=socks5://127.0.0.1:1")
			return "http://example.invalid/mcp"
		}, 3, []string{`only http and https proxies can be used`, `check HTTP_PROXY and HTTPS_PROXY`}, 0},
	}
}

// closed returns an address at which no server listens any more.
func closed(t *testing.T, _ *hostileRun) string {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	_ = l.Close()
	return "http://" + l.Addr().String() + "/mcp"
}

// proxied returns a server behind a proxy that interferes.
func proxied(scheme string, serve func(p *peer)) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, r *hostileRun) string {
		at := raw(t, serve)
		r.environ = append(r.environ, "HTTP_PROXY=http://"+at, "HTTPS_PROXY=http://"+at, "NO_PROXY=")
		return scheme + "://example.invalid/mcp"
	}
}

// at returns the server's URL with another path.
func at(path string, serve func(*testing.T, *hostileRun) string) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, r *hostileRun) string {
		return strings.TrimSuffix(serve(t, r), "/mcp") + path
	}
}

// refusing returns servers that respond, but never with an MCP response.
func refusing() []hostileServer {
	json := "Content-Type: application/json\r\n"
	html := "Content-Type: text/html\r\n"
	return []hostileServer{
		{"html", answers("200 OK", html, "<!doctype html><title>Welcome</title>"), 3, []string{`200 OK`, `web page`, `check that the URL`}, 0},
		{"html, sse", over("sse", answers("200 OK", html, "<!doctype html><title>Welcome</title>")), 3, []string{`200 OK`, `web page`}, 0},
		{"html said to be json", answers("200 OK", json, "<!doctype html><title>Welcome</title>"), 3, []string{`web page`}, 0},
		{"json, no message", answers("200 OK", json, `{"status":"ok"}`), 3, []string{`a message that is not the response: \{"status":"ok"\}`, `answer it with a JSON-RPC response`}, 0},
		{"401", answers("401 Unauthorized", "", ""), 3, []string{`401 Unauthorized`, `--bearer-env NAME`}, 0},
		{"401 with a challenge", answers("401 Unauthorized", "WWW-Authenticate: Bearer resource_metadata=\"https://example.com/.well-known/oauth-protected-resource\"\r\n", ""), 4, []string{`the server requires a token`, `--bearer-env NAME`}, 0},
		{"401 with a basic challenge", answers("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n", ""), 3, []string{`401 Unauthorized`, `--bearer-env NAME`, `Basic realm="x"`}, 0},
		{"401 though there is a token", func(t *testing.T, r *hostileRun) string {
			r.flags = append(r.flags, "--header", "Authorization: Bearer abcdefgh")
			return answers("401 Unauthorized", "", "")(t, r)
		}, 3, []string{`401 Unauthorized`, `the server did not accept the Authorization header`}, 0},
		{"401, sse", over("sse", answers("401 Unauthorized", "", "")), 3, []string{`the GET that opens the event stream was answered with "HTTP/1\.1 401`, `--bearer-env NAME`}, 0},
		{"403", answers("403 Forbidden", json, `{"error":"no"}`), 3, []string{`403 Forbidden`, `--bearer-env NAME`}, 0},
		{"404", answers("404 Not Found", "", "404 page not found"), 3, []string{`404 Not Found`, `check the path`, `/mcp was requested`}, 0},
		{"404, sse", over("sse", answers("404 Not Found", "", "")), 3, []string{`404 Not Found`, `check the path`}, 0},
		{"405", answers("405 Method Not Allowed", "Allow: GET\r\n", ""), 3, []string{`405 Method Not Allowed`, `check the path`}, 0},
		{"400 to a GET, sse", over("sse", answers("400 Bad Request", json, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No session"}}`)), 3, []string{`400 Bad Request`, `looks like Streamable HTTP`, `omit --transport, or give --transport http`}, 0},
		{"405 to a GET, sse", over("sse", answers("405 Method Not Allowed", "Allow: POST\r\n", "")), 3, []string{`405 Method Not Allowed`, `looks like Streamable HTTP`}, 0},
		{"406 to a GET, sse", over("sse", answers("406 Not Acceptable", "", "")), 3, []string{`406 Not Acceptable`, `looks like Streamable HTTP`}, 0},
		{"400 to what is not TLS, sse", over("sse", answers("400 Bad Request", "", "Client sent an HTTP request to an HTTPS server.")), 3, []string{`400 Bad Request`, `with https://`}, 0},
		{"405 to a POST at /sse", over("http", at("/sse", answers("405 Method Not Allowed", "Allow: GET\r\n", ""))), 3, []string{`405 Method Not Allowed`, `looks like HTTP\+SSE`, `omit --transport, or give --transport sse`}, 0},
		{"404 to a POST at /sse", over("http", at("/sse", answers("404 Not Found", "", ""))), 3, []string{`404 Not Found`, `looks like HTTP\+SSE`, `check the path`}, 0},
		{"406", answers("406 Not Acceptable", "", ""), 3, []string{`406 Not Acceptable`}, 0},
		{"429", answers("429 Too Many Requests", "", ""), 3, []string{`429 Too Many Requests`, `the server limits requests`, `raise its limit\n`}, 0},
		{"429 for an hour", answers("429 Too Many Requests", "Retry-After: 3600\r\n", ""), 3, []string{`429 Too Many Requests`, `waits a minute at most`, `its Retry-After is 3600`}, 5 * time.Second},
		{"429, sse", over("sse", answers("429 Too Many Requests", "Retry-After: 0\r\n", "")), 3, []string{`429 Too Many Requests`, `the server limits requests`}, 0},
		{"500", answers("500 Internal Server Error", "", "boom"), 3, []string{`500 Internal Server Error": boom`, `read the server's log`}, 0},
		{"500, sse", over("sse", answers("500 Internal Server Error", "", "boom")), 3, []string{`500 Internal Server Error`, `read the server's log`}, 0},
		{"500, http", over("http", answers("500 Internal Server Error", "", "boom")), 3, []string{`500 Internal Server Error`, `read the server's log`}, 0},
		{"503", answers("503 Service Unavailable", "", ""), 3, []string{`503 Service Unavailable`}, 0},
		{"nothing with 200", answers("200 OK", "Content-Length: 0\r\n", ""), 3, []string{`200 OK`, `without a body`}, 0},
		{"nothing with 200, sse", over("sse", answers("200 OK", "Content-Length: 0\r\n", "")), 3, []string{`200 OK`, `no event stream`}, 0},
		{"202 to all", answers("202 Accepted", "Content-Length: 0\r\n", ""), 3, []string{`202 Accepted`, `without a body`}, 0},
		{"204 to all", answers("204 No Content", "", ""), 3, []string{`204 No Content`, `without a body`}, 0},
		{"redirect to another host", answers("301 Moved Permanently", "Location: https://example.com/mcp\r\n", ""), 3, []string{`301 Moved Permanently`, `use the URL that it leads to: https://example.com/mcp`}, 0},
		{"307 to another host", answers("307 Temporary Redirect", "Location: https://example.com/mcp\r\n", ""), 3, []string{`307`, `https://example.com/mcp`, `another host`}, 0},
		{"redirect to itself", answers("307 Temporary Redirect", "Location: /mcp\r\n", ""), 3, []string{`307`, `is a loop`}, 0},
		{"redirect in a circle", handled(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, map[string]string{"/mcp": "/a", "/a": "/b", "/b": "/mcp"}[r.URL.Path], http.StatusPermanentRedirect)
		}), 3, []string{`308`, `form a loop`}, 0},
		{"redirect without end", handled(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusPermanentRedirect)
		}), 3, []string{`308`, `too many`}, 0},
		{"redirect by GET", answers("302 Found", "Location: /login\r\n", ""), 3, []string{`302 Found`, `/login`}, 0},
		{"redirect to nowhere", answers("308 Permanent Redirect", "", ""), 3, []string{`308`, `no Location`}, 0},
		{"redirect, sse", over("sse", answers("307 Temporary Redirect", "Location: /other\r\n", "")), 3, []string{`307`, `use the URL that it leads to: .*/other`}, 0},
	}
}
