package refserver

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const instructions = "A server for trying out clients and conformance tests. " +
	"All its tools are harmless; echo and add are good first calls."

// initialize agrees on a revision: the one asked for where the server speaks
// it, else the newest it speaks, which the client is free to decline.
func (c *Call) initialize() (any, *Error) {
	f := c.fields()
	asked, err := f.text("protocolVersion")
	if err != nil {
		return nil, err
	}
	if f["capabilities"].Kind() != '{' {
		return nil, invalidParams("capabilities must be an object")
	}
	info, err := f.object("clientInfo")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"name", "version"} {
		if _, err := info.text(name); err != nil {
			return nil, invalidParams("clientInfo.%s must be a string", name)
		}
	}
	spoken := c.Session.o.spoken()
	r := spoken[len(spoken)-1]
	if slices.Contains(spoken, spec.Revision(asked)) {
		r = spec.Revision(asked)
	}
	s := c.Session
	s.mu.Lock()
	s.revision, s.declared = r, decode(f["capabilities"])
	s.mu.Unlock()
	return object{
		"protocolVersion": r,
		"capabilities":    s.o.capabilities(r),
		"serverInfo":      serverInfo(r),
		"instructions":    instructions,
	}, nil
}

// capabilities are those of the server in a revision.
func (o *Options) capabilities(r spec.Revision) object {
	declared := object{"tools": object{}, "resources": object{}, "prompts": object{}}
	if r.AtLeast(spec.V20250326) { // 2024-11-05 completes without saying so
		declared["completions"] = object{}
	}
	if o.NoSessions {
		return declared
	}
	declared["tools"] = object{"listChanged": true}
	declared["resources"] = object{"listChanged": true, "subscribe": true}
	declared["prompts"] = object{"listChanged": true}
	declared["logging"] = object{}
	if o.hasTasks(r) {
		declared["tasks"] = taskCapability()
	}
	return declared
}

func serverInfo(r spec.Revision) object {
	o := object{"name": "mcp-conform-reference-server", "version": "1.0.0"}
	decorate(o, r, "Reference server")
	if r.AtLeast(spec.V20251125) {
		o["description"] = "The server that mcp-conform measures itself against"
		o["websiteUrl"] = "https://github.com/mcp-conform/mcp-conform"
	}
	return o
}

// decorate adds what makes a thing presentable, as far as r has it.
func decorate(o object, r spec.Revision, title string) {
	if r.AtLeast(spec.V20250618) {
		o["title"] = title
	}
	if r.AtLeast(spec.V20251125) {
		o["icons"] = []object{{"src": "data:image/png;base64," + dotPNG, "mimeType": "image/png", "sizes": []string{"1x1"}}}
	}
}

// initialized opens the session for requests of the server's own.
func (s *Session) initialized() {
	s.mu.Lock()
	first := s.revision != "" && !s.ready
	s.ready = s.revision != ""
	s.mu.Unlock()
	if first {
		s.rootsChanged()
	}
}

func (c *Call) ping() (any, *Error) { return object{}, nil }

// progress reports progress on the call if the client asked for it; a total of
// 0 is one that nobody knows yet.
func (c *Call) progress(done, total int, message string) {
	token := wire.At(c.Params, "/_meta/progressToken")
	if token == nil || c.Session.o.JSONOnly && c.task == nil { // no stream belongs to the call
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
