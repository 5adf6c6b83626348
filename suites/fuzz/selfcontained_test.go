package fuzz_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestSelfContainedRequests checks that only a refusal of a request that was also served counts.
func TestSelfContainedRequests(t *testing.T) {
	prompts := func(id int64, meta map[string]any) script.Operation {
		params := map[string]any{}
		if meta != nil {
			params["_meta"] = meta
		}
		return script.Operation{Do: script.Send, Method: spec.MethodPromptsList, Message: wire.NewRequest(wire.IntID(id), spec.MethodPromptsList, params), Await: true}
	}
	byURL := map[string]any{spec.MetaClientCapabilities: map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}}
	elsewhere := prompts(2003, nil)
	elsewhere.On = 1
	for name, c := range map[string]struct {
		script         []script.Operation
		want           []string
		equal, without bool
	}{
		"the same request before":            {script: []script.Operation{prompts(2001, nil), prompts(2002, byURL), prompts(2003, nil)}, want: []string{"stateless.no-prior-request-context"}, equal: true},
		"the same in another conversation":   {script: []script.Operation{prompts(2001, byURL), prompts(2002, nil), elsewhere}, want: []string{"stateless.no-prior-request-context"}, equal: true},
		"with another progress token":        {script: []script.Operation{prompts(2001, map[string]any{"progressToken": 1}), prompts(2002, byURL), prompts(2003, map[string]any{"progressToken": 2})}, want: []string{"stateless.no-prior-request-context"}, equal: true},
		"no equal request":                   {script: []script.Operation{prompts(2001, byURL), prompts(2002, nil)}},
		"an equal request, refused as often": {script: []script.Operation{prompts(2001, byURL), prompts(2002, nil), prompts(2003, byURL), prompts(2004, nil)}},
		"a server that depends on nothing":   {script: []script.Operation{prompts(2001, nil), prompts(2002, byURL), prompts(2003, nil)}, equal: true, without: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := inprocess.MisbehavingDialer(lookUpFault(t, "stateless.no-prior-request-context/after-url-mode").Seams)
			if c.without {
				d = inprocess.Dialer(nil)
			}
			p := script.Player{Dialer: d, Timeout: time.Second, Start: 20 * time.Second}
			x := &fuzz.Execution{Playback: p.Play(t.Context(), script.Script{Revision: spec.V20260728, Operations: c.script})}
			law := lawsWithIDs("requests-self-contained")
			var got []string
			for _, s := range fuzz.Judge(law, x) {
				got = append(got, s.Requirement)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
			if observed := law[0].Observed(x, "stateless.no-prior-request-context"); c.equal && !observed {
				t.Error("no equal requests were observed")
			}
		})
	}
}
