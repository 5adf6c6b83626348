package refserver

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const instructions = "A server for trying out clients and conformance tests. " +
	"All its tools are harmless; echo and add are good first calls."

// initialize negotiates the revision: the requested one if the server supports it,
// otherwise the newest supported one, which the client may decline.
func (c *Call) initialize() (any, *Error) {
	f := c.fields()
	requested, err := f.requiredString("protocolVersion")
	if err != nil {
		return nil, err
	}
	if f["capabilities"].Kind() != '{' {
		return nil, invalidParams("capabilities must be an object")
	}
	info, err := f.optionalObject("clientInfo")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"name", "version"} {
		if _, err := info.requiredString(name); err != nil {
			return nil, invalidParams("clientInfo.%s must be a string", name)
		}
	}
	supported := c.Session.options.handshakeRevisions()
	r := supported[len(supported)-1]
	if slices.Contains(supported, spec.Revision(requested)) {
		r = spec.Revision(requested)
	}
	s := c.Session
	s.mu.Lock()
	s.revision, s.clientCapabilities = r, decodeObject(f["capabilities"])
	s.mu.Unlock()
	return object{
		"protocolVersion": r,
		"capabilities":    s.options.capabilities(r),
		"serverInfo":      serverInfo(r),
		"instructions":    instructions,
	}, nil
}

// capabilities returns the server's capabilities in a revision.
func (o *Options) capabilities(r spec.Revision) object {
	declared := object{"tools": object{}, "resources": object{}, "prompts": object{}}
	if r.AtLeast(spec.V20250326) { // 2024-11-05 has completion without a capability
		declared["completions"] = object{}
	}
	if o.NoSessions && r.Era() == spec.Handshake {
		return declared
	}
	declared["tools"] = object{"listChanged": true}
	declared["resources"] = object{"listChanged": true, "subscribe": true}
	declared["prompts"] = object{"listChanged": true}
	if r.Era() == spec.Handshake || !o.JSONOnly { // without a stream no log message could be sent
		declared["logging"] = object{}
	}
	if o.hasTasks(r) {
		declared["tasks"] = taskCapability()
	}
	return declared
}

func serverInfo(r spec.Revision) object {
	o := object{"name": "mcp-conform-reference-server", "version": "1.0.0"}
	addTitleAndIcons(o, r, "Reference server")
	if r.AtLeast(spec.V20251125) {
		o["description"] = "The server that mcp-conform measures itself against"
		o["websiteUrl"] = "https://github.com/mcp-conform/mcp-conform"
	}
	return o
}

// addTitleAndIcons adds a title and icons to o, as far as revision r defines them.
func addTitleAndIcons(o object, r spec.Revision, title string) {
	if r.AtLeast(spec.V20250618) {
		o["title"] = title
	}
	if r.AtLeast(spec.V20251125) {
		o["icons"] = []object{{"src": "data:image/png;base64," + dotPNG, "mimeType": "image/png", "sizes": []string{"1x1"}}}
	}
}

// handleInitialized handles notifications/initialized, after which the server may send requests to
// the client. It ignores a notification that precedes initialize.
func (s *Session) handleInitialized() {
	s.mu.Lock()
	first := s.revision != "" && !s.initialized
	s.initialized = s.revision != ""
	s.mu.Unlock()
	if first {
		s.refreshRoots()
	}
}

func (c *Call) ping() (any, *Error) { return object{}, nil }

// sendProgress sends a progress notification if the request has a progress token and a stream
// can carry the notification. It omits a total of 0, which means unknown.
func (c *Call) sendProgress(done, total int, message string) {
	token := wire.At(c.Params, "/_meta/progressToken")
	if token == nil || c.Session.options.JSONOnly && c.task == nil { // no stream belongs to the call
		return
	}
	p := object{"progressToken": token, "progress": done}
	if total > 0 {
		p["total"] = total
	}
	if c.Revision.AtLeast(spec.V20250326) {
		p["message"] = message
	}
	c.Notify(spec.MethodProgress, p)
}
