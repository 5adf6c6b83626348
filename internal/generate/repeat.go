package generate

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Repetition draws a script that makes one request again and again, to see
// whether the server grows with it: which method that is hangs on the number.
// Tasks are left out, for a server keeps them as long as it said.
func (o *Offer) Repetition(number uint64) *rapid.Generator[script.Script] {
	methods := slices.DeleteFunc(o.Requests(), func(method string) bool {
		return slices.Contains(ofTasks, method) || method == spec.MethodTasksList
	})
	return rapid.Custom(func(t *rapid.T) script.Script {
		always(t)
		method := methods[number%uint64(len(methods))]
		params := slices.DeleteFunc(o.typed(t, method), func(one member) bool { return one.name == "task" })
		message := script.Message{ID: wire.IntID(1), Method: method, Params: params.bytes()}.Bytes()
		return script.Script{Revision: o.Revision, Operations: []script.Operation{{Do: script.Repeat, Method: method, Message: message}}}
	})
}
