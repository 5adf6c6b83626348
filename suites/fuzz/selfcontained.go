package fuzz

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// deficient are the codes of errors that say that the request itself lacks something.
var deficient = []spec.Code{spec.CodeInvalidRequest, spec.CodeInvalidParams, spec.CodeMissingClientCap, spec.CodeUnsupported}

// dependsOnOthers reports requests of the stateless era that are refused for something that they
// lack, though an equal request was served. The outcome must then depend on other requests. It
// looks only at requests whose params name no item, because a named item may come and go.
func dependsOnOthers(execution *fuzz.Execution) []fuzz.Breach {
	if execution.Script.Revision.Era() != spec.Stateless {
		return nil
	}
	served := map[string]bool{}
	eachPlainRequest(execution, func(_ int, _ *transcript.Event, m *wire.Message, request string, _ *transcript.Request) {
		if !m.IsError() {
			served[request] = true
		}
	})
	var out []fuzz.Breach
	eachPlainRequest(execution, func(n int, e *transcript.Event, m *wire.Message, request string, r *transcript.Request) {
		code, ok := m.ErrorCode()
		if !ok || !served[request] || !slices.Contains(deficient, spec.Code(code)) {
			return
		}
		out = append(out, fuzz.Breach{Conversation: n, Deviation: verdict.Deviation{
			Requirement: selfContained,
			Summary:     "The server refuses a request that it serves after other requests.",
			Permitted:   "the same outcome wherever the request comes, because everything that it depends on is in it",
			Seen:        excerpt(m.Raw) + "; an equal request got a result",
			At:          []int{r.Event.Seq, e.Seq},
		}})
	})
	return out
}

// hasEqualRequests reports whether there are equal requests to compare.
func hasEqualRequests(execution *fuzz.Execution, _ string) bool {
	if execution.Script.Revision.Era() != spec.Stateless {
		return false
	}
	count, most := map[string]int{}, 0
	eachPlainRequest(execution, func(_ int, _ *transcript.Event, _ *wire.Message, request string, _ *transcript.Request) {
		count[request]++
		most = max(most, count[request])
	})
	return most > 1
}

// eachPlainRequest calls f for each response to a request that an operation sent and whose params
// name no item. The string that it passes as request is the same for equal requests.
func eachPlainRequest(execution *fuzz.Execution, f func(n int, e *transcript.Event, m *wire.Message, request string, r *transcript.Request)) {
	for n, t := range execution.Conversations {
		for e, m := range transcript.Messages(t.Events, transcript.Received) {
			r, op := t.Request(m), execution.OperationOf(t, m)
			if m.Kind != wire.Response || r == nil || op == nil || op.Do != script.Send || op.Violates != "" || !slices.Contains(pure, r.Message.Method) || r.Message.ParamAt("/cursor") != nil {
				continue
			}
			f(n, e, m, r.Message.Method+stableMeta(r.Message), r)
		}
	}
}

// stableMeta returns the _meta of a request without the keys whose values differ from request to
// request.
func stableMeta(m *wire.Message) string {
	names, values := wire.Members(m.ParamAt("/_meta"))
	names = slices.DeleteFunc(names, func(name string) bool {
		return name == "progressToken" || name == "traceparent" || name == "tracestate" || name == "baggage"
	})
	slices.Sort(names)
	return string(wire.Object(names, values))
}
