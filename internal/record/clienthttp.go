package record

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	sending         = "basic/transports/streamable-http#sending-messages"
	listening       = "basic/transports#listening-for-messages-from-the-server"
	sessionsSection = "basic/transports#session-management"
	versionHeader   = "basic/transports#protocol-version-header"
	versionMatches  = "basic/transports/streamable-http#protocol-version-header"
	methodHeaders   = "basic/transports/streamable-http#standard-request-headers"
)

// An httpClient holds what is known about a client from its HTTP requests and their statuses.
type httpClient struct {
	heads    map[int]*transcript.Head // of the requests, by exchange
	sentIn   map[int][]string         // ids of the client's requests, by exchange
	revision spec.Revision            // the revision in the result of initialize, "" before it
	gone     bool                     // the server responded with 404 to a POST that had the session id
}

// checkRequestHead stores the head of an HTTP request, and adds the mistakes in it.
func (c *client) checkRequestHead(e *transcript.Event) {
	c.heads[e.Exchange] = e.Head
	if c.over != spec.StreamableHTTP || !e.Head.Has(sessionHeader) { // without a session id it may come from another client, or a browser
		return
	}
	if e.Head.Method() == http.MethodGet && !acceptsMediaType(e.Head, transcript.EventStream) {
		c.addMistake(e, listening, "The client sends a GET whose Accept header does not list text/event-stream.")
	}
	if c.revision.HasVersionHeader() && !e.Head.Has(headers.Version) {
		c.addMistake(e, versionHeader, "The client sends requests without MCP-Protocol-Version after initialize.")
	}
}

// acceptsMediaType reports whether the Accept header lists the media type, or a range that contains
// it.
func acceptsMediaType(h *transcript.Head, media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	return slices.ContainsFunc(strings.Split(h.Get("Accept"), ","), func(part string) bool {
		got, _, err := mime.ParseMediaType(part)
		return err == nil && (got == media || got == kind+"/*" || got == "*/*")
	})
}

// checkPost adds the mistakes in a Streamable HTTP POST and its messages.
func (c *client) checkPost(e *transcript.Event) {
	head := c.heads[e.Exchange]
	if c.over != spec.StreamableHTTP || head == nil || head.Method() != http.MethodPost || len(e.Messages()) == 0 {
		return
	}
	if !acceptsMediaType(head, "application/json") || !acceptsMediaType(head, transcript.EventStream) {
		c.addMistake(e, sending, "The client sends a POST whose Accept header does not list both application/json and text/event-stream.")
	}
	revision := c.revision
	for i := range e.Messages() {
		m := &e.Frame.Messages[i]
		named, _ := wire.Text(wire.At(m.Params(), spec.MetaPointer(spec.MetaVersion)))
		stateless := spec.Revision(named).IsPublished() && spec.Revision(named).Era() == spec.Stateless
		switch {
		case m.Kind == wire.Request && stateless:
			revision = spec.Revision(named)
			c.checkMirroredHeaders(e, head, m, named)
		case m.Kind == wire.Response && head.Get(headers.Version) == string(spec.V20260728):
			c.addMistake(e, sending, "The client sends a response over HTTP, which 2026-07-28 does not permit.")
		case m.Method == spec.MethodInitialize && c.gone && head.Has(sessionHeader):
			c.addMistake(e, sessionsSection, "The client sends initialize with the id of a session that the server has ended.")
		}
	}
	if e.Frame.Batch && revision.AtLeast(spec.V20250618) && !c.unsure {
		c.addMistake(e, sending, "The client sends several messages in one body.")
	}
}

// checkMirroredHeaders adds a mistake for each header that a stateless request lacks, or that
// differs from the message in its body. version is the protocol version in that message.
func (c *client) checkMirroredHeaders(e *transcript.Event, head *transcript.Head, m *wire.Message, version string) {
	expect := func(name, want, what, section string) {
		got := head.Get(name)
		if name == headers.Name {
			got, _ = headers.Decode(got)
		}
		switch {
		case !head.Has(name):
			c.addMistake(e, section, "The client sends a request without %s.", name)
		case got != want:
			c.addMistake(e, section, "The client's %s differs from %s of the message.", name, what)
		}
	}
	expect(headers.Version, version, "the protocol version", versionMatches)
	expect(headers.Method, m.Method, "the method", methodHeaders)
	if name, ok := headers.NameOf(m); ok {
		expect(headers.Name, name, "the name or URI", methodHeaders)
	}
}

// noteStatus notes the status of a response. The client may retry a request with the same id if the
// server refused it with a status other than 2xx, for example because a token is missing.
func (c *client) noteStatus(e *transcript.Event) {
	status, head := e.Head.Status(), c.heads[e.Exchange]
	c.gone = c.gone || status == http.StatusNotFound && head != nil && head.Method() == http.MethodPost && head.Has(sessionHeader)
	if status/100 != 2 {
		c.freeIDs(e.Exchange)
	}
}

// freeIDs allows the client to reuse the ids of the requests in a failed exchange.
func (c *client) freeIDs(exchange int) {
	for _, id := range c.sentIn[exchange] {
		c.ids[id] = false
	}
	if exchange == c.openingIn && !c.opened {
		c.opening = ""
	}
}
