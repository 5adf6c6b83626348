package cli

import (
	"slices"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestUnmetPurposes checks that a run says which flag had no effect, and why, and that the run is
// incomplete only if something could have been observed.
func TestUnmetPurposes(t *testing.T) {
	f := &serverFlags{}
	f.remote.otherUser, f.remote.origins = "bob", map[string]string{"other-user": "other-user in x.yaml"}
	const session, state = "security.session.bound-to-user", "mrtr.request-state-principal"
	same := verdict.Verdict{Requirement: session, Outcome: verdict.NotObserved, Reason: "both are one"}
	inapplicable := verdict.Verdict{Requirement: session, Outcome: verdict.NotApplicable, Reason: "no sessions"}
	unconfigured := verdict.Verdict{Requirement: state, Outcome: verdict.NotObserved, Reason: "no tool", Lacks: verdict.Setting{Tool: "NAME"}}
	kept := verdict.Verdict{Requirement: state, Outcome: verdict.Kept}
	document := verdict.Verdict{Requirement: "authorization.prm.served", Outcome: verdict.Kept}
	dead := verdict.Verdict{Requirement: "authorization.as.metadata-2025-11-25", Outcome: verdict.NotObserved, Reason: "refused"}
	for name, c := range map[string]struct {
		report     verdict.Report
		notices    []string
		incomplete string
	}{
		"the same user": {
			verdict.Report{Verdicts: []verdict.Verdict{same, same, unconfigured, document}},
			[]string{"other-user in x.yaml bob had no effect: both are one."}, "other-user in x.yaml bob had no effect",
		},
		"judged":                   {report: verdict.Report{Verdicts: []verdict.Verdict{same, kept}}},
		"not selected":             {report: verdict.Report{Verdicts: []verdict.Verdict{document}}},
		"blocked":                  {report: verdict.Report{Verdicts: []verdict.Verdict{{Requirement: session, Outcome: verdict.Blocked, Reason: "x"}}}},
		"incomplete":               {report: verdict.Report{Verdicts: []verdict.Verdict{same}, Incomplete: "interrupted"}},
		"no document names it":     {report: verdict.Report{Verdicts: []verdict.Verdict{dead, kept}}},
		"nothing to be seen there": {verdict.Report{Verdicts: []verdict.Verdict{inapplicable, unconfigured, document}}, []string{"other-user in x.yaml bob had no effect: no sessions; no tool."}, ""},
		"an authorization server that is out of reach": {
			verdict.Report{Verdicts: []verdict.Verdict{kept, document, dead}, Incomplete: "no token"},
			[]string{"The authorization server that the server names was not judged: refused."}, "",
		},
		"nothing at all": {
			verdict.Report{Verdicts: []verdict.Verdict{{Requirement: "ping.responds", Outcome: verdict.NotObserved, Reason: "a"}, {Requirement: "ping.responds", Outcome: verdict.NotObserved, Reason: "b"}}},
			[]string{"Nothing was judged: a; b."}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			notices, incomplete := unmetPurposes(f.purposes(), &c.report)
			if !slices.Equal(notices, c.notices) || incomplete != c.incomplete {
				t.Errorf("%q, %q", notices, incomplete)
			}
		})
	}
}
