package client

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Metadata returns the _meta of a request of the stateless era: the version, the client and
// its capabilities (2026-07-28, basic/index#meta). The caller may change it.
func (c *Conversation) Metadata() map[string]any {
	return map[string]any{spec.MetaVersion: c.opts.Version, spec.MetaClientInfo: ClientInfo(), spec.MetaClientCapabilities: c.opts.Capabilities}
}

// withMeta returns the params to send. In the stateless era it adds a _meta with the version, the
// client and its capabilities. It keeps the keys of an existing _meta, and does not change a _meta
// that is not an object.
func (c *Conversation) withMeta(in map[string]any) map[string]any {
	if c.opts.Revision.Era() == spec.Handshake {
		return in
	}
	out := maps.Clone(in)
	if out == nil {
		out = map[string]any{}
	}
	meta := c.Metadata()
	if own, there := out["_meta"]; there {
		keys, ok := own.(map[string]any)
		if !ok {
			return out
		}
		maps.Copy(meta, keys)
	}
	out["_meta"] = meta
	return out
}

// InitializeParams returns the params that Initialize sends.
func (c *Conversation) InitializeParams() map[string]any {
	return map[string]any{
		"protocolVersion": c.opts.Version,
		"capabilities":    c.opts.Capabilities,
		"clientInfo":      ClientInfo(),
	}
}

// Initialize sends initialize, and nothing after it, and keeps what the server declares. It waits
// as long as a start may take. A missing response is not recorded as a failure of this request,
// because it is reported for the conversation as a whole.
func (c *Conversation) Initialize(ctx context.Context) *Reply {
	id := c.NewID()
	r := c.sendAndAwait(ctx, min(c.opts.Timeout, c.opts.StartTimeout), id, wire.NewRequest(id, spec.MethodInitialize, c.InitializeParams()))
	if r.Succeeded() {
		c.setInitialized(r)
	}
	return r
}

// Initialized notifies the server that the handshake is complete.
func (c *Conversation) Initialized(ctx context.Context) error {
	return c.Notify(ctx, spec.MethodInitialized, nil)
}

// Discover sends server/discover and keeps what the server says about itself.
// Server.ProtocolVersion is then the version that the conversation requests, or empty if the server
// lists only others.
func (c *Conversation) Discover(ctx context.Context) *Reply {
	id := c.NewID()
	r := c.sendAndAwait(ctx, min(c.opts.Timeout, c.opts.StartTimeout), id, c.Request(id, spec.MethodDiscover, nil))
	if r.Succeeded() {
		c.setDiscovered(r)
	}
	return r
}

// Greet sends the first request of an ordinary client and nothing after it:
// initialize, or server/discover in the stateless era.
func (c *Conversation) Greet(ctx context.Context) *Reply {
	if c.opts.Revision.Era() == spec.Stateless {
		return c.Discover(ctx)
	}
	return c.Initialize(ctx)
}

// Handshake makes the conversation ready for requests: it sends initialize and initialized in the
// handshake era, and server/discover in the stateless one. It returns a HandshakeError if the
// server does not respond, refuses, or does not support the requested version.
func (c *Conversation) Handshake(ctx context.Context) error {
	r := c.Greet(ctx)
	if err := handshakeError(r); err != nil {
		return err
	}
	got := c.Server().ProtocolVersion
	switch {
	case c.opts.Revision.Era() == spec.Handshake && got != c.opts.Version:
		return &HandshakeError{Reason: "asked for version " + c.opts.Version + ", the server chose " + got, Reply: r}
	case c.opts.Revision.Era() == spec.Handshake:
		return c.Initialized(ctx)
	case got != c.opts.Version:
		return &HandshakeError{Reason: "server/discover lists other versions than " + c.opts.Version, Reply: r}
	default:
		return nil
	}
}

func handshakeError(r *Reply) error {
	switch {
	case !r.Answered():
		return &HandshakeError{Reason: r.Err.Error(), Reply: r, Err: r.Err}
	case !r.Succeeded():
		return &HandshakeError{Reason: "the server refused", Reply: r}
	}
	return nil
}

// setInitialized stores what the result of initialize says about the server.
func (c *Conversation) setInitialized(r *Reply) {
	result := r.Message.Result()
	version, _ := wire.Text(wire.At(result, "/protocolVersion"))
	c.setServer(r, version, wire.At(result, "/serverInfo"))
}

// setDiscovered stores what the result of server/discover says about the server.
func (c *Conversation) setDiscovered(r *Reply) {
	result := r.Message.Result()
	version := c.opts.Version
	if listed := listedVersions(result); len(listed) > 0 && !slices.Contains(listed, spec.Revision(version)) {
		version = ""
	}
	c.setServer(r, version, wire.At(result, spec.MetaPointer(spec.MetaServerInfo)))
}

// Lists reports whether the result of server/discover lists the revision. It returns false for a
// server of an older revision that answers every method with some result.
func (s Server) Lists(r spec.Revision) bool { return slices.Contains(listedVersions(s.Result), r) }

// DescribeListedVersions returns a short phrase that says which versions server/discover lists.
func (s Server) DescribeListedVersions() string {
	var texts []string
	for _, v := range listedVersions(s.Result) {
		if v != "" {
			texts = append(texts, string(v))
		}
	}
	if len(texts) == 0 {
		return "server/discover lists no version"
	}
	return "server/discover lists only " + wire.Excerpt(strings.Join(texts, ", "), 80)
}

// listedVersions returns the versions that the result of server/discover lists; an element
// that is not a string counts as "".
func listedVersions(result jsontext.Value) []spec.Revision {
	var out []spec.Revision
	for _, v := range wire.Elements(wire.At(result, "/supportedVersions")) {
		version, _ := wire.Text(v)
		out = append(out, spec.Revision(version))
	}
	return out
}

func (c *Conversation) setServer(r *Reply, version string, info jsontext.Value) {
	s := Server{Result: r.Message.Result(), Event: r.Event, ProtocolVersion: version}
	_, s.Capabilities = wire.Members(wire.At(s.Result, "/capabilities"))
	s.Name, _ = wire.Text(wire.At(info, "/name"))
	s.Version, _ = wire.Text(wire.At(info, "/version"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = s
}
