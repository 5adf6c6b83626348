package discount

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// refusedCalls records the responses to calls of listed tools in each revision. A server may refuse
// any call, but if it refuses all, the user should know that the tools were hardly judged.
type refusedCalls map[spec.Revision]*toolCalls

type toolCalls struct {
	listed  map[string]bool
	reasons map[string]string // by tool: its last refusal, as refusalOf returns it
	served  bool              // a call got a result
}

// fewestRefusedTools is the minimum number of refused tools for a notice. A single tool may be
// broken, or may have got arguments that it can't use.
const fewestRefusedTools = 2

// observe records the tool lists and the tool calls of one conversation.
func (r refusedCalls) observe(c Conversation) {
	of := r[c.Revision]
	if of == nil {
		of = &toolCalls{listed: map[string]bool{}, reasons: map[string]string{}}
		r[c.Revision] = of
	}
	for _, q := range c.Dialogue.Requests() {
		for _, m := range q.Responses {
			switch q.Message.Method {
			case spec.MethodToolsList:
				of.observeList(m)
			case spec.MethodToolsCall:
				of.observeCall(q, m)
			}
		}
	}
}

func (of *toolCalls) observeList(m transcript.Message) {
	for _, tool := range wire.Elements(wire.At(m.Message.Result(), "/tools")) {
		if name, ok := wire.Text(wire.At(tool, "/name")); ok {
			of.listed[name] = true
		}
	}
}

func (of *toolCalls) observeCall(q *transcript.Request, m transcript.Message) {
	name, ok := wire.Text(q.Message.ParamAt("/name"))
	if !ok || !of.listed[name] {
		return
	}
	if reason := refusalOf(m.Message); reason != "" {
		of.reasons[name] = reason
	} else {
		of.served = true
	}
}

// notice reports that all calls of listed tools in a revision were refused. It returns "" if there
// is no such revision.
func (r refusedCalls) notice() string {
	for _, rev := range slices.Sorted(maps.Keys(r)) {
		of := r[rev]
		if of.served || len(of.reasons) < fewestRefusedTools {
			continue
		}
		names := slices.Sorted(maps.Keys(of.reasons))
		return fmt.Sprintf("every call of a tool was refused (%d tools; %q with the %s), so little of them was judged: is the server configured correctly, and are the arguments right (tools.arguments in mcp-conform.yaml)?",
			len(names), names[0], of.reasons[names[0]])
	}
	return ""
}
