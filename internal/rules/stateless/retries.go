package stateless

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	askedAgain       = "mrtr.missing-input-asked-again"
	unexpectedInput  = "mrtr.unexpected-input-ignored"
	malformedInput   = "mrtr.malformed-input-error"
	validatesInput   = "mrtr.validate-input-responses"
	retriesCompleted = "mrtr.retry-completes"
)

func retryRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.retries",
		Title:        "a retry with the required input continues; missing input is requested again",
		Requirements: []string{askedAgain, unexpectedInput, malformedInput, validatesInput, retriesCompleted},
		Start:        rules.WithoutState(rules.Fold{OnMessage: rules.OnResponse("", judgeRetry)}),
	}}
}

// judgeRetry judges the response to a retry by what is odd about its input. If several things are
// odd, the response shows nothing.
func judgeRetry(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	req := obs.Request
	if !isJudged(s, obs) || !req.WellFormed || !req.Metadata.IsComplete() || len(req.HeaderFlaws) > 0 {
		return
	}
	round := s.Rounds.Of(req)
	if round == nil || !isPlainRetry(round, req) {
		return
	}
	responses := req.Message.ParamAt("/inputResponses")
	names, values := wire.Members(responses)
	var missing, extra, malformed, declined []string
	for key, asked := range round.Inputs {
		switch v := values[key]; {
		case v == nil:
			missing = append(missing, key)
		case !isAnswerTo(s, asked.Message, v):
			malformed = append(malformed, key)
		case asked.Message.Method == spec.MethodElicit && string(wire.At(v, "/action")) != `"accept"`:
			declined = append(declined, key)
		}
	}
	for _, name := range names {
		if round.Inputs[name] == nil {
			extra = append(extra, name)
		}
	}
	d := verdict.Deviation{Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(round.Result.Event, req.Event, obs.Event)}
	refused := obs.Message.IsError()
	if needsOtherCapability(obs) {
		out.MarkUnclear(retriesCompleted, "the server needs a capability for the retry that the client did not declare")
		return
	}
	switch {
	case responses != nil && responses.Kind() != '{', len(malformed) > 0 && len(missing)+len(extra) == 0:
		judgeMalformedInput(responses, refused, obs, d, out)
	case len(malformed) > 0:
	case len(missing) > 0 && len(extra) == 0:
		judgeMissingInput(refused, obs, d, out)
	case len(extra) > 0 && len(missing) == 0 && len(declined) == 0:
		judgeExtraInput(s, round, refused, obs, d, out)
	case len(extra) == 0 && len(round.Inputs) > 0:
		if !refused {
			out.MarkObserved(retriesCompleted)
			return
		}
		if len(declined) > 0 || s.Rounds.WasRetried(round, req) || obs.Event.At-round.Result.Event.At > stateLife {
			return // declined input may get an error, and a state may be valid only once, or only for a while
		}
		d.Requirement, d.Summary = retriesCompleted, "The server refuses a retry that has all the input it asked for."
		d.Permitted = "the result, or input_required once more"
		if mayRefuseContent(codeOf(obs)) && hasFreeContent(round, values) {
			if req.Message.Method != spec.MethodToolsCall {
				out.MarkUnclear(retriesCompleted, "the server refused the retry, perhaps for the content of the input")
				return
			}
			d.Permitted += "; if the server does not accept the content, a result with isError"
			d.Weight = verdict.OnlyNote
		}
		out.Report(d)
	}
}

// needsOtherCapability reports whether a message is an error -32021 that names a capability which
// the request does not declare. With the input, the server may find out that it needs more.
func needsOtherCapability(obs *rules.Observation) bool {
	required := requiredCapabilities(obs)
	return codeOf(obs) == spec.CodeMissingClientCap && required.Kind() == '{' && !isDeclared(obs.Request.Metadata.Capabilities, required)
}

// mayRefuseContent reports whether an error with this code may be about the content of the input: it
// is -32602, or a code of the server's own.
func mayRefuseContent(code spec.Code) bool {
	switch code {
	case spec.CodeParse, spec.CodeInvalidRequest, spec.CodeMethodNotFound, spec.CodeInternal,
		spec.CodeHeaderMismatch, spec.CodeMissingClientCap, spec.CodeUnsupported:
		return false
	}
	return true
}

// hasFreeContent reports whether one of the responses to a round has content that the server did
// not offer. A server may refuse such content, such as the name of a user who does not exist, even
// if it is a valid response.
func hasFreeContent(round *rules.Round, responses map[string]jsontext.Value) bool {
	for key, asked := range round.Inputs {
		if asked.Message.Method != spec.MethodElicit {
			return true // roots, or the text of a model
		}
		names, content := wire.Members(wire.At(responses[key], "/content"))
		_, fields := wire.Members(asked.Message.ParamAt("/requestedSchema/properties"))
		for _, name := range names {
			if !isOffered(fields[name], content[name]) {
				return true
			}
		}
	}
	return false
}

// isOffered reports whether the schema of a form's field lists the value, alone or as an element of
// an array. Both booleans are always offered.
func isOffered(field, value jsontext.Value) bool {
	if value.Kind() == '[' {
		items := wire.At(field, "/items")
		return !slices.ContainsFunc(wire.Elements(value), func(v jsontext.Value) bool { return !isOffered(items, v) })
	}
	offered := append(wire.Elements(wire.At(field, "/enum")), wire.At(field, "/default"))
	for _, list := range []string{"/oneOf", "/anyOf"} {
		for _, choice := range wire.Elements(wire.At(field, list)) {
			offered = append(offered, wire.At(choice, "/const"))
		}
	}
	same := func(v jsontext.Value) bool { return v != nil && wire.Canonical(v) == wire.Canonical(value) }
	return value.Kind() == 't' || value.Kind() == 'f' || slices.ContainsFunc(offered, same)
}

// stateLife is the minimum time for which a server has to accept its own requestState.
const stateLife = 30 * time.Second

// isPlainRetry reports whether a retry has the same arguments and capabilities as the original
// request.
func isPlainRetry(round *rules.Round, req *rules.Request) bool {
	return round.Request.IsRepeatOf(req) && string(round.Request.Metadata.Capabilities) == string(req.Metadata.Capabilities)
}

// isAnswerTo reports whether a value is a valid response to the request.
func isAnswerTo(s *rules.Session, asked *wire.Message, v jsontext.Value) bool {
	switch asked.Method {
	case spec.MethodElicit:
		action, _ := wire.Text(wire.At(v, "/action"))
		content, form := wire.At(v, "/content"), asked.ParamAt("/requestedSchema")
		switch {
		case action == "accept" && form.Kind() == '{':
			return content.Kind() == '{' && len(schema.For(s.Revision()).CheckStructuredContent(form, content)) == 0
		case action == "accept", action == "decline", action == "cancel":
			return content == nil || content.Kind() == '{'
		}
		return false
	case spec.MethodSampling:
		_, role := wire.Text(wire.At(v, "/role"))
		_, model := wire.Text(wire.At(v, "/model"))
		return role && model && wire.At(v, "/content") != nil
	case spec.MethodRootsList:
		return wire.At(v, "/roots").Kind() == '['
	default:
		return true
	}
}

// judgeMalformedInput judges input that is not a valid response. If inputResponses is not an
// object, the request is invalid; otherwise the server may require the input again.
func judgeMalformedInput(responses jsontext.Value, refused bool, obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	d.Requirement, d.Permitted = validatesInput, "an error, or input_required once more"
	if responses.Kind() != '{' {
		d.Requirement, d.Permitted = malformedInput, "an error, such as -32602"
	}
	d.Seen, d.Earlier = "a result, although inputResponses is "+rules.Excerpt(responses), "/params/inputResponses"
	d.Pointer = "/result/resultType"
	kind, _ := wire.Text(obs.Message.ResultAt("/resultType"))
	switch {
	case refused:
		out.MarkObserved(validatesInput)
		out.MarkObserved(malformedInput)
	case kind == spec.ResultInputRequired && responses.Kind() == '{':
		out.MarkObserved(validatesInput)
	case kind == spec.ResultInputRequired: // the server treats the responses as missing
		d.Summary = "The server asks again, although inputResponses is not an object."
		out.Report(d)
	case string(obs.Message.ResultAt("/isError")) == "true":
	default:
		d.Summary = "The server accepts input that is not an answer to what it asked."
		out.Report(d)
	}
}

// judgeMissingInput judges a retry that lacks responses. A server may proceed without them.
func judgeMissingInput(refused bool, obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	if kind, _ := wire.Text(obs.Message.ResultAt("/resultType")); kind == spec.ResultInputRequired {
		out.MarkObserved(askedAgain)
		return
	}
	if !refused {
		return
	}
	d.Requirement, d.Summary = askedAgain, "The server refuses a retry that lacks input, instead of asking again."
	d.Permitted = "input_required with the missing input"
	out.Report(d)
}

// judgeExtraInput judges a retry with more responses than required. It judges a refusal only if an
// equal retry without the extra responses was served, and no such retry got the same error.
func judgeExtraInput(s *rules.Session, round *rules.Round, refused bool, obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	if !refused {
		out.MarkObserved(unexpectedInput)
		return
	}
	served, required := false, requiredResponses(round, obs.Request)
	for _, req := range s.ClientRequests() {
		other := s.Rounds.Of(req)
		if req == obs.Request || other == nil || !isPlainRetry(other, req) || !other.Request.IsRepeatOf(round.Request) {
			continue
		}
		names, _ := wire.Members(req.Message.ParamAt("/inputResponses"))
		if len(names) != len(required) || !slices.Equal(requiredResponses(other, req), required) {
			continue
		}
		if len(req.Responses) > 0 && isSameError(req.Responses[0].Message, obs.Message) {
			served = false
			break
		}
		served = served || req.Succeeded()
	}
	if !served {
		out.MarkUnclear(unexpectedInput, "the server refused the retry, and served none without the additional input")
		return
	}
	d.Requirement, d.Summary, d.Permitted = unexpectedInput, "The server refuses a retry for input that it did not require.", "the result that a retry without the additional input gets"
	out.Report(d)
}

// requiredResponses returns the responses of a retry to the inputs of its round, sorted. The keys
// are left out, because a server may choose new ones in each round.
func requiredResponses(round *rules.Round, req *rules.Request) []string {
	var out []string
	_, values := wire.Members(req.Message.ParamAt("/inputResponses"))
	for key, asked := range round.Inputs {
		if values[key] != nil {
			out = append(out, asked.Message.Method+" "+wire.Canonical(values[key]))
		}
	}
	slices.Sort(out)
	return out
}

// isSameError reports whether two messages are errors with the same code and text.
func isSameError(a, b *wire.Message) bool {
	same := func(member string) bool {
		return string(wire.At(a.Member("error"), member)) == string(wire.At(b.Member("error"), member))
	}
	return a.IsError() && b.IsError() && same("/code") && same("/message")
}
