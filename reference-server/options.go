package refserver

import (
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Options configure a server. The zero value configures one that conforms.
type Options struct {
	Seams Seams
	// Revisions are the revisions that the server serves; all published ones when
	// empty.
	Revisions []spec.Revision
	// StateKey protects the requestState of revision 2026-07-28. Processes with the same key can
	// continue each other's requests; when empty, each process has its own key.
	StateKey string
	// RequestTimeout is how long the server waits for the client's response to
	// a request; 2 s when zero.
	RequestTimeout time.Duration
	// DrainTimeout is how long requests in flight may continue after the client
	// has closed stdin, or after Shutdown; 500 ms when zero.
	DrainTimeout time.Duration
	// PageSizes are the numbers of items on the pages of a list, used in turn; 3
	// and 2 when empty.
	PageSizes []int
	// LongList is the number of additional resources, which are listed after all others.
	LongList int
	// MoreTools is the number of additional read-only tools, which are listed after all others.
	MoreTools int
	// moreTools holds the tools that MoreTools adds. They are made once, because all sessions can
	// share them.
	moreTools []*tool
	// RateLimit is the number of tool calls and completions per second that one session may
	// request. The requests of stateless revisions share one such limit. 0 means no limit.
	RateLimit int
	// MaxFrame is the maximum length of an incoming frame in bytes; 16 MiB when zero.
	MaxFrame int
	// JSONOnly makes the server respond with JSON over Streamable HTTP, and with a stream
	// only to subscriptions/listen. Calls that do not run as tasks then report no progress
	// and send no requests to the client, because the listening stream must not carry
	// messages of a request.
	JSONOnly bool
	// Fixtures adds the tools, resources and prompts that the official
	// conformance suite expects.
	Fixtures bool
	// NoSessions makes every POST over Streamable HTTP independent, with a JSON
	// response; features that need a session are disabled.
	NoSessions bool
	// Origins are the origins of web pages that may use the server, such as
	// https://example.com. Pages of the server's own host may always use it, and local pages
	// may use a server that is reached under a loopback name.
	Origins []string
	// Hosts are the permitted values of the Host header, without port. When empty, a connection
	// over loopback permits only loopback names, and any other connection permits all names.
	Hosts []string
	// Token makes the HTTP server a protected resource, which serves only requests with
	// this bearer token. It has no effect if AuthServer is set.
	Token string
	// AuthServer is the issuer URL of an authorization server. With it, the HTTP server is a
	// protected resource, which serves only requests with a token that was issued for this
	// server.
	AuthServer string
	// Upstream is the URL of the service that the tool forecast calls; the tool exists only if
	// Upstream is set.
	Upstream string
}

func (o Options) withDefaults() Options {
	if o.RequestTimeout == 0 {
		o.RequestTimeout = 2 * time.Second
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 500 * time.Millisecond
	}
	if len(o.Revisions) == 0 {
		o.Revisions = spec.Revisions()
	}
	o.PageSizes = slices.DeleteFunc(slices.Clone(o.PageSizes), func(n int) bool { return n < 1 })
	if len(o.PageSizes) == 0 {
		o.PageSizes = []int{3, 2}
	}
	if o.NoSessions {
		o.JSONOnly = true // a stream could not be resumed
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = 16 << 20
	}
	if len(o.moreTools) != o.MoreTools {
		o.moreTools = numberedTools(o.MoreTools)
	}
	return o
}

// handshakeRevisions returns the revisions that the server negotiates in a handshake, oldest first.
// With NoSessions they exclude the revisions before Streamable HTTP.
func (o *Options) handshakeRevisions() []spec.Revision {
	return slices.DeleteFunc(spec.HandshakeRevisions(), func(r spec.Revision) bool {
		return !slices.Contains(o.Revisions, r) || o.NoSessions && !r.AtLeast(spec.V20250326)
	})
}

// statelessRevisions returns the revisions that the server serves without a
// handshake, oldest first.
func (o *Options) statelessRevisions() []spec.Revision {
	return slices.DeleteFunc(spec.Revisions(), func(r spec.Revision) bool {
		return r.Era() != spec.Stateless || !slices.Contains(o.Revisions, r)
	})
}

// supportedVersions returns all revisions that the server serves, newest first.
func (o *Options) supportedVersions() []spec.Revision {
	return spec.NewestFirst(slices.Concat(o.handshakeRevisions(), o.statelessRevisions()))
}

// pageEnd returns the position after the last item of the page that contains the given position.
// Pages always begin at the same positions, so a cursor leads to the same page each time.
func (o *Options) pageEnd(position int) int {
	end := 0
	for i := 0; end <= position; i++ {
		end += o.PageSizes[i%len(o.PageSizes)]
	}
	return end
}
