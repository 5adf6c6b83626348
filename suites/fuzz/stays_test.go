package fuzz_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/bundled"
	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// TestWhoEndsTheServer: of an end is blamed what the server can have ended of,
// and no line that it outlived, or that stands beside another suspect.
func TestWhoEndsTheServer(t *testing.T) {
	deep := generate.Operation{
		Do: generate.Send, Method: spec.MethodPing, Message: generate.Message{
			ID: wire.IntID(2001), Method: spec.MethodPing, Params: []byte(`{"_meta":{"example.com/value":` + nested(120) + `}}`),
		}.Bytes(),
	}
	garbage := generate.Operation{Do: generate.Raw, Message: []byte("}{\n"), Violates: "no JSON"}
	fence := generate.Operation{Do: generate.Fence}
	for name, c := range map[string]struct {
		fault  string
		script []generate.Operation
		want   []string
	}{
		"the line":                       {"base.parse-error/exits-1", []generate.Operation{garbage, fence}, []string{"base.parse-error"}},
		"the line, seen by no fence":     {"base.parse-error/exits-1", []generate.Operation{fence, garbage}, []string{"base.parse-error"}},
		"the line, and it hears no more": {"base.parse-error/deaf", []generate.Operation{garbage, fence}, []string{"base.parse-error"}},
		"a request behind it":            {"base.request-answered/deep-meta", []generate.Operation{garbage, deep}, nil},
		"a request after it":             {"base.request-answered/deep-meta", []generate.Operation{garbage, fence, deep}, nil},
		"a request before it":            {"base.request-answered/deep-meta", []generate.Operation{deep, garbage}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, ok := faults.Lookup(c.fault)
			if !ok {
				f, ok = faults.LookupBuried(c.fault)
			}
			if !ok {
				t.Fatal("there is no such fault")
			}
			h := fuzz.Holding{Dialer: bundled.Misbehaving(f.Seams), Timeout: time.Second, Start: 20 * time.Second}
			o := h.Hold(t.Context(), generate.Script{Revision: spec.V20251125, Operations: c.script})
			var got []string
			for _, s := range fuzz.Judge(laws(), o) {
				if s.Law == "server-stays" {
					got = append(got, s.Requirement)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("blamed is %v, want %v", got, c.want)
			}
		})
	}
}

func nested(n int) string {
	out := make([]byte, 0, 2*n)
	for range n {
		out = append(out, '[')
	}
	for range n {
		out = append(out, ']')
	}
	return string(out)
}
