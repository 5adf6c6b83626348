package stateless

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	missingCapability       = "stateless.missing-capability-error"
	missingCapabilityData   = "stateless.missing-capability-data"
	missingCapabilityStatus = "stateless.missing-capability-http-400"
	undeclaredCapability    = "stateless.no-undeclared-capability"
	onlyDeclared            = "mrtr.only-declared-capabilities"
)

func capabilityRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.missing-capability",
			Title:        "a request that needs an undeclared capability is refused with -32021 and the names of what is missing",
			Requirements: []string{missingCapability, missingCapabilityData, missingCapabilityStatus},
			Start: func() rules.Fold {
				n := &capabilityNeeds{}
				return rules.Fold{
					OnMessage: rules.MergeHandlers(
						rules.Handlers{rules.ErrorTo(""): n.judgeError, rules.ResultOf(spec.MethodToolsCall): n.judgeFailure},
						rules.Handlers{rules.ServerRequest(""): n.note},
					),
					AtEnd: n.judgeNeedless,
				}
			},
		},
		{
			ID:           "rule.declared-capabilities",
			Title:        "the server requires only input that this request's capabilities allow",
			Requirements: []string{onlyDeclared, undeclaredCapability},
			Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ServerRequest(""): judgeDeclared}}),
		},
	}
}

// capabilityOf returns the client capability that an entry of inputRequests with this method needs;
// "" if no entry can have the method.
func capabilityOf(method string) string {
	switch method {
	case spec.MethodSampling:
		return "sampling"
	case spec.MethodElicit:
		return "elicitation"
	case spec.MethodRootsList:
		return "roots"
	}
	return ""
}

// capabilityNeeds tracks the client capabilities that requests turned out to need.
type capabilityNeeds struct {
	seen []need
	// declared are the errors -32021 that name, next to a missing capability, one that the request
	// declares.
	declared []*rules.Observation
}

// A need is a capability that a request needed.
type need struct {
	request    *rules.Request
	capability string
}

// maxNeeds bounds how many needs of a conversation are kept, and how many results of
// server/discover.
const maxNeeds = 200

func (n *capabilityNeeds) note(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	capability := capabilityOf(obs.Message.Method)
	if obs.InputKey != nil && capability != "" && obs.Request.Declares(capability) && len(n.seen) < maxNeeds {
		n.seen = append(n.seen, need{obs.Request, capability})
	}
}

// knownMissingCapability returns a capability that an equal request needed before and that this one
// does not declare, or "".
func (n *capabilityNeeds) knownMissingCapability(req *rules.Request) string {
	for _, before := range n.seen {
		if before.request.IsRepeatOf(req) && !req.Declares(before.capability) {
			return before.capability
		}
	}
	return ""
}

func (n *capabilityNeeds) judgeError(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isJudged(s, obs) || !obs.Request.Metadata.IsComplete() {
		return
	}
	if codeOf(obs) == spec.CodeMissingClientCap {
		judgeMissingCapability(obs, out)
		if len(declaredNames(obs)) > 0 && !isDeclared(obs.Request.Metadata.Capabilities, requiredCapabilities(obs)) && len(n.declared) < maxNeeds {
			n.declared = append(n.declared, obs)
		}
		return
	}
	capability := n.knownMissingCapability(obs.Request)
	if capability == "" || !obs.Request.IsRegular() {
		return
	}
	d := deviationOf(missingCapability, obs)
	d.Summary, d.Permitted = "The server refuses an undeclared capability, but not with -32021.", "error -32021, or a result that does without "+capability
	message, _ := wire.Text(wire.At(obs.Message.Member("error"), "/message"))
	if !namesCapability(message, capability) {
		d.Weight = verdict.AtMostWarning // another reason is possible
	}
	out.Report(d)
}

// namesCapability reports whether a text contains the name of a capability.
func namesCapability(text, capability string) bool {
	return regexp.MustCompile(`(?i)\b` + strings.TrimSuffix(capability, "s")).MatchString(text)
}

// lacksSupport matches what a server writes about a client that lacks something.
var lacksSupport = lazyregexp.New(`(?i)client|support|capabilit|declare`)

// judgeFailure judges a result with isError whose text says that the client lacks a capability,
// although an equal call of a client that has it required input. It is at most a warning, because a
// tool may do without the capability, and fail for that reason.
func (n *capabilityNeeds) judgeFailure(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isJudged(s, obs) || !obs.Request.IsRegular() || !obs.Request.Metadata.IsComplete() || rules.IsRetry(obs.Request.Message) || obs.Message.ResultAt("/isError").Kind() != 't' {
		return
	}
	capability := n.knownMissingCapability(obs.Request)
	if capability == "" {
		return
	}
	for _, block := range wire.Elements(obs.Message.ResultAt("/content")) {
		text, _ := wire.Text(wire.At(block, "/text"))
		if !namesCapability(text, capability) || !lacksSupport.MatchString(text) {
			continue
		}
		d := deviationOf(missingCapability, obs)
		d.Summary, d.Permitted = "The server refuses an undeclared capability in a result with isError.", "error -32021, or a result that does without "+capability
		d.Weight = verdict.AtMostWarning
		out.Report(d)
		return
	}
}

// declaredNames returns the capabilities that an error -32021 names although the request declares
// them, with all parts that the error names.
func declaredNames(obs *rules.Observation) []string {
	var out []string
	names, parts := wire.Members(requiredCapabilities(obs))
	for _, name := range names {
		if isDeclared(obs.Request.Metadata.Capabilities, wire.JSON(map[string]jsontext.Value{name: parts[name]})) {
			out = append(out, name)
		}
	}
	return out
}

// judgeNeedless judges errors -32021 that name a declared capability. The schema permits a server to
// name all that it requires. But if an equal request was completed without that capability, the
// server does not require it.
func (n *capabilityNeeds) judgeNeedless(s *rules.Session, out *rules.Reporter) {
	for _, obs := range n.declared {
		for _, name := range declaredNames(obs) {
			i := slices.IndexFunc(s.ClientRequests(), func(req *rules.Request) bool {
				return req.IsRepeatOf(obs.Request) && req.Metadata != nil && req.Metadata.IsComplete() && !req.Declares(name) && isCompleted(req)
			})
			if i < 0 {
				continue
			}
			without := s.ClientRequests()[i]
			d := deviationOf(missingCapabilityData, obs)
			d.Pointer = "/error/data/requiredCapabilities"
			d.Summary = "The server's error -32021 names a capability that is not missing."
			d.Permitted = "the missing capabilities; " + name + " is declared, and an equal request was completed without it"
			d.At = rules.PositionsOf(obs.Request.Event, obs.Event, without.Event)
			d.Weight = verdict.AtMostWarning // the server may use it if it has more than the least
			out.Report(d)
			return
		}
	}
}

// isCompleted reports whether a request got a complete result in which nothing failed.
func isCompleted(req *rules.Request) bool {
	if !req.Succeeded() {
		return false
	}
	m := req.Responses[0].Message
	kind, _ := wire.Text(m.ResultAt("/resultType"))
	return kind == spec.ResultComplete && string(m.ResultAt("/isError")) != "true"
}

// judgeMissingCapability judges an error -32021. If the error names only declared capabilities,
// judgeCodeMeaning reports the misuse of the code.
func judgeMissingCapability(obs *rules.Observation, out *rules.Reporter) {
	required := requiredCapabilities(obs)
	d := deviationOf(missingCapabilityData, obs)
	d.Pointer = "/error/data/requiredCapabilities"
	d.Permitted = `data.requiredCapabilities with the missing capabilities, such as {"elicitation":{}}`
	names, _ := wire.Members(required)
	switch {
	case required.Kind() != '{':
		d.Summary = "The server's error -32021 has no requiredCapabilities object."
		out.Report(d)
	case len(names) == 0:
		d.Summary, d.Weight = "The server's error -32021 names no capability.", verdict.AtMostWarning
		out.Report(d)
	default:
		out.MarkObserved(missingCapabilityData)
		if !isDeclared(obs.Request.Metadata.Capabilities, required) {
			out.MarkObserved(missingCapability)
		}
	}
	x := obs.Request.Exchange
	if x == nil {
		return
	}
	if x.Status() == 400 {
		out.MarkObserved(missingCapabilityStatus)
		return
	}
	d = deviationOf(missingCapabilityStatus, obs)
	d.Summary, d.Permitted = "The server's error -32021 comes with a status other than 400.", "status 400"
	d.Seen = x.ResponseHead().Line + ": " + d.Seen
	if x.IsStream() {
		d.Weight = verdict.OnlyNote // the status was sent before the error was known
	}
	out.Report(d)
}

// requiredCapabilities returns the capabilities that an error -32021 requires.
func requiredCapabilities(obs *rules.Observation) jsontext.Value {
	return wire.At(obs.Message.Member("error"), "/data/requiredCapabilities")
}

// isDeclared reports whether every required capability is declared, with all its parts. An empty
// elicitation capability means form mode.
func isDeclared(declared, required jsontext.Value) bool {
	names, parts := wire.Members(required)
	_, have := wire.Members(declared)
	for _, name := range names {
		own := have[name]
		if own == nil || own.Kind() == 'n' || own.Kind() == 'f' {
			return false
		}
		if name == "elicitation" {
			if isEmpty(own) {
				own = jsontext.Value(`{"form":{}}`)
			}
		}
		if parts[name].Kind() == '{' && !isDeclared(own, parts[name]) {
			return false
		}
	}
	return true
}

func isEmpty(v jsontext.Value) bool {
	names, _ := wire.Members(v)
	return len(names) == 0
}

// judgeDeclared judges an input that a result requires: the request must declare the capability for
// that input. If only an earlier or a concurrent request declares it, the server may have used that
// declaration. This is certain if the server did not require the input for an equal request before
// the declaration.
func judgeDeclared(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	capability := capabilityOf(obs.Message.Method)
	if obs.InputKey == nil || capability == "" || !s.AppliesTo(obs.Request) || !obs.Request.Metadata.IsComplete() {
		return
	}
	if obs.Request.Declares(capability) {
		out.MarkObserved(onlyDeclared)
		out.MarkObserved(undeclaredCapability)
		return
	}
	d := verdict.Deviation{
		Requirement: onlyDeclared,
		Summary:     "The server requires input of a kind that the client did not declare.",
		Permitted:   obs.Message.Method + " only where this request declares " + capability + "; else error -32021",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.PositionsOf(obs.Request.Event, obs.Event),
	}
	if earlier, concurrent := otherDeclaration(s, obs, capability); earlier != nil || concurrent != nil {
		other := earlier
		d.Requirement = undeclaredCapability
		d.Summary = "The server requires input that only an earlier request allowed."
		if earlier == nil {
			other = concurrent
			d.Summary = "The server requires input that only a concurrent request allowed."
			d.Fix = "Keep the capabilities with their request, not in a variable that all requests share."
		}
		d.At = rules.PositionsOf(other.Event, obs.Request.Event, obs.Event)
		out.Report(d)
		out.MarkReportedElsewhere(onlyDeclared)
		return
	}
	out.Report(d)
	out.MarkReportedElsewhere(undeclaredCapability)
}

// otherDeclaration returns requests that declare the capability and follow a control: earlier, the
// first one that got its response before the request of obs was sent, and concurrent, the first one
// that was in progress at the same time. Either may be nil. A control is equal to the request of obs,
// does not declare the capability either, and its response does not require input by the method of
// obs. A retry is no control, because it may contain the input. If a control follows all earlier
// declarations, earlier is nil if there is a concurrent one, which is then the more likely cause.
func otherDeclaration(s *rules.Session, obs *rules.Observation, capability string) (earlier, concurrent *rules.Request) {
	var first *rules.Request // the first of all earlier ones
	controlled, began := false, obs.Request.Event.Seq
loop:
	for _, req := range s.ClientRequests() {
		switch {
		case req.Event.Seq >= obs.Event.Seq:
			break loop
		case req.Declares(capability):
			if !controlled {
				continue
			}
			if !req.RespondedBefore(began) {
				concurrent = cmp.Or(concurrent, req)
			} else if req.Event.Seq < began {
				earlier, first = cmp.Or(earlier, req), cmp.Or(first, req)
			}
		case req.RespondedBefore(began) && !rules.IsRetry(req.Message) && req.IsRepeatOf(obs.Request) && doesWithout(req, obs.Message.Method):
			controlled, earlier = true, nil
		}
	}
	if concurrent == nil {
		earlier = first
	}
	return earlier, concurrent
}

// doesWithout reports whether the server responded to a request with error -32021, or with a result
// that requires no input of the given method.
func doesWithout(req *rules.Request, method string) bool {
	if len(req.Responses) == 0 || req.Metadata == nil || !req.Metadata.IsComplete() {
		return false
	}
	m := req.Responses[0].Message
	if code, _ := m.ErrorCode(); m.IsError() {
		return spec.Code(code) == spec.CodeMissingClientCap
	}
	return !slices.ContainsFunc(transcript.InputRequests(m), func(in transcript.InputRequest) bool { return in.Method == method })
}
