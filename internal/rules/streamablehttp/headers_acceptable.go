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
