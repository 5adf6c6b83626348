package streamablehttp

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
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

// judgeAcceptableHeaders judges requests whose headers give no reason to refuse them, and session
// ids that the server assigns in a revision without sessions. A missing or mismatched header that
// the server refuses with -32020 (header mismatch), as it should, counts as an observation of
// codeMeaning.
func judgeAcceptableHeaders(v *view, out *rules.Reporter) {
	v.forEachRequest(func(x *exchange, req *rules.Request) {
		if !v.s.AppliesTo(req) || x.flaws&badAccept != 0 {
			return
		}
		if x.ResponseHead().Has(sessionHeader) && v.s.IsStatelessOnly() {
			out.Report(verdict.Deviation{
				Requirement: sessionIgnored, Summary: "The server assigns a session id in a revision without sessions.",
				Permitted: "no Mcp-Session-Id in responses", Seen: rules.Excerpt(x.ResponseHead().Describe(sessionHeader)), At: x.positions(),
			})
		}
		switch flaws := req.HeaderFlaws; {
		case len(flaws) == 0:
			v.judgeMatchingHeaders(x, req, out)
		case len(flaws) == 1 && flawRequirements[flaws[0]] != "":
			if e := x.errorIn(); e != nil && errorCode(e) == spec.CodeHeaderMismatch {
				out.MarkObserved(codeMeaning)
			}
		case len(flaws) == 1:
			v.judgeMeaninglessHeader(x, req, flaws[0], out)
		}
	})
}

// canonical are the usual spellings of the headers.
var canonical = []string{headers.Version, "Mcp-Protocol-Version", headers.Method, headers.Name}

// padded matches a header whose value has unusual white space around it.
var padded = lazyregexp.New(`(?mi)^mcp-[a-z-]+:([ \t]{2,}|\t| ?[^ \t\r\n][^\r\n]*[ \t]+\r?$)`)

// mayBePadded is a cheap first test: it reports whether the head has a tab, two consecutive spaces,
// or a space at the end of a line.
func mayBePadded(head []byte) bool {
	for _, space := range []string{"\t", "  ", " \r", " \n"} {
		if bytes.Contains(head, []byte(space)) {
			return true
		}
	}
	return bytes.HasSuffix(head, []byte(" "))
}

// oddFormRequirements returns the requirements on unusual but valid forms that the headers of a
// request have.
func (v *view) oddFormRequirements(x *exchange, req *rules.Request) []string {
	var out []string
	head := x.RequestHead()
	if headers.IsEncoded(head.Get(headers.Name)) {
		out = append(out, nameEncoded)
	}
	for _, f := range head.Fields {
		lower := strings.ToLower(f.Name)
		standard := lower == "mcp-protocol-version" || lower == "mcp-method" || lower == "mcp-name"
		if standard && !slices.Contains(canonical, f.Name) {
			out = append(out, namesAnyCase)
			break
		}
	}
	if x.Request != nil && mayBePadded(x.Request.Raw) && padded.Match(x.Request.Raw) {
		out = append(out, whitespace)
	}
	if req.Message.Method == spec.MethodListen {
		out = append(out, listenUnnamed)
	}
	out = append(out, v.oddParams(x, req)...)
	if len(out) == 0 && v.lacksArgument(req) {
		out = append(out, paramNotExpected)
	}
	return out
}

// lacksArgument reports whether a call lacks an argument that a header would mirror.
func (v *view) lacksArgument(req *rules.Request) bool {
	return v.hasArgument(req, headers.Argument.IsMissingIn)
}

// hasUnmirroredArgument reports whether a call has an argument with a value that a header should
// mirror but cannot, such as an object. The server may find that the header is missing.
func (v *view) hasUnmirroredArgument(req *rules.Request) bool {
	return v.hasArgument(req, func(a headers.Argument, arguments jsontext.Value) bool {
		return a.ValueIn(arguments) == nil && !a.IsMissingIn(arguments)
	})
}

// hasArgument reports whether the predicate returns true for one of the arguments of a call that
// headers mirror.
func (v *view) hasArgument(req *rules.Request, is func(a headers.Argument, arguments jsontext.Value) bool) bool {
	if req.Message.Method != spec.MethodToolsCall {
		return false
	}
	name, _ := wire.Text(req.Message.ParamAt("/name"))
	params, _ := v.s.Headers.ParamsOf(name)
	return slices.ContainsFunc(params, func(a headers.Argument) bool { return is(a, req.Message.ParamAt("/arguments")) })
}

func (v *view) oddParams(x *exchange, req *rules.Request) []string {
	if req.Message.Method != spec.MethodToolsCall {
		return nil
	}
	var out []string
	name, _ := wire.Text(req.Message.ParamAt("/name"))
	params, _ := v.s.Headers.ParamsOf(name)
	for _, p := range params {
		value, argument := x.RequestHead().Get(headers.Param+p.Name), p.ValueIn(req.Message.ParamAt("/arguments"))
		if odd := oddParam(value, argument); odd != "" {
			out = append(out, odd)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// oddParam returns the requirement on the form of an argument's header if that form is unusual, or
// "". The argument is nil if no header should mirror it.
func oddParam(value string, argument jsontext.Value) string {
	switch {
	case argument == nil:
	case headers.IsEncoded(value):
		return paramEncoded
	case argument.Kind() == '0' && value != string(argument):
		return paramNumeric
	}
	return ""
}

// oddFormRefused has the summary of the refusal of each unusual form.
var oddFormRefused = map[string]string{
	nameEncoded:      "The server refuses an Mcp-Name in Base64 that matches the body.",
	paramEncoded:     "The server refuses the header of an argument in Base64 that matches the body.",
	paramNumeric:     "The server compares the number in a header with its argument as text.",
	paramNotExpected: "The server demands the header of an argument that the call does not have.",
	namesAnyCase:     "The server refuses header names in another letter case.",
	whitespace:       "The server refuses a header value with spaces around it.",
	listenUnnamed:    "The server demands an Mcp-Name of subscriptions/listen.",
}

// judgeMatchingHeaders judges a request whose headers match. If several of their forms are unusual,
// a refusal shows nothing about any of them.
func (v *view) judgeMatchingHeaders(x *exchange, req *rules.Request, out *rules.Reporter) {
	if req.UnlistedTool || v.hasUnmirroredArgument(req) {
		return // the server may require headers that the client could not know or send
	}
	odd := v.oddFormRequirements(x, req)
	e := x.errorIn()
	name, _ := headers.NameOf(req.Message)
	// If the body has no name or an empty one, a server may find that Mcp-Name is missing.
	if e == nil || errorCode(e) != spec.CodeHeaderMismatch || headers.RequiresNameHeader(req.Message.Method) && name == "" {
		if e == nil && x.Succeeded() {
			for _, requirement := range odd {
				out.MarkObserved(requirement)
			}
		}
		return
	}
	d := verdict.Deviation{
		Requirement: codeMeaning, Summary: "The server reports a header mismatch, but the headers match.",
		Fix:       "Compare each header with the value of the body, and use -32020 only if they differ.",
		Permitted: "a result, or an error other than -32020: each header has the value of the body", Seen: x.describeSeen(), At: x.positions(),
	}
	switch len(odd) {
	case 0:
		d.Weight = verdict.AtMostWarning // a proxy in front may have dropped a header
	case 1:
		d.Requirement, d.Summary = odd[0], oddFormRefused[odd[0]]
		d.Fix = ""
		if d.Requirement == nameEncoded {
			d.Header = headers.Name
		}
		v.describeOddParam(&d, x, req)
		out.MarkReportedElsewhere(codeMeaning)
	default:
		return
	}
	out.Report(d)
}

// describeOddParam makes a deviation about an unusual form of an argument's header show the header
// and the argument. It leaves other deviations as they are.
func (v *view) describeOddParam(d *verdict.Deviation, x *exchange, req *rules.Request) {
	name, _ := wire.Text(req.Message.ParamAt("/name"))
	params, _ := v.s.Headers.ParamsOf(name)
	for _, p := range params {
		value, argument := x.RequestHead().Get(headers.Param+p.Name), p.ValueIn(req.Message.ParamAt("/arguments"))
		if oddParam(value, argument) != d.Requirement {
			continue
		}
		d.Header = headers.Param + p.Name
		d.Seen = x.describeSeenWith(d.Header + ": " + rules.Excerpt(value) + " and the argument " + strings.Join(p.Path, ".") + " = " + rules.Excerpt(argument))
		if d.Requirement == paramNumeric {
			d.Permitted = "a result, or an error other than -32020: header and argument are the same number"
		}
		return
	}
}

// judgeMeaninglessHeader judges a request with a header that has no meaning in this era. A server
// that also supports earlier revisions may treat the headers of those revisions as they require.
func (v *view) judgeMeaninglessHeader(x *exchange, req *rules.Request, flaw rules.HeaderFlaw, out *rules.Reporter) {
	requirement := map[rules.HeaderFlaw]string{rules.SessionNamed: sessionIgnored, rules.StreamResumed: resumeIgnored, rules.ParamUnknown: paramIgnored}[flaw]
	switch {
	case requirement == "", requirement != paramIgnored && !v.s.IsStatelessOnly():
	case x.isAccepted():
		out.MarkObserved(requirement)
	case !v.isMethodServed(req.Message.Method):
		out.MarkUnclear(requirement, "the server refused the request ("+x.describeStatus()+"), and served no "+req.Message.Method+" without the header")
	default:
		out.Report(verdict.Deviation{
			Requirement: requirement, Summary: "The server refuses a request because of a header that it should ignore.",
			Permitted: "the response that the request gets without the header", Seen: x.describeSeen(), At: x.positions(),
		})
	}
}
