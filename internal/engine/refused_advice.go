package engine

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// peerAdvice returns the advice for an exchange that ended without a readable head of a response.
func (r *refusal) peerAdvice(obstacle transcript.Obstacle) string {
	switch {
	case obstacle == transcript.SpeaksHTTP2:
		return "make the server also speak HTTP/1.1, or put a proxy in front of it that does"
	case obstacle == transcript.SpeaksTLS:
		return "give the URL with https://"
	case r.isProxied():
		return checkURLAdvice + "; the request went through the proxy that HTTP_PROXY names"
	default:
		return checkURLAdvice + ", and read its log"
	}
}

// reachAdvice returns the advice for a connection that could not be opened.
func reachAdvice(obstacle transcript.Obstacle) string {
	switch obstacle {
	case transcript.NoTunnel:
		return "check what the proxy allows (it may need user and password in HTTPS_PROXY), or name the host in NO_PROXY"
	case transcript.NoProxy:
		return "check HTTP_PROXY and HTTPS_PROXY, or name the host in NO_PROXY"
	case transcript.UnknownAuthority:
		return "pass the authority's certificate with --ca-file FILE, or accept any with --insecure"
	case transcript.WrongCertificate:
		return "correct the certificate, or accept any with --insecure"
	case transcript.PlainHTTP:
		return "give the URL with http://"
	case transcript.TLSFailed:
		return "check that the port is one for https; a server without TLS needs a URL with http://"
	case transcript.NoHost:
		return "check the spelling of the host name in the URL"
	default:
		return "check that the server runs, and the URL"
	}
}

// statusAdvice returns the advice for a response with the given HTTP status.
func (r *refusal) statusAdvice(status int) string {
	head := r.ResponseHead()
	switch {
	case r.refusesToken():
		return "the server did not accept the Authorization header: check the token" + r.quoteChallenge()
	case status == 401, status == 403:
		return "the server requires credentials: log in with mcp-conform login " + cmp.Or(r.serverURL(), "URL") + ", or give --bearer-env NAME or --header 'Name: value'" + r.quoteChallenge()
	case r.isProxied() && (status == 407 || status >= 502 && status <= 504):
		return "the proxy may have sent this: check HTTP_PROXY, or name the host in NO_PROXY"
	case status == 400 && strings.Contains(r.quoteBody(""), "HTTPS"):
		return "give the URL with https://"
	case r.looksStreamable(status):
		return "it looks like Streamable HTTP, which refuses a GET without a session: omit --transport, or give --transport http"
	case r.looksLegacy(status):
		return "it looks like HTTP+SSE, which is opened by a GET: omit --transport, or give --transport sse; otherwise check the path (" + r.requestTarget() + " was requested)"
	case (status == 404 || status == 405) && r.stream != nil && r.Exchange != r.stream:
		return "let the endpoint event name a URI that accepts messages; it named one that leads to " + r.requestTarget()
	case status == 404, status == 405:
		return "check the path: MCP endpoints are often /mcp, and /sse for the older transport (" + r.requestTarget() + " was requested)"
	case status == 400 && namesVersion(r.bodyStart()) && !r.RequestHead().Has("MCP-Protocol-Version"):
		return "accept initialize without the header MCP-Protocol-Version: clients send it only after the handshake"
	case status/100 == 3:
		return r.redirectAdvice(status)
	case status == 429:
		return "the server limits requests, and mcp-conform has given up (it waits a minute at most): try later, or raise its limit" + prefixUnlessEmpty("; its Retry-After is ", head.Get("Retry-After"))
	case status >= 502 && status <= 504:
		return "check that the server itself runs behind the proxy"
	case status/100 == 5:
		return "read the server's log"
	default:
		return "let the server accept an initialize request with application/json and text/event-stream in Accept" + prefixUnlessEmpty("; its Allow header is ", head.Get("Allow"))
	}
}

// refusesToken reports whether the server did not accept the Authorization header.
func (r *refusal) refusesToken() bool {
	status := r.Status()
	return (status == 401 || status == 403) && r.RequestHead().Has("Authorization")
}

// quoteChallenge returns a phrase, to append to the advice, that quotes the WWW-Authenticate header
// of the response. It returns "" if there is none.
func (r *refusal) quoteChallenge() string {
	asks := ""
	if head := r.ResponseHead(); head != nil {
		asks = head.Get("WWW-Authenticate")
	}
	if asks != "" {
		asks = "; it asks for " + wire.Excerpt(asks, 120)
	}
	return asks
}

// namesVersion reports whether the body of a refusal mentions the header MCP-Protocol-Version.
func namesVersion(body string) bool {
	body = strings.ToLower(body)
	return strings.Contains(body, "protocol-version") || strings.Contains(body, "version header")
}

// looksStreamable reports whether the GET that should open the HTTP+SSE stream was refused with a
// status with which Streamable HTTP servers refuse a GET.
func (r *refusal) looksStreamable(status int) bool {
	return r.Exchange == r.stream && (status == 400 || status == 405 || status == 406)
}

// looksLegacy reports whether a POST was refused at a path at which HTTP+SSE servers often have
// their stream.
func (r *refusal) looksLegacy(status int) bool {
	if r.stream != nil || status != 400 && status != 404 && status != 405 {
		return false
	}
	path, _, _ := strings.Cut(r.RequestHead().Target(), "?")
	return strings.HasSuffix(strings.TrimSuffix(path, "/"), "/sse")
}

func prefixUnlessEmpty(before, text string) string {
	if text == "" {
		return ""
	}
	return before + wire.Excerpt(text, 80)
}

// redirectAdvice returns advice that says where a redirect leads, and why it was not followed.
func (r *refusal) redirectAdvice(status int) string {
	location := strings.TrimSpace(r.ResponseHead().Get("Location"))
	if location == "" {
		return "the redirection has no Location header: add one"
	}
	to, host := location, ""
	if base, err := url.Parse(r.serverURL()); err == nil {
		if u, err := base.Parse(location); err == nil {
			to, host = u.String(), u.Host
		}
		if host == base.Host {
			host = ""
		}
	}
	to = wire.Excerpt(to, 200)
	switch n := r.countRedirects(); {
	case status != 307 && status != 308 && r.Method() == "POST":
		return "this redirection turns a POST into a GET; use the URL that it leads to: " + to
	case host != "":
		return "redirections to another host are not followed; if you trust it, use its URL: " + to
	case n > 1:
		return fmt.Sprintf("%d redirections form a loop or are too many, the last one to %s: use the URL of the endpoint itself", n, to)
	case r.Method() == "POST":
		return fmt.Sprintf("the redirection is a loop, to %s: use the URL of the endpoint itself", to)
	default:
		return "use the URL that it leads to: " + to
	}
}
