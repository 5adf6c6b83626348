package reporters

import (
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// manyFindings returns a report with five hundred different findings, with every
// outcome and in every area.
func manyFindings() *verdict.Report {
	r := reportWithEachOutcome()
	r.Revisions, r.Findings, r.Verdicts, r.NotSpoken = spec.NewestFirst(spec.HandshakeRevisions()), nil, nil, nil
	outcomes := []verdict.Outcome{verdict.Broken, verdict.Warning, verdict.Flaky, verdict.Note}
	all := spec.Requirements().All()
	for i, rev := range r.Revisions {
		for j, q := range all {
			v := verdict.Verdict{Requirement: q.ID, Area: q.Area, Level: q.Level, Revision: rev, Transport: spec.Stdio, Judges: []string{"some.judge"}}
			v.Outcome = []verdict.Outcome{verdict.Kept, verdict.Kept, verdict.NotObserved, verdict.NotApplicable, verdict.Kept}[(j+i)%5]
			v.Reason = map[verdict.Outcome]string{verdict.NotObserved: "mcp-conform sent nothing that could show it", verdict.NotApplicable: "the server does not declare it"}[v.Outcome]
			r.Verdicts = append(r.Verdicts, v)
		}
	}
	for i := range 500 {
		q := all[i*7%len(all)]
		o := outcomes[min(i*len(outcomes)/500, len(outcomes)-1)]
		long := strings.Repeat(fmt.Sprintf(`{"name":"tool-%d","description":"a tool that does one thing","inputSchema":{"type":"object"}},`, i), i%12+1)
		text := `{"jsonrpc":"2.0","id":3,"result":{"tools":[` + long + `{"name":7}]}}`
		rev := r.Revisions[i%len(r.Revisions)]
		r.Findings = append(r.Findings, verdict.Finding{
			ID: fmt.Sprintf("F%d", i+1), Requirement: q.ID, Level: q.Level, Basis: spec.Keyword, Revision: rev, Transport: spec.Stdio, Judge: fmt.Sprintf("rule.number-%d", i),
			Outcome: o, Summary: fmt.Sprintf("Something about message %d is not as it should be.", i), Permitted: "a string", Seen: "the number 7 at /result/tools/1/name",
			Page: q.Page(rev), Replay: []string{"mcp-conform", "run", "--revision", string(rev), "--focus", q.ID, "--", "./server"}, Tries: 1, Reproduced: 1,
			Evidence: []verdict.Evidence{
				{Direction: ">", Position: 6, Text: `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, Size: 46, Label: "tools/list · id 3"},
				{Direction: "<", Position: 7, Text: text, Size: int64(len(text)), Label: "result · id 3", Offending: true, Mark: &verdict.Span{From: len(text) - 13, To: len(text) - 5}},
			},
			Context: []verdict.Evidence{
				{Direction: ">", Position: 1, Text: `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, Size: 46, Label: "initialize · id 1"},
				{Direction: "<", Position: 2, Text: `{"jsonrpc":"2.0","id":1,"result":{}}`, Size: 36, Label: "result · id 1"},
				{Direction: ">", Position: 3, Text: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, Size: 54, Label: "notifications/initialized"},
			},
		})
	}
	return r
}
