package reporters

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// sdkReport returns a report with a warning about the server's own code, and with a
// broken requirement that is an SDK finding.
func sdkReport() *verdict.Report {
	r := cleanReport()
	r.SDK, r.Revisions, r.Verdicts = "typescript-sdk 1.32.2", []spec.Revision{spec.V20251125}, nil
	b := verdict.Extend(r)
	add := func(requirement, judge, summary string, o verdict.Outcome) {
		k := verdict.Key{Place: verdict.Place{Requirement: requirement, Revision: spec.V20251125, Transport: spec.Stdio}, Judge: judge, Summary: summary}
		f := verdict.NewFinding(k, &verdict.Deviation{Permitted: "p", Seen: "s"}, o)
		f.Tries, f.Reproduced = 2, 2
		b.AddFinding(k, func() verdict.Finding { return f })
	}
	add("tasks.undeclared-ignored", "rule.tasks-declared", "A call is refused.", verdict.Broken)
	add("tools.structured.text-copy", "rule.structured-content", "The text is not the same.", verdict.Warning)
	b.Build()
	r.Findings[0].SDK = &verdict.SDKFinding{Name: "typescript-sdk", Versions: "1.25.0 to 1.32.2", Note: "It refuses tasks.", Issue: "https://github.com/x/y/issues/1"}
	return r
}

func TestReportsNameKnownSDKFindings(t *testing.T) {
	const want = "known in typescript-sdk 1.25.0 to 1.32.2"
	for _, name := range []string{"github", "html", "junit", "markdown", "sarif", "tap"} {
		w, _ := ByName(name)
		if doc := string(write(t, w, sdkReport())); !strings.Contains(doc, want) || !strings.Contains(doc, "It refuses tasks.") {
			t.Errorf("%s does not say %q", name, want)
		}
	}
	doc := string(write(t, JSON, sdkReport()))
	for _, text := range []string{`"sdk": "typescript-sdk 1.32.2"`, `"versions": "1.25.0 to 1.32.2"`, `"issue": "https://github.com/x/y/issues/1"`} {
		if !strings.Contains(doc, text) {
			t.Errorf("json lacks %s", text)
		}
	}
}

// shownOf returns what the console shows of a report.
func shownOf(r *verdict.Report) string {
	var b bytes.Buffer
	NewConsole(&b, ConsoleOptions{}).End(r)
	return b.String()
}

func TestOwnFindingsComeBeforeThoseOfTheSDK(t *testing.T) {
	text := shownOf(sdkReport())
	own, sdk := strings.Index(text, "WARNING  tools.structured.text-copy"), strings.Index(text, "BROKEN  tasks.undeclared-ignored")
	if own < 0 || sdk < own {
		t.Errorf("the author's finding is at %d, the SDK's at %d:\n%s", own, sdk, text)
	}
	for _, want := range []string{
		"  sdk        known in typescript-sdk 1.25.0 to 1.32.2: It refuses tasks.\n             https://github.com/x/y/issues/1\n",
		": 1 requirement broken in 2025-11-25 (2 judged), because of its SDK (see --accept-sdk-findings), 1 with a warning · ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// TestSectionsOfFindings checks that the console and the page have a heading for the findings of the
// server itself, notes included, and one for those of its SDK, but none if no finding is known in an
// SDK.
func TestSectionsOfFindings(t *testing.T) {
	const own, sdk = "indings of the server itself", "indings known in its SDK, typescript-sdk"
	r := sdkReport()
	note := r.Findings[1]
	note.Summary, note.Outcome = "The text is long.", verdict.Note
	b := verdict.Extend(r)
	b.AddFinding(note.Key(), func() verdict.Finding { return note })
	b.Build()
	var console bytes.Buffer
	NewConsole(&console, ConsoleOptions{Verbose: true}).End(r)
	html := string(write(t, HTML, r))
	_, html, _ = strings.Cut(html, `id="list"`)
	for name, text := range map[string]string{"console": console.String(), "html": html} {
		var places []int
		for _, part := range []string{own, "The text is not the same.", "The text is long.", sdk, "A call is refused."} {
			places = append(places, strings.Index(text, part))
		}
		if !slices.IsSorted(places) || places[0] < 0 {
			t.Errorf("%s: the headings and findings are at %v:\n%s", name, places, text)
		}
	}
	for i := range r.Findings {
		r.Findings[i].SDK = nil
	}
	for name, text := range map[string]string{"console": shownOf(r), "html": string(write(t, HTML, r))} {
		if strings.Contains(text, own) || strings.Contains(text, sdk) {
			t.Errorf("%s: without an SDK finding, it has a heading", name)
		}
	}
}

func TestNotesComeAfterFindingsOfTheSDK(t *testing.T) {
	r := sdkReport()
	note := r.Findings[1]
	note.Summary, note.Outcome = "The text is long.", verdict.Note
	b := verdict.Extend(r)
	b.AddFinding(note.Key(), func() verdict.Finding { return note })
	b.Build()
	var got []verdict.Outcome
	for _, e := range allEntries(r) {
		got = append(got, e.Outcome)
	}
	if diff := cmp.Diff([]verdict.Outcome{verdict.Warning, verdict.Broken, verdict.Note}, got); diff != "" {
		t.Errorf("order of the findings (-want +got):\n%s", diff)
	}
}

func TestLastLineCountsAcceptedFindings(t *testing.T) {
	r := sdkReport()
	r.Findings[0].Known = r.Findings[0].SDK.String()
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Outcome == verdict.Broken {
			v.Known, v.AcceptedSDK = r.Findings[0].Known, true
		}
	}
	text := shownOf(r)
	for _, want := range []string{
		"· KNOWN  tasks.undeclared-ignored  broken · 2025-11-25: known in typescript-sdk 1.25.0 to 1.32.2 (https://github.com/x/y/issues/1)\n",
		": no requirement broken beyond the SDK in 2025-11-25 (2 judged), 1 with a warning, 1 finding of typescript-sdk 1.32.2 accepted · ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if strings.Contains(text, "✗ BROKEN") {
		t.Errorf("an accepted SDK finding is listed as broken:\n%s", text)
	}
}
