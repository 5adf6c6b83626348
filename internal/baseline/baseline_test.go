package baseline_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/baseline"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	once   = "base.response-once"
	echo   = "base.response-id-echo"
	batch  = "base.batch-not-emitted"
	ping   = "ping.responds"
	cursor = "pagination.cursor.stable"
	seldom = "ping.empty-result"
	never  = "tools.list.answered"
	noted  = "prompts.list.answered"
	gone   = "resources.list.answered"
	left   = "completion.answered"
)

var today = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// report returns a report with these verdicts over stdio, in 2025-06-18 unless
// they have another revision, and with a finding for each that deviates.
func report(verdicts ...verdict.Verdict) *verdict.Report {
	r := &verdict.Report{Transport: spec.Stdio, Revisions: []spec.Revision{spec.V20250618}}
	for i, v := range verdicts {
		if v.Revision == "" {
			v.Revision = spec.V20250618
		}
		v.Transport = spec.Stdio
		if v.Outcome >= verdict.Note {
			id := string(rune('a' + i))
			v.Findings = []string{id}
			r.Findings = append(r.Findings, verdict.Finding{ID: id, Requirement: v.Requirement, Revision: v.Revision, Transport: v.Transport, Outcome: v.Outcome, Summary: "It was seen."})
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	return r
}

func said(requirement string, o verdict.Outcome) verdict.Verdict {
	return verdict.Verdict{Requirement: requirement, Outcome: o}
}

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name    string
		entry   baseline.Entry
		report  *verdict.Report
		partial bool
		known   bool
		stale   string
	}{
		{name: "broken and known", entry: baseline.Entry{}, report: report(said(once, verdict.Broken)), known: true},
		{name: "a warning", entry: baseline.Entry{}, report: report(said(once, verdict.Warning)), known: true},
		{name: "flaky", entry: baseline.Entry{}, report: report(said(once, verdict.Flaky)), known: true},
		{name: "in its revision", entry: baseline.Entry{Revision: spec.V20250618}, report: report(said(once, verdict.Broken)), known: true},
		{name: "kept now", entry: baseline.Entry{}, report: report(said(once, verdict.Kept)), stale: "it does not occur any more: the requirement is kept"},
		{name: "kept now, as a filter shows, too", entry: baseline.Entry{}, report: report(said(once, verdict.Kept)), partial: true, stale: "it does not occur any more: the requirement is kept"},
		{name: "not observed can't tell", entry: baseline.Entry{}, report: report(said(once, verdict.NotObserved))},
		{name: "blocked can't tell", entry: baseline.Entry{}, report: report(said(once, verdict.Blocked))},
		{name: "not applicable", entry: baseline.Entry{}, report: report(said(once, verdict.NotApplicable)), stale: "it matches nothing: the requirement does not apply to this server"},
		{name: "filtered out", entry: baseline.Entry{}, report: report(said(ping, verdict.Kept)), partial: true},
		{name: "nowhere in a whole run", entry: baseline.Entry{}, report: report(said(ping, verdict.Kept)), stale: "it matches nothing: the requirement is not judged over stdio in the revisions of this run"},
		{name: "a revision that is not spoken", entry: baseline.Entry{Revision: spec.V20241105}, report: report(said(once, verdict.Broken)), stale: "it matches nothing: the server does not speak 2024-11-05"},
		{name: "of another transport", entry: baseline.Entry{Transport: spec.SSE}, report: report(said(once, verdict.Kept))},
		{name: "expired today", entry: baseline.Entry{Expires: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}, report: report(said(once, verdict.Broken)), stale: "it expired on 2026-11-22"},
		{name: "expires tomorrow", entry: baseline.Entry{Expires: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}, report: report(said(once, verdict.Broken)), known: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.entry.Requirement, c.entry.Reason, c.entry.Line = once, "we know", 3
			b := baseline.Baseline{Path: "known.yaml", Entries: []baseline.Entry{c.entry}}
			b.Apply(c.report, today, !c.partial)
			want := ""
			if c.known {
				want = "we know"
			}
			if got := c.report.Verdicts[0].Known; got != want {
				t.Errorf("the verdict is known for %q, not %q", got, want)
			}
			if len(c.report.Findings) > 0 && c.report.Findings[0].Known != want {
				t.Errorf("the finding is known for %q, not %q", c.report.Findings[0].Known, want)
			}
			stale := ""
			for _, s := range c.report.Stale {
				stale += s.Why
			}
			if stale != c.stale {
				t.Errorf("stale for %q, not %q", stale, c.stale)
			}
		})
	}
}

func TestAnIncompleteRunMakesNothingStale(t *testing.T) {
	r := report(said(once, verdict.Kept))
	r.Incomplete = "it was interrupted"
	b := baseline.Baseline{Entries: []baseline.Entry{{Requirement: once, Reason: "we know"}, {Requirement: echo, Reason: "we know"}}}
	b.Apply(r, today, true)
	if len(r.Stale) > 0 {
		t.Errorf("stale: %v", r.Stale)
	}
}

func TestUpdateIsReadBackAndCoversAll(t *testing.T) {
	r := report(said(once, verdict.Broken), said(echo, verdict.Kept), said(ping, verdict.Warning), said(cursor, verdict.Broken),
		verdict.Verdict{Requirement: cursor, Revision: spec.V20251125, Outcome: verdict.Kept}, said(batch, verdict.Note))
	r.Revisions = append(r.Revisions, spec.V20251125)
	old := &baseline.Baseline{Path: "known.yaml", Entries: []baseline.Entry{
		{Requirement: ping, Reason: "waits for the next major version", Expires: time.Date(2027, 3, 31, 0, 0, 0, 0, time.UTC)},
		{Requirement: echo, Reason: "was once so"},
	}}
	b, change := baseline.Update(old, r, baseline.Accept{Reason: "accepted: as it is", Warnings: true}, today)
	if len(change.Added) != 2 || len(change.Kept) != 1 || len(change.Dropped) != 1 || change.Dropped[0].Requirement != echo {
		t.Errorf("added %v, kept %v, dropped %v", change.Added, change.Kept, change.Dropped)
	}
	var text bytes.Buffer
	if err := b.Write(&text); err != nil {
		t.Fatal(err)
	}
	got, err := baseline.Parse("known.yaml", text.Bytes())
	if err != nil {
		t.Fatalf("%v, of\n%s", err, text.Bytes())
	}
	want := []baseline.Entry{
		{Requirement: once, Reason: "accepted: as it is"},
		{Requirement: cursor, Revision: spec.V20250618, Reason: "accepted: as it is"},
		{Requirement: ping, Reason: "waits for the next major version", Expires: time.Date(2027, 3, 31, 0, 0, 0, 0, time.UTC)},
	}
	for i := range got.Entries {
		got.Entries[i].Line = 0
	}
	if diff := cmp.Diff(want, got.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	got.Apply(r, today, true)
	for _, v := range r.Verdicts {
		if v.Outcome > verdict.Note && v.Known == "" {
			t.Errorf("%s in %s is not known", v.Requirement, v.Revision)
		}
	}
	if len(r.Stale) > 0 {
		t.Errorf("stale at once: %v", r.Stale)
	}
}

// TestUpdateOfExpiredEntries checks that an expired entry stays if its finding still occurs,
// without a second entry for it, and is dropped otherwise.
func TestUpdateOfExpiredEntries(t *testing.T) {
	expired := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	old := &baseline.Baseline{Entries: []baseline.Entry{{Requirement: once, Reason: "old", Expires: expired}, {Requirement: echo, Reason: "old", Expires: expired}}}
	b, change := baseline.Update(old, report(said(once, verdict.Broken), said(echo, verdict.Kept)), baseline.Accept{Reason: "new"}, today)
	if len(change.Added) != 0 || len(change.Kept) != 1 || len(change.Dropped) != 1 {
		t.Errorf("added %v, kept %v, dropped %v", change.Added, change.Kept, change.Dropped)
	}
	if diff := cmp.Diff(old.Entries[:1], b.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no YAML", "known: [", "b.yaml: it is not YAML: line 1: did not find expected node content"},
		{"a list", "- requirement: " + once, "b.yaml:1: a mapping is expected here"},
		{"an unknown key", "knwon: []", `b.yaml:1: there is no key "knwon"`},
		{"no list", "known: all", "b.yaml:1: known is not a list"},
		{"a text as entry", "known:\n  - " + once, "b.yaml:2: a mapping is expected here"},
		{"an unknown key in an entry", "known:\n  - requirement: " + once + "\n    why: so", `b.yaml:3: there is no key "why"`},
		{"no requirement", "known:\n  - reason: so", "b.yaml:2: the entry names no requirement"},
		{"an unknown requirement", "known:\n  - requirement: base.nonsense\n    reason: so", `b.yaml:2: there is no requirement "base.nonsense"`},
		{"no reason", "known:\n  - requirement: " + once, "b.yaml:2: " + once + " has no reason"},
		{"an empty reason", "known:\n  - requirement: " + once + "\n    reason: ' '", "b.yaml:2: " + once + " has no reason"},
		{"no revision", "known:\n  - requirement: " + once + "\n    reason: so\n    revision: 2025-06-19", `b.yaml:4: revision: "2025-06-19" is not a published revision`},
		{"no transport", "known:\n  - requirement: " + once + "\n    reason: so\n    transport: tcp", `b.yaml:4: there is no transport "tcp"`},
		{"no day", "known:\n  - requirement: " + once + "\n    reason: so\n    expires: soon", `b.yaml:4: expires: "soon" is not a date`},
		{"twice", "known:\n  - {requirement: " + once + ", reason: so}\n  - {requirement: " + once + ", reason: or so}", "b.yaml:3: " + once + " is given twice: first in line 2"},
		{"a key twice", "known:\n  - requirement: " + once + "\n    reason: so\n    reason: or so", `b.yaml:4: the key "reason" is given twice`},
		{"an alias", "known:\n  - requirement: &a " + once + "\n    reason: *a", `b.yaml:3: the value of "reason" is an alias`},
		{"too long", strings.Repeat("#", 1<<20+1), "b.yaml: it has more than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := baseline.Parse("b.yaml", []byte(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
}

func TestNothingIsKnown(t *testing.T) {
	for _, text := range []string{"", "# only words\n", "known:\n", "known: []\n", "\ufeffknown: []\n"} {
		b, err := baseline.Parse("b.yaml", []byte(text))
		if err != nil || len(b.Entries) > 0 {
			t.Errorf("of %q: %v, %v", text, b, err)
		}
	}
}

func TestDiff(t *testing.T) {
	older := report(said(once, verdict.Broken), said(echo, verdict.Warning), said(ping, verdict.Kept), said(cursor, verdict.Broken), said(batch, verdict.Broken),
		said(seldom, verdict.Kept), said(never, verdict.NotObserved), said(noted, verdict.Note), said(gone, verdict.Kept), said(left, verdict.Broken))
	newer := report(said(once, verdict.Kept), said(echo, verdict.Broken), said(ping, verdict.Flaky), said(cursor, verdict.Broken), said(batch, verdict.NotObserved),
		said(seldom, verdict.NotObserved), said(never, verdict.NotObserved), said(noted, verdict.NotObserved), said(gone, verdict.NotApplicable))
	newer.Verdicts = append(newer.Verdicts, verdict.Verdict{Requirement: left, Revision: spec.V20250618, Transport: spec.Stdio, Outcome: verdict.NotObserved, LeftOut: true})
	for i := range newer.Verdicts {
		if v := &newer.Verdicts[i]; v.Outcome == verdict.NotObserved {
			v.Reason = "It was seen." // the same text as the summaries, for the check below
		}
	}
	got := map[string]baseline.Kind{}
	var order []baseline.Kind
	for _, d := range baseline.Diff(older, newer) {
		got[d.Requirement] = d.Kind
		order = append(order, d.Kind)
		if d.Summary != "It was seen." {
			t.Errorf("%s is reported by %q", d.Requirement, d.Summary)
		}
	}
	want := map[string]baseline.Kind{once: baseline.Fixed, echo: baseline.New, ping: baseline.New, cursor: baseline.Unchanged, batch: baseline.Lost, seldom: baseline.Unseen, noted: baseline.Unseen}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]baseline.Kind{baseline.New, baseline.New, baseline.Lost, baseline.Fixed, baseline.Unchanged, baseline.Unseen, baseline.Unseen}, order); diff != "" {
		t.Errorf("their order (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("known:\n  - requirement: " + once + "\n    reason: so\n"))
	f.Add([]byte("known: &a [*a]"))
	f.Add([]byte("\ufeff? [a]\n: b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := baseline.Parse("b.yaml", text)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := b.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := baseline.Parse("b.yaml", out.Bytes())
		if err != nil {
			t.Fatalf("what was written can't be read: %v\n%s", err, out.Bytes())
		}
		if len(again.Entries) != len(b.Entries) {
			t.Fatalf("%d entries became %d", len(b.Entries), len(again.Entries))
		}
	})
}

func TestUpdateTakesWhatIsAccepted(t *testing.T) {
	for _, c := range []struct {
		name   string
		accept baseline.Accept
		want   []string
	}{
		{"what is broken", baseline.Accept{Reason: "r"}, []string{once, cursor}},
		{"warnings too", baseline.Accept{Reason: "r", Warnings: true}, []string{once, cursor, ping}},
		{"one requirement", baseline.Accept{Reason: "r", Requirements: []string{cursor}}, []string{cursor}},
		{"a warning that is not asked for", baseline.Accept{Reason: "r", Requirements: []string{ping}}, nil},
	} {
		r := report(said(once, verdict.Broken), said(ping, verdict.Warning), said(cursor, verdict.Broken))
		_, change := baseline.Update(&baseline.Baseline{}, r, c.accept, today)
		var got []string
		for _, e := range change.Added {
			got = append(got, e.Requirement)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestFindingsOfOneCauseAreRelated(t *testing.T) {
	r := &verdict.Report{Findings: []verdict.Finding{
		{Requirement: once, Group: "F1"}, {Requirement: echo, Group: "F1"}, {Requirement: ping},
	}}
	got := baseline.RequirementPerCause(r, []baseline.Entry{{Requirement: once}, {Requirement: echo}, {Requirement: ping}, {Requirement: ping, Revision: spec.V20250618}})
	if diff := cmp.Diff([]string{once, ping}, got); diff != "" {
		t.Errorf("unrelated (-want +got):\n%s", diff)
	}
}
