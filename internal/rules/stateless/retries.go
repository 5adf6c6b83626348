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
		out.Report(d)
	}
}

// stateLife is the minimum time for which a server has to accept its own requestState.
const stateLife = 30 * time.Second

// isPlainRetry reports whether a retry has the same arguments and capabilities as the original
// request.
func isPlainRetry(round *rules.Round, req *rules.Request) bool {
	return nameAndArguments(round.Request) == nameAndArguments(req) && string(round.Request.Metadata.Capabilities) == string(req.Metadata.Capabilities)
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
// equal retry without the extra responses was served.
func judgeExtraInput(s *rules.Session, round *rules.Round, refused bool, obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	if !refused {
		out.MarkObserved(unexpectedInput)
		return
	}
	plain := slices.ContainsFunc(s.ClientRequests(), func(req *rules.Request) bool {
		other := s.Rounds.Of(req)
		names, _ := wire.Members(req.Message.ParamAt("/inputResponses"))
		return req != obs.Request && req.Succeeded() && other != nil && nameAndArguments(other.Request) == nameAndArguments(round.Request) && len(names) == len(other.Inputs)
	})
	if !plain {
		out.MarkUnclear(unexpectedInput, "the server refused the retry, and served none without the additional input")
		return
	}
	d.Requirement, d.Summary, d.Permitted = unexpectedInput, "The server refuses a retry for input that it did not require.", "the result that a retry without the additional input gets"
	out.Report(d)
}
