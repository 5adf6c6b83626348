package streamablehttp

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Requirements on the headers of the stateless era, which mirror the body.
const (
	versionRequired  = "streamable-http.version-header-required"
	versionMatches   = "streamable-http.version-header-match"
	methodRequired   = "streamable-http.mcp-method-required"
	methodMatches    = "streamable-http.mcp-method-match"
	nameRequired     = "streamable-http.mcp-name-required"
	nameMatches      = "streamable-http.mcp-name-match"
	markerCase       = "streamable-http.base64-marker-case"
	invalidChars     = "streamable-http.header-invalid-chars"
	paramMatches     = "streamable-http.param-header-match"
	paramRequired    = "streamable-http.param-header-missing"
	mismatchError    = "streamable-http.header-mismatch-error"
	nameEncoded      = "streamable-http.mcp-name-base64"
	namesAnyCase     = "streamable-http.header-names-case-insensitive"
	whitespace       = "streamable-http.header-whitespace"
	paramEncoded     = "streamable-http.param-header-base64"
	paramNotExpected = "streamable-http.param-header-not-expected"
	paramNumeric     = "streamable-http.param-header-integer-numeric"
	paramIgnored     = "streamable-http.param-header-unknown-ignored"
	sessionIgnored   = "streamable-http.session-header-ignored"
	resumeIgnored    = "streamable-http.last-event-id-ignored"
	listenUnnamed    = "subscriptions.http-listen-no-mcp-name"
	codeMeaning      = "base.error-code-defined-meaning"
	errorResponseID  = "base.error-response-id"
)

func headerRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:    "rule.headers-mirror-body",
			Title: "a request whose headers do not match its body is refused with 400 and -32020",
			Requirements: []string{
				versionRequired, versionMatches, methodRequired, methodMatches, nameRequired, nameMatches, markerCase, invalidChars,
				paramMatches, paramRequired, mismatchError,
			},
			Start: judgeExchangesAtEnd(judgeMismatches),
		},
		{
			ID:    "rule.headers-understood",
			Title: "headers that match the body are accepted in any form, and headers without a meaning are ignored",
			Requirements: []string{
				nameEncoded, namesAnyCase, whitespace, paramEncoded, paramNotExpected, paramNumeric, paramIgnored, resumeIgnored,
				sessionIgnored, listenUnnamed, codeMeaning,
			},
			Start: judgeExchangesAtEnd(judgeAcceptableHeaders),
		},
		{
			ID:           "rule.refusal-ids",
			Title:        "an error with a status of 4xx has the id of the request",
			Requirements: []string{errorResponseID},
			Start:        judgeExchangesAtEnd(judgeRefusalIDs),
		},
	}
}

// forEachRequest calls visit with each POST of a single stateless request that is valid apart from
// its headers, and whose response has an unambiguous status.
func (v *view) forEachRequest(visit func(x *exchange, req *rules.Request)) {
	if v.s.Transport != spec.StreamableHTTP || v.s.Era() != spec.Stateless {
		return
	}
	for _, x := range v.all {
		if x.Method() != "POST" || len(x.requests) != 1 || x.Sent.Frame.Batch || x.Response == nil || isAmbiguousStatus(x.Status()) {
			continue
		}
		if req := x.requests[0]; req.WellFormed && req.HasLegalID() && req.Metadata.IsComplete() {
			visit(x, req)
		}
	}
}

// flawRequirements has the requirement that covers each flaw.
var flawRequirements = map[rules.HeaderFlaw]string{
	rules.VersionMissing: versionRequired, rules.VersionDiffers: versionMatches, rules.MethodMissing: methodRequired,
	rules.MethodDiffers: methodMatches, rules.NameMissing: nameRequired, rules.NameDiffers: nameMatches,
	rules.NameInvalid: invalidChars, rules.ParamInvalid: invalidChars, rules.ParamMissing: paramRequired, rules.ParamDiffers: paramMatches,
}

func judgeMismatches(v *view, out *rules.Reporter) {
	v.forEachRequest(func(x *exchange, req *rules.Request) {
		if len(req.HeaderFlaws) != 1 || flawRequirements[req.HeaderFlaws[0]] == "" || x.flaws&badAccept != 0 {
			return
		}
		flaw := req.HeaderFlaws[0]
		if flaw == rules.VersionMissing && v.mayAssumeVersion() {
			return
		}
		requirement := flawRequirements[flaw]
		if flaw == rules.NameDiffers && hasOtherMarker(x.RequestHead().Get(headers.Name)) {
			requirement = markerCase
		}
		v.judgeMismatch(x, req, flaw, requirement, out)
	})
}

// mayAssumeVersion reports whether the server may assume 2025-03-26 for a request without a version
// header, because it supports clients that do not know the header.
func (v *view) mayAssumeVersion() bool {
	return !v.s.IsStatelessOnly()
}

// hasOtherMarker reports whether a value would have the Base64 form if its markers were in lower
// case.
func hasOtherMarker(value string) bool {
	return !headers.IsEncoded(value) && headers.IsEncoded(strings.ToLower(value))
}

// judgeMismatch judges the outcome of a request with one flaw.
func (v *view) judgeMismatch(x *exchange, req *rules.Request, flaw rules.HeaderFlaw, requirement string, out *rules.Reporter) {
	d := verdict.Deviation{Requirement: requirement, Permitted: "status 400 with error -32020", Seen: x.describeFlawed(flaw), At: x.positions(), Header: flawHeader(flaw)}
	e := x.errorIn()
	switch {
	case x.isAccepted():
		d.Summary = "The server serves a request whose headers do not match its body."
		out.Report(d)
		out.MarkReportedElsewhere(mismatchError)
		return
	case e != nil && errorCode(e) == spec.CodeHeaderMismatch:
		out.MarkObserved(requirement)
		judgeMismatchError(x, req, e, d, out)
		return
	case flaw == rules.VersionDiffers && e != nil && errorCode(e) == spec.CodeUnsupported:
		d.Summary, d.Weight = "The server refuses different versions in header and body with -32022.", verdict.AtMostWarning
		out.Report(d) // either version may be unsupported, and the order of the checks is not specified
		return
	case !v.isMethodServed(req.Message.Method):
		out.MarkUnclear(requirement, "the server refused the request ("+x.describeStatus()+"), and served no "+req.Message.Method+" with matching headers")
		return
	}
	out.MarkReportedElsewhere(requirement)
	d.Requirement = mismatchError
	switch {
	case e != nil:
		d.Summary = "The server refuses mismatched headers, but not with -32020."
	case x.Status() == 400:
		d.Summary = "The server refuses mismatched headers without a JSON-RPC error."
		if requirement == invalidChars || !isLoopback(x.RequestHead().Get("Host")) {
			d.Weight = verdict.AtMostWarning // an HTTP server in front may have refused it
		}
	default:
		d.Summary = "The server refuses mismatched headers, but not with status 400."
	}
	out.Report(d)
}

// judgeMismatchError judges an error -32020 by its status and its id.
func judgeMismatchError(x *exchange, req *rules.Request, e *wire.Message, d verdict.Deviation, out *rules.Reporter) {
	d.Requirement = mismatchError
	switch {
	case x.Status() != 400:
		d.Summary = "The server's error -32020 comes with a status other than 400."
	case !e.ID.Same(req.Message.ID):
		d.Summary, d.Weight = "The server's error -32020 does not have the id of the request.", verdict.AtMostWarning
		d.Permitted += " and the id of the request"
	default:
		out.MarkObserved(mismatchError)
		return
	}
	out.Report(d)
}

// judgeRefusalIDs judges the ids of errors that have a status of 4xx, which this revision requires
// for some codes. Such an error must have the id of its request, because the request can be read.
// Other codes are not judged: such an error may be about the exchange rather than the request.
func judgeRefusalIDs(v *view, out *rules.Reporter) {
	v.forEachRequest(func(x *exchange, req *rules.Request) {
		e := x.errorIn()
		if e == nil || x.Status()/100 != 4 || x.flaws&(badAccept|badType|badBody|foreignOrigin|otherHost) != 0 || len(req.HeaderFlaws) > 0 {
			return
		}
		switch errorCode(e) {
		case spec.CodeUnsupported, spec.CodeMissingClientCap:
		case spec.CodeMethodNotFound, spec.CodeInvalidParams:
			if !v.s.AppliesTo(req) {
				return
			}
		default:
			return
		}
		if e.ID.Same(req.Message.ID) {
			out.MarkObserved(errorResponseID)
			return
		}
		out.Report(verdict.Deviation{
			Requirement: errorResponseID, Summary: "The server refuses a readable request with an error without its id.",
			Permitted: "the id of the request; none only if the id can't be read", Seen: x.describeSeen(), At: x.positions(),
		})
	})
}

// isMethodServed reports whether the server served some request of this method with matching
// headers.
func (v *view) isMethodServed(method string) bool {
	return slices.ContainsFunc(v.s.ClientRequests(), func(req *rules.Request) bool {
		return req.Message.Method == method && req.IsRegular() && req.Succeeded()
	})
}

// flawHeader returns the name of the header that has the flaw, "" if the name is not fixed.
func flawHeader(flaw rules.HeaderFlaw) string {
	switch flaw {
	case rules.VersionMissing, rules.VersionDiffers:
		return headers.Version
	case rules.MethodMissing, rules.MethodDiffers:
		return headers.Method
	case rules.NameMissing, rules.NameDiffers, rules.NameInvalid:
		return headers.Name
	default:
		return ""
	}
}

func (x *exchange) describeFlawed(flaw rules.HeaderFlaw) string {
	if header := flawHeader(flaw); header != "" {
		return x.describeSeenWith(rules.Excerpt(x.RequestHead().Describe(header)))
	}
	return x.describeSeen()
}
