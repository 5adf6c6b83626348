package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestFromRecord checks that the scripts are what the evidence shows, what its
// case sent, and everything that was sent, without the handshake and the
// client's responses.
func TestFromRecord(t *testing.T) {
	var events []*transcript.Event
	for i, line := range strings.Split(`> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
< {"jsonrpc":"2.0","id":1,"result":{}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
> {"jsonrpc":"2.0","id":2,"method":"ping"}
< {"jsonrpc":"2.0","id":2,"result":{}}
# x
> {"method":"tools/list","id":3,"jsonrpc":"2.0"}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"so"}}
< {"jsonrpc":"2.0","id":"a","method":"roots/list"}
> {"jsonrpc":"2.0","id":"a","result":{"roots":[]}}
> no JSON
> {"jsonrpc":"2.0","id":"b","method":"ping"}
< {"jsonrpc":"2.0","id":"b","result":1}
> {"jsonrpc":"2.0","id":4,"method":"ping"}`, "\n") {
		kind := map[byte]transcript.Kind{'>': transcript.Sent, '<': transcript.Received, '#': transcript.CaseBegan}[line[0]]
		e := &transcript.Event{Seq: i, Kind: kind, Raw: []byte(line[2:]), Detail: line[2:]}
		if kind != transcript.CaseBegan {
			frame := wire.Parse(e.Raw)
			e.Frame = frame
		}
		events = append(events, e)
	}
	show := func(at ...int) []string {
		var out []string
		for _, s := range FromRecord(events, at, spec.V20251125) {
			text := ""
			for _, o := range s.Operations {
				text += fmt.Sprintf("%s %q %v\n", o.Do, o.Message, o.Await)
			}
			out = append(out, text)
		}
		return out
	}
	const (
		first  = `send "{\"jsonrpc\":\"2.0\",\"id\":1002,\"method\":\"ping\"}" true` + "\n"
		list   = `send "{\"method\":\"tools/list\",\"id\":1003,\"jsonrpc\":\"2.0\"}" false` + "\n"
		cancel = `send "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1003,\"reason\":\"so\"}}" false` + "\n"
		broken = `raw "no JSON\n" false` + "\n"
		second = `send "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"ping\"}" true` + "\n"
	)
	for _, c := range []struct {
		name string
		at   []int
		want []string
	}{
		{"an answer", []int{12}, []string{second, list + cancel + broken + second, first + list + cancel + broken + second}},
		{"before any case", []int{4}, []string{first}},
		{"the handshake", []int{1}, []string{"fence \"\" false\n"}},
		{"what was sent", []int{6, 10}, []string{list + broken, list + cancel + broken, first + list + cancel + broken}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, show(c.at...)); diff != "" {
				t.Errorf("scripts (-want +got):\n%s", diff)
			}
		})
	}
}
