package generate

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Repetition draws a script that repeats one request, to see whether the server's memory grows with
// each repetition. The number determines the method. Tasks are excluded, because a server keeps
// them for their ttl.
func (o *Offer) Repetition(number uint64) *rapid.Generator[script.Script] {
	methods := slices.DeleteFunc(o.Requests(), func(method string) bool {
		return slices.Contains(taskMethods, method) || method == spec.MethodTasksList
	})
	return rapid.Custom(func(t *rapid.T) script.Script {
		drawUnused(t)
		method := methods[number%uint64(len(methods))]
		params := slices.DeleteFunc(o.drawParams(t, method), func(one member) bool { return one.name == "task" })
		message := script.Message{ID: wire.IntID(1), Method: method, Params: params.bytes()}.Bytes()
		return script.Script{Revision: o.Revision, Operations: []script.Operation{{Do: script.Repeat, Method: method, Message: message}}}
	})
}
