package fuzz

import (
	"bytes"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// forbids tells whether an operation would call a tool that must not be called.
func (h *Holding) forbids(o *generate.Operation) bool {
	if len(h.Forbidden) == 0 {
		return false
	}
	if h.calls(o.Message) {
		return true
	}
	return o.Exchange != nil && h.calls(o.Exchange.Body)
}

// calls tells whether one of the lines calls a forbidden tool. What can't be
// read for certain, and yet names one, is taken for a call.
func (h *Holding) calls(raw []byte) bool {
	if !bytes.Contains(raw, []byte("call")) && bytes.IndexByte(raw, '\\') < 0 {
		return false // not even in another spelling
	}
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		f := wire.Parse(line)
		for i := range f.Messages {
			m := &f.Messages[i]
			name, _ := wire.Text(wire.At(m.Params(), "/name"))
			if m.Method == spec.MethodToolsCall && h.Forbidden[name] {
				return true
			}
		}
		if len(f.Problems) == 0 || !bytes.Contains(line, []byte("call")) {
			continue
		}
		for name := range h.Forbidden {
			if bytes.Contains(line, []byte(name)) {
				return true
			}
		}
	}
	return false
}
