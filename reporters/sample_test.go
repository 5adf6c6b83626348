package reporters

import (
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// reportWithEachOutcome returns a small report that has each outcome.
func reportWithEachOutcome() *verdict.Report {
	r := &verdict.Report{
		Format: 1, Tool: "mcp-conform", Version: "0.1.0",
		Target: "npx -y odd-server", Transport: spec.Stdio,
		Server: verdict.Server{Name: "odd-server", Version: "1.2.3"}, Seed: 7,
		Revisions: []spec.Revision{spec.V20251125, spec.V20250618},
		NotSpoken: []verdict.NotSpoken{{Revision: spec.V20241105, Reason: "the server answers 2025-11-25 when asked for it"}},
		NotJudged: 14,
		Notices:   []string{"No tool was called: none says that it only reads. --call-tools=all calls them."},
		Stats: verdict.Stats{
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 940 * time.Millisecond,
			Servers: 14, Sessions: 12, Requests: 567, Cases: 48, Messages: 1234,
		},
	}
	for i, rev := range r.Revisions {
		id := func(f string) string { return f + string("ab"[i]) }
		say := func(id, area string, level spec.Level, o verdict.Outcome, reason string, findings ...string) {
			r.Verdicts = append(r.Verdicts, verdict.Verdict{
				Requirement: id, Area: area, Level: level, Revision: rev, Transport: spec.Stdio,
				Outcome: o, Reason: reason, Findings: findings, Judges: []string{"some.judge"},
			})
		}
		say("base.response-id-echo", "base", spec.Must, verdict.Broken, "", id("F1"))
		say("base.json-rpc-2.0", "base", spec.Must, verdict.Kept, "")
		say("lifecycle.initialize-first", "lifecycle", spec.Must, verdict.Flaky, "", id("F2"))
		say("lifecycle.instructions-optional", "lifecycle", spec.May, verdict.Note, "", id("F4"))
		say("stdio.exit-on-sigterm", "stdio", spec.Should, verdict.Warning, "", id("F3"))
		say("stdio.responses-before-exit", "stdio", spec.Should, verdict.Blocked, "by "+id("F3")+": the server did not end")
		r.Verdicts[len(r.Verdicts)-1].BlockedBy = id("F3")
		say("stdio.stderr-logging", "stdio", spec.May, verdict.NotObserved, "the server wrote nothing to stderr")
		r.Verdicts[len(r.Verdicts)-1].Lacks = []verdict.Setting{{Tool: "slow-task"}, {Fixture: "slow: {tool: NAME, arguments: {…}}"}}[i]
		say("tools.list.answered", "tools", spec.Must, verdict.NotApplicable, "the server does not declare tools")
		say("tools.list.result-schema", "tools", spec.Must, verdict.HarnessError, "the case tools.list panicked: index out of range")
		add := func(f verdict.Finding) {
			f.ID, f.Revision, f.Transport, f.Basis = id(f.ID), rev, spec.Stdio, spec.Keyword
			f.Page = "https://modelcontextprotocol.io/specification/" + string(rev) + "/basic#responses"
			f.Replay = []string{"mcp-conform", "run", "--revision", string(rev), "--focus", f.Judge, "--", "npx", "-y", "odd-server"}
			f.Tries = 2
			for j := range f.Evidence {
				f.Evidence[j].Position = 4 + j
			}
			r.Findings = append(r.Findings, f)
		}
		add(verdict.Finding{
			ID: "F3", Requirement: "stdio.exit-on-sigterm", Level: spec.Should, Judge: "stdio.sigterm",
			Outcome: verdict.Warning, Summary: "The server did not exit on SIGTERM.",
			Permitted: "the process ends within 2 s of SIGTERM", Seen: "it ran on until SIGKILL", Reproduced: 2,
			Evidence: []verdict.Evidence{{Direction: "!", Text: "signal: killed", Size: 14, Offending: true}},
		})
		add(verdict.Finding{
			ID: "F1", Requirement: "base.response-id-echo", Level: spec.Must, Judge: "envelope.id",
			Outcome: verdict.Broken, Summary: "A response carries another id than the request that it answers.",
			Permitted: "the number 3", Seen: `the string "3"`, Reproduced: 2,
			Evidence: []verdict.Evidence{
				{Direction: ">", Text: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, Size: 40},
				{Direction: "<", Text: `{"jsonrpc":"2.0","id":1,"result":{}}`, Size: 36},
				{Direction: ">", Text: `{"jsonrpc":"2.0","id":2,"method":"ping"}`, Size: 40},
				{Direction: "<", Text: `{"jsonrpc":"2.0","id":2,"result":{}}`, Size: 36},
				{Direction: ">", Text: `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"progressToken":"a-long-one-that-goes-on"}}}`, Size: 106},
				{Direction: "<", Text: `{"jsonrpc":"2.0","id":"3","result":{"tools":[]}}`, Size: 48, Offending: true, Label: `result · id "3"`, Mark: &verdict.Span{From: 22, To: 25}},
				{Direction: "<", Text: `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, Size: 61},
			},
			Context: []verdict.Evidence{
				{Direction: ">", Position: 1, Text: `{"jsonrpc":"2.0","id":0,"method":"initialize"}`, Size: 46, Label: "initialize · id 0"},
				{Direction: "<", Position: 2, Text: `{"jsonrpc":"2.0","id":0,"result":{}}`, Size: 36, Label: "result · id 0"},
				{Direction: "!", Position: 30, Text: "exited: exit status 0", Size: 21, Label: "the server ended"},
			},
		})
		add(verdict.Finding{
			ID: "F2", Requirement: "lifecycle.initialize-first", Level: spec.Must, Judge: "lifecycle.first",
			Outcome: verdict.Flaky, Summary: "A request came before the handshake was over.",
			Permitted: "ping, logging", Seen: "roots/list", Reproduced: 0,
		})
		add(verdict.Finding{
			ID: "F4", Requirement: "lifecycle.instructions-optional", Level: spec.May, Judge: "lifecycle.note",
			Outcome: verdict.Note, Summary: "The instructions are empty.",
			Permitted: "a text, or no instructions", Seen: `""`, Reproduced: 2,
		})
	}
	return r
}

// cleanReport returns a report on a server that keeps every requirement.
func cleanReport() *verdict.Report {
	r := reportWithEachOutcome()
	r.Revisions, r.NotSpoken, r.Findings, r.Verdicts = spec.NewestFirst(spec.HandshakeRevisions()), nil, nil, nil
	for _, rev := range r.Revisions {
		for _, id := range []string{"base.response-id-echo", "lifecycle.initialize-first", "tools.list.answered"} {
			r.Verdicts = append(r.Verdicts, verdict.Verdict{
				Requirement: id, Area: strings.Split(id, ".")[0], Level: spec.Must,
				Revision: rev, Transport: spec.Stdio, Outcome: verdict.Kept, Judges: []string{"some.judge"},
			})
		}
	}
	return r
}

// attack contains what a terminal, an XML reader, a browser or a CI system
// would interpret.
const attack = "\x1b[2J\x1b]0;owned\x07 ]]> <a&b>\"' \x00\x01\x7f\u0085\u009b31m\r\n::error file=x::pwned ##[error]pwned ##vso[task.setvariable]x ##teamcity[x] " +
	"\u202egnp.exe\u2066\u200f\ufeff\u2028\ufffe \xff\xfe\xed\xa0\x80 \U000e0041 \\u001b é 漢字 " +
	"@everyone https://evil.example/ [x](javascript:alert(1)) `x` ![i](http://evil.example/i) </pre></code></details><script>alert(1)</script><img src=x onerror=alert(1)> ${{ secrets.X }} %0A::error::pwned "

// hostileReport returns a report with the attack in every text that a server can
// choose, each a megabyte long.
func hostileReport() *verdict.Report {
	r := reportWithEachOutcome()
	long := attack + strings.Repeat("A", 1<<20)
	r.Server = verdict.Server{Name: long, Version: long}
	r.Target, r.Incomplete, r.Artifact = attack, long, attack
	r.Notices = []string{long}
	r.NotSpoken[0].Reason = long
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Seen, f.Permitted = long, strings.Repeat(" ::error::x", 1000)
		f.Replay = append(f.Replay, attack)
		f.Play = []string{"mcp-conform", "replay", attack}
		for range 40 {
			f.Evidence = append(f.Evidence, verdict.Evidence{Direction: "<", Text: attack, Size: 1 << 30})
		}
		f.Evidence[0].Text, f.Evidence[0].Label = long, long
		f.Evidence[0].Mark = &verdict.Span{From: 10, To: 1 << 19}
		f.Context = append(f.Context, verdict.Evidence{Direction: attack, Position: 90, Text: long, Label: long, Skipped: 1 << 40, Mark: &verdict.Span{From: -1, To: 1 << 30}})
	}
	for i := range r.Verdicts {
		if r.Verdicts[i].Reason != "" {
			r.Verdicts[i].Reason = long
			r.Verdicts[i].Lacks = []verdict.Setting{{Tool: long}, {Fixture: attack}, {Tool: attack}, {Fixture: long}}[i%4]
		}
	}
	return r
}
