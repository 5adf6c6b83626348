package sampling_test

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/sampling"
)

func TestFaults(t *testing.T) {
	const (
		undeclared = "sampling.requires-client-capability-2025-06-18: The server sends a sampling request to a client without sampling. (broken)"
		rejected   = "sampling.rejection.handled-2024-11-05: The server does not answer a call after the user rejects sampling. (warning)"
		stopReason = "sampling.result.stop-reason-open: The server's tool fails at an unknown stopReason. (warning)"
		array      = "sampling.result.content-array: The server's tool fails if sampled content is an array. (note)"
		loopArray  = "sampling.result.content-array: The server's tool fails if sampled content with tools is an array. (warning)"
		unanswered = "sampling.tool-use.answered: The server's next message lacks the result of a tool use. (broken)"
		endless    = "sampling.tool-use.iteration-limit: The server lets the model use tools without a limit. (warning)"
	)
	for _, x := range []struct {
		name, judge string
		seams       func() refserver.Seams
		want        []string
	}{
		{"all is well: nothing declared", "sampling.nothing-declared", nothing, nil},
		{"all is well: asked", "sampling.asked", nothing, nil},
		{"all is well: answers", "sampling.answers", nothing, nil},
		{"all is well: other order", "sampling.other-order", nothing, nil},
		{"all is well: loop", "sampling.tool-loop", nothing, nil},
		{"a tool asks though nothing is declared", "sampling.nothing-declared", fault(t, "sampling.requires-client-capability-2025-06-18/by-tool"), []string{undeclared}},
		{"rejection hangs", "sampling.answers", fault(t, "sampling.rejection.handled-2024-11-05/hangs"), []string{rejected}},
		{"rejection kills", "sampling.answers", fault(t, "sampling.rejection.handled-2024-11-05/dies"), []string{rejected}},
		{"an unknown stop reason", "sampling.answers", fault(t, "sampling.result.stop-reason-open/unknown-refused"), []string{stopReason}},
		{"arrays where tools were offered and where not", "sampling.answers", fault(t, "sampling.result.content-array/refused"),
			[]string{array, loopArray}},
		{"a tool that always fails", "sampling.answers", failing, nil},
		{"a result is missing", "sampling.tool-loop", fault(t, "sampling.tool-use.answered/last-one-missing"), []string{unanswered}},
		{"no end", "sampling.tool-loop", fault(t, "sampling.tool-use.iteration-limit/endless"), []string{endless}},
	} {
		suitetest.TryRuled(t, sampling.Cases(), x.name, x.judge, spec.V20251125, x.seams, x.want)
	}
}

func nothing() refserver.Seams { return refserver.Seams{} }

func fault(t *testing.T, id string) func() refserver.Seams {
	t.Helper()
	f, ok := faults.Lookup(id)
	if !ok {
		t.Fatalf("there is no fault %s", id)
	}
	return f.Seams
}

// failing makes every tool that samples fail in the end.
func failing() refserver.Seams {
	return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		result, err := next(c)
		if name, _ := wire.Text(wire.At(c.Params, "/name")); strings.HasPrefix(name, "ask-sampling") {
			return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "It failed."}}}, nil
		}
		return result, err
	}}
}
