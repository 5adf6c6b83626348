package streamablehttp

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	versionDefault = "streamable-http.version-header-default"
	versionInvalid = "streamable-http.version-header-invalid-400"
)

func versionRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.version-header",
		Title:        "an invalid version header gets 400, a missing one does not",
		Requirements: []string{versionDefault, versionInvalid},
		Start:        judgeExchangesAtEnd(judgeVersionHeaders),
	}}
}

func judgeVersionHeaders(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if x.flaws == badVersion && v.isUnanswered(x) {
			v.judgeInvalidVersion(x, out)
		}
		if x.Response == nil || isAmbiguousStatus(x.Status()) || v.initialized < 0 || x.Request.Seq < v.initialized {
			continue
		}
		switch x.flaws {
		case badVersion:
			v.judgeInvalidVersion(x, out)
		case noVersion:
			v.judgeMissingVersion(x, out)
		}
	}
}

func (v *view) judgeInvalidVersion(x *exchange, out *rules.Reporter) {
	d := verdict.Deviation{Requirement: versionInvalid, Permitted: "status 400", Seen: x.describeSeen(), At: x.positions()}
	switch {
	case x.Response == nil:
		d.Summary = "The server does not answer a request with an invalid version header."
	case x.Status() == 405 && x.Method() != "POST":
		return
	case x.isAccepted():
		d.Summary = "The server serves a request with an invalid version header."
	case !v.isInterpretable(x, out, versionInvalid):
		return
	case x.Status() == 400:
		out.MarkObserved(versionInvalid)
		return
	default:
		d.Summary = "The server refuses an invalid version header, but not with 400."
	}
	out.Report(d)
}

// judgeMissingVersion judges requests without a version header in a session. A server without
// sessions does not know the negotiated version, and need not support the default one.
func (v *view) judgeMissingVersion(x *exchange, out *rules.Reporter) {
	switch {
	case x.Method() != "POST":
	case x.Succeeded():
		out.MarkObserved(versionDefault)
	case x.Status() == 400 && x.session != "" && v.isSessionServedAfter(x) && v.isInterpretable(x, out, versionDefault):
		out.Report(verdict.Deviation{
			Requirement: versionDefault,
			Summary:     "The server refuses a session's request without a version header.",
			Permitted:   "a response in the version that the session negotiated",
			Seen:        x.describeSeen(), At: x.positions(),
		})
	}
}
