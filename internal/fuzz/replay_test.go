package fuzz

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// TestShrink checks that a long sequence is reduced to the operations that
// matter, in their shortest form, within the budget.
func TestShrink(t *testing.T) {
	var s script.Script
	s.Revision = spec.V20251125
	for i := range 200 {
		o := script.Operation{Do: script.Send, On: i % 3, Method: "ping", Await: i%2 == 0, Message: script.Bytes(`{"jsonrpc":"2.0","id":1001,"method":"ping"}`)}
		switch i {
		case 50:
			o.Method = "a"
		case 120:
			o.Method, o.Message = "b", script.Bytes(`{ "id":1002, "jsonrpc":"2.0", "params":{"x":[1,2,"needle in a haystack"],"y":"z"}, "method":"b" }`)
		}
		s.Operations = append(s.Operations, o)
	}
	shows := func(s script.Script) bool {
		a := slices.IndexFunc(s.Operations, func(o script.Operation) bool { return o.Method == "a" })
		return a >= 0 && slices.ContainsFunc(s.Operations[a:], func(o script.Operation) bool {
			return o.Method == "b" && bytes.Contains(o.Message, []byte("needle"))
		})
	}
	got, tries, _ := Shrink(t.Context(), s, []int{120}, Budget{Time: 1 << 40, Attempts: 2000}, shows)
	if tries > 2000 || len(got.Operations) != 2 || got.Conversations() != 1 {
		t.Fatalf("after %d tries: %+v", tries, got)
	}
	if size := len(got.Operations[1].Message); size > 70 || !got.Operations[0].Await {
		t.Errorf("the message has %d bytes: %s", size, got.Operations[1].Message)
	}
	if _, tries, _ := Shrink(t.Context(), s, nil, Budget{Time: 1 << 40, Attempts: 5}, shows); tries != 5 {
		t.Errorf("%d tries with a budget of 5", tries)
	}
}
