package streamablehttp

import (
	"mime"
	"net"
	"net/url"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// flaw is a reason that a server may have to refuse a request.
type flaw int

const (
	badAccept      flaw = 1 << iota // Accept lacks a type that the client must accept
	badType                         // another content type than JSON
	badBody                         // not a legal JSON-RPC message
	noSession                       // no session id, although one was assigned
	unknownSession                  // a session id that the server did not assign
	endedSession                    // a session that the client ended by DELETE
	goneSession                     // a session that has got 404, or that the client is ending
	noVersion                       // no version header in a revision that requires it
	badVersion                      // a version header that no server can know
	otherVersion                    // another version than the negotiated one
	foreignOrigin                   // an origin on another host
	otherHost                       // a Host other than the server's
)

// flawsOf returns what is wrong with the request of x.
func (v *view) flawsOf(x *exchange) flaw {
	f := v.sessions.headerFlaws(x) | v.versionFlaws(x) | originFlaws(x)
	if !strings.EqualFold(hostname(x.RequestHead().Get("Host")), v.host) {
		f |= otherHost
	}
	accepted := v.mediaTypesOf(x.RequestHead())
	switch x.Method() {
	case "POST":
		if v.s.Transport == spec.StreamableHTTP && (!accepted[jsonType] || !accepted["text/event-stream"]) {
			f |= badAccept
		}
		if x.RequestHead().MediaType() != jsonType {
			f |= badType
		}
		if !v.hasLegalBody(x) {
			f |= badBody
		}
	case "GET":
		if !accepted["text/event-stream"] {
			f |= badAccept
		}
	}
	return f
}

// mediaTypesOf returns the media types in the Accept header. It caches them, because most requests
// have the same header.
func (v *view) mediaTypesOf(head *transcript.Head) map[string]bool {
	values := head.Get("Accept")
	known, ok := v.accepted[values]
	if !ok {
		known = acceptedTypes(head.Values("Accept"))
		v.accepted[values] = known
	}
	return known
}

// acceptedTypes returns the media types in Accept headers, without those whose quality is 0.
func acceptedTypes(values []string) map[string]bool {
	out := map[string]bool{}
	for _, value := range values {
		for _, item := range strings.Split(value, ",") {
			media, params, err := mime.ParseMediaType(item)
			if err == nil && strings.Trim(params["q"], "0.") != "" || err == nil && params["q"] == "" {
				out[media] = true
			}
		}
	}
	return out
}

// hasLegalBody reports whether a client may send the body.
func (v *view) hasLegalBody(x *exchange) bool {
	if x.Sent == nil || x.Sent.IsCut() || x.Sent.Unterminated {
		return false
	}
	f := x.Sent.Frame
	if f == nil || len(f.Problems) > 0 || len(f.Messages) == 0 || f.Batch && !v.revision.HasBatches() {
		return false
	}
	responses := 0
	for i := range f.Messages {
		m := &f.Messages[i]
		version, _ := wire.Text(m.Member("jsonrpc"))
		if version != "2.0" || m.Kind == wire.Invalid || m.Kind != wire.Response && m.Method == "" || f.Batch && m.Method == spec.MethodInitialize {
			return false
		}
		if m.Kind == wire.Response {
			responses++
		}
	}
	for _, req := range x.requests {
		if !req.WellFormed {
			return false
		}
	}
	return responses == 0 || responses == len(f.Messages)
}

// versionFlaws judges the version header. In a revision that does not define the header, a client
// may omit the header or name that revision in it.
func (v *view) versionFlaws(x *exchange) flaw {
	head := x.RequestHead()
	version := head.Get(versionHeader)
	r := spec.Revision(version)
	switch {
	case !head.Has(versionHeader):
		if v.revision.HasVersionHeader() && !x.hasInitialize() {
			return noVersion
		}
	case !v.revision.HasVersionHeader():
		if r != v.revision {
			return otherVersion
		}
	case r == v.revision:
	case r.IsPublished() || x.hasInitialize() || mayBeVersion(version):
		return otherVersion
	default:
		return badVersion
	}
	return 0
}

// mayBeVersion reports whether text, which is no published version, may be a version that a server
// knows: a draft, or a string that looks like a date since October 2024.
func mayBeVersion(text string) bool {
	return strings.Contains(strings.ToLower(text), "draft") || len(text) == len(spec.V20241105) && spec.Revision(text) > "2024-10" && text < "2100"
}

// originFlaws returns foreignOrigin if the Origin names another host, or no host.
func originFlaws(x *exchange) flaw {
	head := x.RequestHead()
	if !head.Has("Origin") {
		return 0
	}
	origin, err := url.Parse(head.Get("Origin"))
	if err != nil || origin.Host == "" || !strings.EqualFold(origin.Hostname(), hostname(head.Get("Host"))) {
		return foreignOrigin
	}
	return 0
}

// hostname returns the host of a Host header without its port.
func hostname(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name
}

// isLoopback reports whether a Host header names the local machine.
func isLoopback(host string) bool {
	name := strings.ToLower(hostname(host))
	ip := net.ParseIP(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && ip.IsLoopback()
}
