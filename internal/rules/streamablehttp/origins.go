package streamablehttp

import (
	"net/url"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	originValidated    = "streamable-http.origin-validated"
	originInvalid      = "streamable-http.origin-invalid-403"
	originAbsent       = "streamable-http.origin-absent-allowed"
	originBody         = "streamable-http.origin-403-body"
	legacyOriginChecks = "sse.origin-validated"
)

func originRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.origin",
		Title:        "requests with a foreign Origin are refused",
		Requirements: []string{originValidated, originInvalid, originAbsent, originBody, legacyOriginChecks},
		Start:        judgeExchangesAtEnd(judgeOrigins),
	}}
}

func judgeOrigins(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		switch {
		case x.Response == nil || !slices.Contains([]string{"GET", "POST", "DELETE"}, x.Method()):
		case x.flaws&foreignOrigin != 0:
			v.judgeForeignOrigin(x, out)
		case !x.RequestHead().Has("Origin") && x.flaws == 0:
			v.judgeAbsentOrigin(x, out)
		}
	}
}

// judgeForeignOrigin judges the response to a request with the Origin of another host. A server
// that is not on the local machine may permit web pages of that host.
func (v *view) judgeForeignOrigin(x *exchange, out *rules.Reporter) {
	validated := originValidated
	if v.s.Transport == spec.SSE {
		validated = legacyOriginChecks
	}
	d := verdict.Deviation{
		Requirement: validated, Permitted: "a refusal, such as status 403", At: x.positions(), Header: "Origin",
		Seen: x.describeSeenWith("Origin: " + rules.Excerpt(x.RequestHead().Get("Origin"))),
	}
	if !isLoopback(x.RequestHead().Get("Host")) {
		d.Weight = verdict.OnlyNote
	}
	switch {
	case x.Succeeded() && x.errorIn() != nil: // refused, or served and failed
		return
	case x.Succeeded():
		v.judgeServedForeignOrigin(x, d, out)
		return
	case !x.Refused() || isAmbiguousStatus(x.Status()) && x.Status() != 403: // 403 is ambiguous too, but the requirement demands it
		return
	}
	if x.flaws != foreignOrigin { // another flaw may be the reason
		return
	}
	// 403 is the status that the requirement demands, so it counts even if the
	// reason may be that x is a second stream.
	if !(x.Method() == "GET" && x.Status() == 403 && v.hasServedCounterpart(x)) && !v.isInterpretable(x, out, validated, originInvalid) {
		return
	}
	out.MarkObserved(validated)
	if x.Status() == 403 {
		out.MarkObserved(originInvalid)
		judgeForbiddenBody(x, out)
		return
	}
	d.Requirement, d.Permitted = originInvalid, "status 403"
	d.Summary = "The server refuses another host's Origin, but not with 403."
	if isMalformedOrigin(x.RequestHead().Get("Origin")) { // no browser sends it, and HTTP itself may refuse it
		d.Weight = max(d.Weight, verdict.AtMostWarning)
		d.Summary = "The server refuses a malformed Origin, but not with 403."
	}
	out.Report(d)
}

// judgeServedForeignOrigin judges a request that was served despite a foreign Origin. An Origin
// that no browser sends shows less, and shows nothing new if the server also accepts valid foreign
// Origins.
func (v *view) judgeServedForeignOrigin(x *exchange, d verdict.Deviation, out *rules.Reporter) {
	out.MarkReportedElsewhere(originInvalid)
	d.Summary = "The server accepts a request with another host's Origin."
	if isMalformedOrigin(x.RequestHead().Get("Origin")) {
		d.Weight = max(d.Weight, verdict.AtMostWarning)
		d.Summary = "The server accepts a request with a malformed Origin."
		if slices.ContainsFunc(v.all, func(y *exchange) bool {
			return y.flaws&foreignOrigin != 0 && y.Succeeded() && !isMalformedOrigin(y.RequestHead().Get("Origin"))
		}) {
			return
		}
	}
	out.Report(d)
}

// isMalformedOrigin reports whether an Origin is neither null nor a scheme and host.
func isMalformedOrigin(text string) bool {
	u, err := url.Parse(text)
	return text != "null" && (err != nil || u.Scheme == "" || u.Host == "")
}

// hasServedCounterpart reports whether the server served a request like x, with the same HTTP
// method, but without a foreign Origin.
func (v *view) hasServedCounterpart(x *exchange) bool {
	for _, y := range v.all {
		if y.flaws&foreignOrigin == 0 && y.Method() == x.Method() && y.Succeeded() && y.hasInitialize() == x.hasInitialize() {
			return true
		}
	}
	return false
}

func judgeForbiddenBody(x *exchange, out *rules.Reporter) {
	m := x.errorIn()
	switch {
	case m == nil:
	case !m.ID.IsPresent() || m.ID.IsNull():
		out.MarkObserved(originBody)
	default:
		out.Report(verdict.Deviation{
			Requirement: originBody,
			Summary:     "The server's error in the body of a 403 has an id.",
			Permitted:   "an error without an id, or a body that is not a message",
			Seen:        x.describeSeen(), At: x.positions(),
		})
	}
}

// judgeAbsentOrigin judges a 403 for a request without an Origin, if a similar request with an
// Origin was served.
func (v *view) judgeAbsentOrigin(x *exchange, out *rules.Reporter) {
	switch {
	case x.Succeeded():
		out.MarkObserved(originAbsent)
	case x.Status() != 403:
	default:
		for _, y := range v.all {
			if y.RequestHead().Has("Origin") && y.Method() == x.Method() && y.Succeeded() && y.hasInitialize() == x.hasInitialize() {
				out.Report(verdict.Deviation{
					Requirement: originAbsent,
					Summary:     "The server refuses a request without an Origin.",
					Permitted:   "a response: only browsers send Origin",
					Seen:        x.describeSeen(), At: positionsOf(x.Request, x.Response),
				})
				return
			}
		}
	}
}
