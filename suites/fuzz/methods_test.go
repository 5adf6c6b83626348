package fuzz_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// TestEveryMethodOfAMistake checks that a mistake in every response is a candidate for each method,
// also for one that is used after many others: a retry must find the method that it looks for,
// in whatever order the responses come.
func TestEveryMethodOfAMistake(t *testing.T) {
	missing, ok := faults.Lookup("stateless.result-type/missing")
	if !ok {
		t.Fatal("there is no such fault")
	}
	d, stop := suitetest.ReferenceOver(spec.Stdio, refserver.Options{Seams: missing.Seams()})
	defer stop()
	s := script.Script{Revision: spec.V20260728}
	for i := range 10 {
		method := spec.MethodToolsList
		if i == 9 {
			method = spec.MethodPromptsList
		}
		s.Operations = append(s.Operations, script.Operation{
			Do: script.Send, Method: method, Await: true, Message: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, 1001+i, method),
		})
	}
	p := script.Player{Dialer: d, Timeout: 5 * time.Second, Start: 20 * time.Second}
	found := map[string]bool{}
	for _, c := range fuzz.Judge(laws(), &fuzz.Execution{Playback: p.Play(t.Context(), s)}) {
		if c.Requirement == "stateless.result-type" {
			found[c.Method] = true
		}
	}
	for _, method := range []string{spec.MethodToolsList, spec.MethodPromptsList} {
		if !found[method] {
			t.Errorf("no candidate for %s, only for %v", method, found)
		}
	}
}
