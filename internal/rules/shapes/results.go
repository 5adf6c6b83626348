package shapes

import (
	"math/big"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	embeddedMIME    = "content.prompt-embedded.mime-type-present"
	totalNotBelow   = "completion.total.not-below-values"
	hasMoreFits     = "completion.has-more.consistent"
	setLevelEmpty   = "logging.set-level.empty-result"
	subscribeEmpty  = "resources.subscribe.confirmed"
	unsubscribeDone = "resources.unsubscribe.confirmed"
)

func promptResources() rules.Rule {
	return rules.Rule{
		ID:           "rule.prompt-resources",
		Title:        "resources in prompts name their MIME type",
		Requirements: []string{embeddedMIME},
		Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
			rules.ResultOf(spec.MethodPromptsGet): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
				if !isGovernedByRevision(s, obs) {
					return
				}
				for i, m := range wire.Elements(obs.Message.ResultAt("/messages")) {
					resource := wire.At(m, "/content/resource")
					switch {
					case stringAt(m, "/content/type") != "resource" || resource.Kind() != '{':
					case hasMember(resource, "mimeType"):
						out.MarkObserved(embeddedMIME)
					default:
						out.Report(verdict.Deviation{
							Requirement: embeddedMIME,
							Summary:     "The server's prompt has a resource without a MIME type.",
							Permitted:   "mimeType next to uri, although the schema has it optional",
							Seen:        rules.Excerpt(resource) + " at /result/messages/" + strconv.Itoa(i) + "/content/resource",
							At:          rules.PositionsOf(obs.Request.Event, obs.Event),
						})
					}
				}
			},
		}}),
	}
}

func completionCounts() rules.Rule {
	return rules.Rule{
		ID:           "rule.completion-counts",
		Title:        "total and hasMore agree with the values",
		Requirements: []string{totalNotBelow, hasMoreFits},
		Start:        rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.ResultOf(spec.MethodComplete): judgeCounts}}),
	}
}

// judgeCounts compares a completion's total with the number of its values and with hasMore. It
// skips completions without a total, and those with members of the wrong type, which the message
// shape rule reports.
func judgeCounts(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	completion := obs.Message.ResultAt("/completion")
	values := wire.At(completion, "/values")
	total, ok := parseNumber(wire.At(completion, "/total"))
	if !isGovernedByRevision(s, obs) || !ok || values.Kind() != '[' {
		return
	}
	n := len(wire.Elements(values))
	d := verdict.Deviation{
		Seen: strconv.Itoa(n) + " values, total " + rules.Excerpt(wire.At(completion, "/total")),
		At:   rules.PositionsOf(obs.Request.Event, obs.Event), Pointer: "/result/completion/total",
	}
	order := total.Cmp(new(big.Rat).SetInt64(int64(n)))
	if order < 0 {
		d.Requirement, d.Summary = totalNotBelow, "The server's completion has a total below the number of values."
		d.Permitted = "the number of all values, " + strconv.Itoa(n) + " or more, or no total"
		out.Report(d)
		out.MarkReportedElsewhere(hasMoreFits)
		return
	}
	out.MarkObserved(totalNotBelow)
	more := wire.At(completion, "/hasMore").Kind()
	switch {
	case order > 0 && more == 'f', order == 0 && more == 't':
		d.Requirement, d.Summary = hasMoreFits, "The server's completion has a hasMore that contradicts its total."
		d.Permitted = "true if the total exceeds the number of values, else false"
		d.Seen += ", hasMore " + rules.Excerpt(wire.At(completion, "/hasMore"))
		out.Report(d)
	case more == 't' || more == 'f':
		out.MarkObserved(hasMoreFits)
	}
}

func emptyResults() rules.Rule {
	handlers := rules.Handlers{}
	ids := map[string]string{
		spec.MethodSetLevel:             setLevelEmpty,
		spec.MethodResourcesSubscribe:   subscribeEmpty,
		spec.MethodResourcesUnsubscribe: unsubscribeDone,
	}
	for method, id := range ids {
		handlers[rules.ResultOf(method)] = func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) { judgeEmpty(s, obs, id, out) }
	}
	return rules.Rule{
		ID:           "rule.empty-results",
		Title:        "methods without a result type return an empty result",
		Requirements: []string{setLevelEmpty, subscribeEmpty, unsubscribeDone},
		Start:        rules.WithoutState(rules.Fold{OnMessage: handlers}),
	}
}

func judgeEmpty(s *rules.Session, obs *rules.Observation, id string, out *rules.Reporter) {
	names, _ := wire.Members(obs.Message.Result())
	if !isGovernedByRevision(s, obs) || obs.Message.Result().Kind() != '{' {
		return
	}
	for _, name := range names {
		if name != "_meta" {
			out.Report(verdict.Deviation{
				Requirement: id,
				Summary:     "The server's result of " + obs.Request.Message.Method + " should be empty, but is not.",
				Permitted:   "{}, or an object with only _meta",
				Seen:        rules.Excerpt(obs.Message.Result()),
				At:          rules.PositionsOf(obs.Request.Event, obs.Event),
			})
			return
		}
	}
	out.MarkObserved(id)
}
