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
		Start: rules.Stateless(rules.Fold{Hear: rules.Hears{
			rules.ResultOf(spec.MethodPromptsGet): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
				if !since(s, spec.V20241105) {
					return
				}
				for i, m := range wire.Elements(wire.At(h.Message.Result(), "/messages")) {
					resource := wire.At(m, "/content/resource")
					switch {
					case text(m, "/content/type") != "resource" || resource.Kind() != '{':
					case has(resource, "mimeType"):
						out.Subject(embeddedMIME)
					default:
						out.Found(verdict.Deviation{
							Requirement: embeddedMIME,
							Summary:     "The server's prompt has a resource without a MIME type.",
							Permitted:   "mimeType next to uri, although the schema has it optional",
							Seen:        rules.Excerpt(resource) + " at /result/messages/" + strconv.Itoa(i) + "/content/resource",
							At:          rules.At(h.Asked.Event, h.Event),
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
		Start:        rules.Stateless(rules.Fold{Hear: rules.Hears{rules.ResultOf(spec.MethodComplete): counts}}),
	}
}

// counts leaves alone what is of the wrong type, which is told by the shape of
// the message.
func counts(s *rules.Session, h *rules.Heard, out *rules.Out) {
	completion := wire.At(h.Message.Result(), "/completion")
	values := wire.At(completion, "/values")
	total, ok := number(wire.At(completion, "/total"))
	if !since(s, spec.V20241105) || !ok || values.Kind() != '[' {
		return
	}
	n := len(wire.Elements(values))
	d := verdict.Deviation{
		Seen: strconv.Itoa(n) + " values, total " + rules.Excerpt(wire.At(completion, "/total")),
		At:   rules.At(h.Asked.Event, h.Event),
	}
	order := total.Cmp(new(big.Rat).SetInt64(int64(n)))
	if order < 0 {
		d.Requirement, d.Summary = totalNotBelow, "The server's completion has a total below the number of values."
		d.Permitted = "the number of all values, including those sent"
		out.Found(d)
		out.Elsewhere(hasMoreFits)
		return
	}
	out.Subject(totalNotBelow)
	more := wire.At(completion, "/hasMore").Kind()
	switch {
	case order > 0 && more == 'f', order == 0 && more == 't':
		d.Requirement, d.Summary = hasMoreFits, "The server's completion has a hasMore that contradicts its total."
		d.Permitted = "true if the total exceeds the number of values, else false"
		d.Seen += ", hasMore " + rules.Excerpt(wire.At(completion, "/hasMore"))
		out.Found(d)
	case more == 't' || more == 'f':
		out.Subject(hasMoreFits)
	}
}

func emptyResults() rules.Rule {
	hears := rules.Hears{}
	ids := map[string]string{
		spec.MethodSetLevel:             setLevelEmpty,
		spec.MethodResourcesSubscribe:   subscribeEmpty,
		spec.MethodResourcesUnsubscribe: unsubscribeDone,
	}
	for method, id := range ids {
		hears[rules.ResultOf(method)] = func(s *rules.Session, h *rules.Heard, out *rules.Out) { empty(s, h, id, out) }
	}
	return rules.Rule{
		ID:           "rule.empty-results",
		Title:        "methods without a result type return an empty result",
		Requirements: []string{setLevelEmpty, subscribeEmpty, unsubscribeDone},
		Start:        rules.Stateless(rules.Fold{Hear: hears}),
	}
}

func empty(s *rules.Session, h *rules.Heard, id string, out *rules.Out) {
	names, _ := wire.Members(h.Message.Result())
	if !since(s, spec.V20241105) || h.Message.Result().Kind() != '{' {
		return
	}
	for _, name := range names {
		if name != "_meta" {
			out.Found(verdict.Deviation{
				Requirement: id,
				Summary:     "The server's result should be empty, but is not.",
				Permitted:   "{}, or an object with only _meta",
				Seen:        rules.Excerpt(h.Message.Result()),
				At:          rules.At(h.Asked.Event, h.Event),
			})
			return
		}
	}
	out.Subject(id)
}
