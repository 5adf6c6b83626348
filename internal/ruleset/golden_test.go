package ruleset_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/fixtures"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

var update = flag.Bool("update", false, "rewrite the summaries that broken transcripts expect")

// golden is a conversation below fixtures/transcripts.
type golden struct {
	file string
	*transcript.Recording
}

func goldens(t *testing.T, folder string) []golden {
	t.Helper()
	names, err := fs.Glob(fixtures.Transcripts, "transcripts/"+folder+"/*")
	if err != nil || len(names) == 0 {
		t.Fatalf("no transcripts in %s: %v", folder, err)
	}
	var out []golden
	for _, name := range names {
		data, err := fixtures.Transcripts.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := transcript.ReadRecordings(name, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || !spec.Revision(found[0].Revision).IsPublished() || len(found[0].Notices) > 0 {
			t.Fatalf("%s: %d conversations, revision %q, %q", name, len(found), found[0].Revision, found[0].Notices)
		}
		out = append(out, golden{path.Base(name), found[0]})
	}
	return out
}

func (g golden) judge(events []*transcript.Event) []rules.Result {
	return rules.Judge(ruleset.All(), events, spec.Revision(g.Revision), spec.Transport(g.Transport))
}

// expectationsOf returns the findings in the form of the expect lines of transcripts.
func expectationsOf(results []rules.Result) []transcript.Expectation {
	var out []transcript.Expectation
	for _, r := range results {
		for _, d := range r.Deviations {
			e := transcript.Expectation{Requirement: r.Requirement, Outcome: d.Outcome(spec.Requirements().Lookup(r.Requirement), r.Revision).String(), Summary: d.Summary}
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b transcript.Expectation) int {
		return bytes.Compare(fmt.Append(nil, a), fmt.Append(nil, b))
	})
	return out
}

// TestBrokenTranscripts checks that a broken transcript has exactly the findings that it announces,
// and that every rule has one for each of its requirements.
func TestBrokenTranscripts(t *testing.T) {
	shown := map[string]bool{}
	for _, g := range goldens(t, "broken") {
		t.Run(g.file, func(t *testing.T) {
			results := g.judge(g.Events)
			want := slices.Clone(g.Expect)
			slices.SortFunc(want, func(a, b transcript.Expectation) int {
				return bytes.Compare(fmt.Append(nil, a), fmt.Append(nil, b))
			})
			if *update {
				rewordExpected(t, g.file, want, expectationsOf(results))
				return
			}
			if diff := cmp.Diff(want, expectationsOf(results)); diff != "" || len(want) == 0 {
				t.Errorf("findings (-announced by a line that begins with expect:, +seen):\n%s", diff)
			}
			for _, r := range results {
				for _, d := range r.Deviations {
					shown[r.Rule+" "+r.Requirement] = true
					if !strings.HasSuffix(d.Summary, ".") || d.Permitted == "" || d.Seen == "" {
						t.Errorf("a deviation is not reported in full: %+v", d)
					}
					if len(d.At) == 0 || slices.Min(d.At) < 0 || slices.Max(d.At) >= len(g.Events) {
						t.Errorf("%s: positions %v of %d events", d.Summary, d.At, len(g.Events))
					}
				}
			}
		})
	}
	if *update {
		return
	}
	for _, r := range ruleset.All() {
		for _, id := range r.Requirements {
			if !shown[r.ID+" "+id] {
				t.Errorf("no transcript in fixtures/transcripts/broken shows that %s finds %s", r.ID, id)
			}
		}
	}
}

// rewordExpected replaces the summaries in a broken transcript by the current ones. It changes
// only words: requirements, outcomes and their number have to be equal.
func rewordExpected(t *testing.T, file string, want, got []transcript.Expectation) {
	t.Helper()
	key := func(e transcript.Expectation) string { return e.Requirement + " " + e.Outcome }
	if len(want) != len(got) {
		t.Fatalf("%d findings expected, %d found", len(want), len(got))
	}
	name := filepath.Join("..", "..", "fixtures", "transcripts", "broken", file)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var was, is []transcript.Expectation // with different summaries
	for _, e := range want {
		if !slices.Contains(got, e) {
			was = append(was, e)
		}
	}
	for _, e := range got {
		if !slices.Contains(want, e) {
			is = append(is, e)
		}
	}
	for i, e := range was {
		if key(e) != key(is[i]) {
			t.Fatalf("expected %s, found %s", key(e), key(is[i]))
		}
		before := fmt.Sprintf("expect: %s %q", key(e), e.Summary)
		if bytes.Count(text, []byte(before+"\n")) != 1 {
			t.Fatalf("%s is not there once", before)
		}
		text = bytes.Replace(text, []byte(before+"\n"), fmt.Appendf(nil, "expect: %s %q\n", key(e), is[i].Summary), 1)
	}
	if len(was) > 0 {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryRuleWasSeenKept checks that every requirement of every rule is observed in a transcript
// in which it is kept.
func TestEveryRuleWasSeenKept(t *testing.T) {
	kept := map[string]bool{}
	for _, folder := range []string{"kept", "recorded", "broken"} {
		for _, g := range goldens(t, folder) {
			for _, r := range g.judge(g.Events) {
				kept[r.Rule+" "+r.Requirement] = kept[r.Rule+" "+r.Requirement] || len(r.Deviations) == 0
			}
		}
	}
	for _, r := range ruleset.All() {
		for _, id := range r.Requirements {
			if !kept[r.ID+" "+id] && r.ID+" "+id != "rule.message-utf8 base.jsonrpc-2-0" { // rule.jsonrpc-version counts it
				t.Errorf("in no transcript in fixtures/transcripts %s sees %s kept", r.ID, id)
			}
		}
	}
}

// TestRulesAreWhole checks that rules are complete, and that their ids are unique.
func TestRulesAreWhole(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range ruleset.All() {
		if !strings.HasPrefix(r.ID, "rule.") || ids[r.ID] || r.Title == "" || r.Start == nil || len(r.Requirements) == 0 {
			t.Errorf("rule %q is incomplete, or its id is taken", r.ID)
		}
		ids[r.ID] = true
		for _, id := range r.Requirements {
			if q := spec.Requirements().Lookup(id); q == nil || q.Testable == spec.No {
				t.Errorf("%s judges %s, which does not exist or can't be judged", r.ID, id)
			}
		}
	}
}

// TestKeptTranscripts checks that legal transcripts, and those recorded with a real server and
// checked, have no findings but notes.
func TestKeptTranscripts(t *testing.T) {
	for _, folder := range []string{"kept", "recorded"} {
		for _, g := range goldens(t, folder) {
			t.Run(folder+"/"+g.file, func(t *testing.T) {
				for _, e := range expectationsOf(g.judge(g.Events)) {
					if e.Outcome != verdict.Note.String() {
						t.Errorf("%s %s: %s", e.Outcome, e.Requirement, e.Summary)
					}
				}
			})
		}
	}
}

// comparesTokens is the rule that compares the tokens of requests. Redaction makes all tokens equal,
// so the rule reports no redacted token.
const comparesTokens = "rule.token-accepted"

// TestRedactionChangesNoVerdict checks that the redaction of a transcript does not change its
// findings, except that comparesTokens has none.
func TestRedactionChangesNoVerdict(t *testing.T) {
	redactor := transcript.NewRedactor(redact.New("Method not found", "Parse error"))
	for _, folder := range []string{"broken", "kept", "recorded"} {
		for _, g := range goldens(t, folder) {
			before, after := g.judge(g.Events), g.judge(redactor.RedactEvents(g.Events))
			if slices.ContainsFunc(after, func(r rules.Result) bool { return r.Rule == comparesTokens && len(r.Deviations) > 0 }) {
				t.Errorf("%s/%s: %s reports a redacted token", folder, g.file, comparesTokens)
			}
			isExempt := func(r rules.Result) bool { return r.Rule == comparesTokens }
			before, after = slices.DeleteFunc(before, isExempt), slices.DeleteFunc(after, isExempt)
			for _, results := range [][]rules.Result{before, after} {
				for i := range results {
					results[i].Unclear = "" // quotes redacted text too
					for j := range results[i].Deviations {
						results[i].Deviations[j].Seen = "" // quotes redacted text
					}
				}
			}
			if diff := cmp.Diff(before, after, cmp.AllowUnexported(rules.Result{})); diff != "" {
				t.Errorf("%s/%s is judged otherwise (-before +after):\n%s", folder, g.file, diff)
			}
		}
	}
}
