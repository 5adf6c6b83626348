package sdk

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestEveryFindingHasAGolden checks that a golden shows each finding, marked as known of the SDK,
// in the first and in the last version for which it is known, over one of its transports and in one
// of its revisions.
func TestEveryFindingHasAGolden(t *testing.T) {
	for _, s := range All() {
		for _, f := range s.Findings {
			for _, version := range []string{f.Since, f.Until} {
				shown := false
				for golden, of := range s.Goldens {
					shown = shown || of == version && showsIt(t, golden, &f)
				}
				if !shown {
					t.Errorf("%s: no golden of version %s shows %s (%s)", s.Name, version, f.Requirement, f.Shape)
				}
			}
		}
	}
}

// showsIt reports whether a golden of internal/realservers has the finding.
func showsIt(t *testing.T, golden string, f *Finding) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "realservers", "testdata", golden+".golden"))
	if err != nil {
		t.Fatal(err)
	}
	transport := spec.Stdio
	if strings.HasSuffix(golden, "-sse") {
		transport = spec.SSE
	} else if strings.Contains(golden, "-http") || strings.HasSuffix(golden, "-stateless") {
		transport = spec.StreamableHTTP
	}
	if len(f.Transports) > 0 && !slices.Contains(f.Transports, transport) {
		return false
	}
	entry := regexp.MustCompile(`(?m)^(?:broken|warning|unconfirmed) ` + regexp.QuoteMeta(f.Requirement) + ` \([^)\n]*\)\n.*\n  sdk: ` + regexp.QuoteMeta(f.Note) + `\n  \[(.*)\]$`)
	for _, m := range entry.FindAllStringSubmatch(string(text), -1) {
		for _, rev := range strings.Fields(m[1]) {
			if len(f.Revisions) == 0 || slices.Contains(f.Revisions, spec.Revision(rev)) {
				return true
			}
		}
	}
	return false
}

// TestAGoldenThatShowsNothing checks that showsIt can return false.
func TestAGoldenThatShowsNothing(t *testing.T) {
	for _, f := range []Finding{
		{Requirement: "ping.responds"},
		{Requirement: "base.batch-receive", Revisions: []spec.Revision{spec.V20251125}},
		{Requirement: "base.batch-receive", Transports: []spec.Transport{spec.SSE}},
	} {
		if showsIt(t, "go-sdk", &f) {
			t.Errorf("the golden of go-sdk is said to show %+v", f)
		}
	}
}

func TestNotesAreShort(t *testing.T) {
	for _, s := range All() {
		for _, f := range s.Findings {
			if n := len(strings.Fields(f.Note)); n > 20 || !strings.HasSuffix(f.Note, ".") {
				t.Errorf("%s, %s: a note is one sentence of at most 20 words: %q", s.Name, f.Requirement, f.Note)
			}
			if f.Issue != "" && !strings.HasPrefix(f.Issue, "https://github.com/") {
				t.Errorf("%s, %s: the issue %q is not an address", s.Name, f.Requirement, f.Issue)
			}
		}
	}
}

// ofBatch returns a known finding of go-sdk.
func ofBatch() verdict.Finding {
	k := verdict.Key{Place: verdict.Place{Requirement: "base.batch-receive", Revision: spec.V20250326, Transport: spec.Stdio}, Judge: "messages.batch", Summary: "s"}
	f := verdict.NewFinding(k, &verdict.Deviation{Seen: "no answer to any request of it"}, verdict.Broken)
	f.Evidence = []verdict.Evidence{{Direction: ">", Text: `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`}}
	return f
}

func goSDK(version string) *Used {
	i := slices.IndexFunc(All(), func(s SDK) bool { return s.Name == "go-sdk" })
	return &Used{&All()[i], version}
}

func TestMarkNeedsVersionPlaceAndShape(t *testing.T) {
	for name, c := range map[string]struct {
		used  *Used
		alter func(*verdict.Finding)
		want  bool
	}{
		"the first version":      {goSDK("1.1.0"), nil, true},
		"between":                {goSDK("1.4.1"), nil, true},
		"the last version":       {goSDK("1.8.0"), nil, true},
		"an older version":       {goSDK("1.0.9"), nil, false},
		"a newer version":        {goSDK("1.8.1"), nil, false},
		"no SDK is recognised":   {nil, nil, false},
		"a search saw it":        {goSDK("1.8.0"), func(f *verdict.Finding) { f.Judge = "fuzz.rules" }, true},
		"another revision":       {goSDK("1.8.0"), func(f *verdict.Finding) { f.Revision = spec.V20241105 }, false},
		"another transport":      {goSDK("1.8.0"), func(f *verdict.Finding) { f.Transport = spec.SSE }, false},
		"another requirement":    {goSDK("1.8.0"), func(f *verdict.Finding) { f.Requirement = "ping.responds" }, false},
		"something else is seen": {goSDK("1.8.0"), func(f *verdict.Finding) { f.Seen = "the answers are not an array" }, false},
		"requests alone":         {goSDK("1.8.0"), func(f *verdict.Finding) { f.Evidence[0].Text = `[{"jsonrpc":"2.0","id":1,"method":"ping"}]` }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := ofBatch()
			if c.alter != nil {
				c.alter(&f)
			}
			var b verdict.Builder
			b.AddFinding(f.Key(), func() verdict.Finding { return f })
			p := b.Build()
			before := p.Verdicts[0].Outcome
			c.used.MarkReport(p)
			if got := p.Findings[0].SDK != nil; got != c.want {
				t.Errorf("marked is %t, want %t", got, c.want)
			}
			if p.Verdicts[0].Outcome != before || p.Findings[0].Known != "" || p.Verdicts[0].Known != "" {
				t.Error("a mark changed the verdict, or made it known")
			}
		})
	}
}

func TestAccept(t *testing.T) {
	own := ofBatch()
	own.Summary, own.Seen = "another", "something else"
	note := own
	note.Outcome = verdict.Note
	elsewhere := own
	elsewhere.Requirement = "ping.responds"
	const reason = "known in go-sdk 1.1.0 to 1.8.0 (https://github.com/modelcontextprotocol/go-sdk/issues/1256)"
	for name, c := range map[string]struct {
		more []verdict.Finding
		want []string // the reason why each verdict is known, or ""
	}{
		"alone":                       {nil, []string{reason}},
		"next to a note":              {[]verdict.Finding{note}, []string{reason}},
		"next to one of the author's": {[]verdict.Finding{own}, []string{""}},
		"another requirement":         {[]verdict.Finding{elsewhere}, []string{reason, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var b verdict.Builder
			for _, f := range append([]verdict.Finding{ofBatch()}, c.more...) {
				b.AddFinding(f.Key(), func() verdict.Finding { return f })
			}
			p := b.Build()
			goSDK("1.8.0").MarkReport(p)
			Accept(p)
			var got []string
			for _, v := range p.Verdicts {
				got = append(got, v.Known)
				if v.Outcome != verdict.Broken || v.AcceptedSDK != (v.Known != "") {
					t.Errorf("the verdict is %s, accepted %t", v.Outcome, v.AcceptedSDK)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("known (-want +got):\n%s", diff)
			}
			for _, f := range p.Findings {
				if f.Known != "" && f.SDK == nil {
					t.Errorf("%q of the author is accepted", f.Summary)
				}
			}
		})
	}
}
