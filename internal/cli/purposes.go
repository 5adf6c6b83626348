package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A purpose is a group of requirements that a run can judge because of a flag, or because the
// server names an authorization server. If none of them was judged, the user gets a notice.
type purpose struct {
	subject      string   // the beginning of the notice
	requirements []string // empty for all requirements
	after        string   // a requirement that must be kept before the others can be judged, or ""
	essential    bool     // if no requirement was judged although one could have been, the run is incomplete
}

// purposes returns the purposes of a run, in the order of their notices.
func (f *serverFlags) purposes() []purpose {
	var out []purpose
	if f.remote.otherUser != "" {
		out = append(out, purpose{
			subject: f.remote.settingName("other-user") + " " + f.remote.otherUser + " had no effect",
			requirements: []string{
				"security.session.bound-to-user", "tasks.auth-foreign-rejected", "tasks.auth-list-filtered", "mrtr.request-state-principal",
			},
			essential: true,
		})
	}
	if f.remote.authServer {
		out = append(out, purpose{
			subject: f.remote.settingName("auth-server") + " had no effect",
			requirements: []string{
				"authorization.token.expired-401", "authorization.token.audience-checked", "authorization.token.other-issuer-refused", "authorization.insufficient-scope.403",
			},
			essential: true,
		})
	}
	if f.remote.foreignTokenEnv != "" {
		out = append(out, purpose{
			subject:      f.remote.settingName("foreign-token-env") + " had no effect",
			requirements: []string{"authorization.token.audience-checked", "security.token-passthrough"},
			essential:    true,
		})
	}
	if f.remote.upstreamEnv != "" {
		out = append(out, purpose{subject: f.remote.settingName("upstream-env") + " had no effect", requirements: []string{"authorization.token.no-passthrough"}})
	}
	return append(out,
		purpose{
			subject:      "The authorization server that the server names was not judged",
			requirements: []string{"authorization.as.metadata-2025-06-18", "authorization.as.metadata-2025-11-25"},
			after:        "authorization.prm.served",
		},
		purpose{subject: "Nothing was judged"})
}

// unmetPurposes returns a notice, with the reasons, for each purpose of which no requirement was
// judged. incomplete is the subject of the first purpose that makes the run incomplete, or "". The
// purpose that consists of all requirements gets a notice only if no other purpose does. If the run
// is already incomplete, only a purpose whose field after is set gets a notice, because the reason
// why the run is incomplete also explains the others.
func unmetPurposes(all []purpose, r *verdict.Report) (notices []string, incomplete string) {
	for _, p := range all {
		if r.Incomplete != "" && p.after == "" {
			continue
		}
		reasons, unmet, missed := p.unmetReasons(r)
		if !unmet || len(p.requirements) == 0 && len(notices) > 0 {
			continue
		}
		notices = append(notices, p.subject+": "+strings.Join(reasons, "; ")+".")
		if p.essential && missed && incomplete == "" {
			incomplete = p.subject
		}
	}
	return notices, incomplete
}

// maxReasons limits the reasons in a notice.
const maxReasons = 3

// unmetReasons returns why no requirement of the purpose was judged. unmet is false if one of them
// was judged, if no reason is known, or if p.after names a requirement that was not kept. missed
// reports whether at least one of the purpose's requirements could have been observed. In that
// case, unmetReasons returns only the reasons of such requirements. Otherwise it returns those of
// requirements that do not apply to the server, or that need a tool which the configuration does
// not name.
func (p *purpose) unmetReasons(r *verdict.Report) (reasons []string, unmet, missed bool) {
	began := p.after == ""
	var other []string
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Requirement == p.after && v.Outcome == verdict.Kept {
			began = true
		}
		if len(p.requirements) > 0 && !slices.Contains(p.requirements, v.Requirement) {
			continue
		}
		list := &reasons
		switch {
		case v.Outcome != verdict.NotObserved && v.Outcome != verdict.NotApplicable:
			return nil, false, false
		case v.Outcome == verdict.NotApplicable || !v.Lacks.IsZero():
			list = &other
		}
		if v.Reason != "" && !slices.Contains(*list, v.Reason) {
			*list = append(*list, v.Reason)
		}
	}
	missed = len(reasons) > 0
	if !missed {
		reasons = other
	}
	if n := len(reasons) - maxReasons; n > 0 {
		reasons = append(reasons[:maxReasons], fmt.Sprintf("and %d more reasons, which the reports have", n))
	}
	return reasons, began && len(reasons) > 0, missed
}
