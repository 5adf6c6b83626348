package script

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// forbids reports whether an operation would call a tool that must not be called.
func (p *Player) forbids(o *Operation) bool {
	if len(p.Forbidden) == 0 {
		return false
	}
	if p.callsForbidden(o.Message) {
		return true
	}
	return o.Exchange != nil && p.callsForbidden(o.Exchange.Body)
}

// callsForbidden reports whether one of the lines in raw calls a forbidden tool. If a line contains
// the name of a forbidden tool and cannot be parsed reliably, it counts as a call.
func (p *Player) callsForbidden(raw []byte) bool {
	if !bytes.Contains(raw, []byte("call")) && bytes.IndexByte(raw, '\\') < 0 {
		return false // the method tools/call does not occur, even escaped
	}
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		f := wire.Parse(line)
		for i := range f.Messages {
			m := &f.Messages[i]
			name, _ := wire.Text(m.ParamAt("/name"))
			if m.Method == spec.MethodToolsCall && slices.Contains(p.Forbidden, name) {
				return true
			}
		}
		if len(f.Problems) == 0 || !bytes.Contains(line, []byte("call")) {
			continue
		}
		for _, name := range p.Forbidden {
			if bytes.Contains(line, []byte(name)) {
				return true
			}
		}
	}
	return false
}
