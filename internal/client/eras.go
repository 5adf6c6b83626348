package client

import (
	"context"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Keys of the per-request metadata of the stateless era
// (2026-07-28, basic/index, per-request metadata).
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// withMeta returns the params to send: in the stateless era the _meta of every
// request holds the version, the client and its capabilities. Existing keys
// stay, and so does a _meta that is not an object.
func (c *Conversation) withMeta(in map[string]any) map[string]any {
	if c.opts.Revision.Era() == spec.Handshake {
		return in
	}
	out := maps.Clone(in)
	if out == nil {
		out = map[string]any{}
	}
	meta := map[string]any{metaVersion: c.opts.Version, metaClientInfo: ClientInfo(), metaCapabilities: c.opts.Capabilities}
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

// Initialize sends initialize, and nothing after it, and keeps what the
// server says of itself. The wait is for as long as a start may take. That no answer
// came is not recorded, for it is said of the conversation as a whole.
func (c *Conversation) Initialize(ctx context.Context) *Reply {
	id := c.NewID()
	r := c.exchange(ctx, min(c.opts.Timeout, c.opts.StartTimeout), id, wire.NewRequest(id, spec.MethodInitialize, c.InitializeParams()))
	if r.Succeeded() {
		c.setServer(r.Message.Result(), "protocolVersion")
	}
	return r
}

// Initialized notifies the server that the handshake is complete.
func (c *Conversation) Initialized(ctx context.Context) error {
	return c.Notify(ctx, spec.MethodInitialized, nil)
}

// Handshake opens the dealings: initialize and initialized in the handshake
// era, server/discover in the stateless one. It fails where the server does
// not answer, refuses, or answers with another version than was asked for.
func (c *Conversation) Handshake(ctx context.Context) error {
	if c.opts.Revision.Era() == spec.Stateless {
		return c.discover(ctx)
	}
	r := c.Initialize(ctx)
	if err := handshakeError(r); err != nil {
		return err
	}
	if got := c.Server().ProtocolVersion; got != c.opts.Version {
		return &HandshakeError{Reason: "asked for version " + c.opts.Version + ", the server chose " + got, Reply: r}
	}
	return c.Initialized(ctx)
}

func (c *Conversation) discover(ctx context.Context) error {
	id := c.NewID()
	r := c.exchange(ctx, min(c.opts.Timeout, c.opts.StartTimeout), id, c.Request(id, spec.MethodDiscover, nil))
	if err := handshakeError(r); err != nil {
		return err
	}
	c.setServer(r.Message.Result(), "")
	return nil
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

// setServer stores the server data of a result.
func (c *Conversation) setServer(result jsontext.Value, versionMember string) {
	s := Server{Result: result}
	if versionMember != "" {
		s.ProtocolVersion, _ = wire.Text(wire.At(result, "/"+versionMember))
	}
	_, s.Capabilities = wire.Members(wire.At(result, "/capabilities"))
	s.Name, _ = wire.Text(wire.At(result, "/serverInfo/name"))
	s.Version, _ = wire.Text(wire.At(result, "/serverInfo/version"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = s
}
