package serverfeatures

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// referenceTrial collects the responses to completion requests for one reference and argument.
type referenceTrial struct {
	kind        string
	subject     string // the argument and its prompt or template, in words
	all         []*rules.Observation
	empty       []*rules.Observation // responses for an empty value
	withContext []*rules.Observation // responses to requests with context
	served      bool
}

// completionReferences judges whether the server completes the references that it lists. It judges
// at the end: if the server serves some requests for a reference, it refused the others because of
// what differs in them.
func completionReferences() rules.Fold {
	trials := map[string]*referenceTrial{}
	var order []*referenceTrial
	handlers := onCompletionResponses(func(s *rules.Session, q completionRequest, obs *rules.Observation, _ *rules.Reporter) {
		if !q.isValid() || !mayComplete(s) || isUnknownMethod(obs.Message) || !catalogs.Of(s).offersReference(q) {
			return
		}
		key := q.kind + "\x00" + q.target + "\x00" + q.argument
		t := trials[key]
		if t == nil {
			t = &referenceTrial{kind: q.kind, subject: rules.Excerpt(wire.Quote(q.argument)) + " of " + rules.Excerpt(wire.Quote(q.target))}
			trials[key] = t
			order = append(order, t)
		}
		t.note(q, s.Revision(), obs)
	})
	return rules.Fold{Shared: readsCatalog, OnMessage: handlers, AtEnd: func(_ *rules.Session, out *rules.Reporter) {
		for _, t := range order {
			t.judge(out)
		}
	}}
}

func (t *referenceTrial) note(q completionRequest, r spec.Revision, obs *rules.Observation) {
	t.all = append(t.all, obs)
	t.served = t.served || !obs.Message.IsError()
	switch {
	case q.context != nil && r.HasCompletionContext():
		t.withContext = append(t.withContext, obs)
	case q.value == "":
		t.empty = append(t.empty, obs)
	}
}

func (t *referenceTrial) judge(out *rules.Reporter) {
	requirement, thing := completionPrompt, "an argument of a listed prompt"
	if t.kind == "ref/resource" {
		requirement, thing = completionTemplate, "a variable of a listed template"
	}
	if !t.served {
		d := deviationOf(requirement, t.all[0])
		d.Summary, d.Permitted = "The server refuses completion for "+thing+".", "a result, even one without values"
		d.Seen, d.Earlier = "for "+t.subject+": "+d.Seen, "/params/argument"
		out.Report(d)
		return
	}
	out.MarkObserved(requirement)
	for _, group := range []struct {
		observations         []*rules.Observation
		requirement, summary string
	}{
		{t.empty, completionEmpty, "The server refuses completion for an empty value."},
		{t.withContext, completionContext, "The server refuses completion with other arguments as context."},
	} {
		switch {
		case len(group.observations) == 0:
		case slices.ContainsFunc(group.observations, func(obs *rules.Observation) bool { return !obs.Message.IsError() }):
			out.MarkObserved(group.requirement)
		default:
			d := deviationOf(group.requirement, group.observations[0])
			d.Summary, d.Permitted = group.summary, "a result, as for other requests with the same reference"
			out.Report(d)
		}
	}
}

// offersReference reports whether the server lists the prompt or template that q refers to, with
// the argument or variable that q completes.
func (b *catalog) offersReference(q completionRequest) bool {
	if q.kind == "ref/resource" {
		return b.templates.seen[q.target] != nil && slices.Contains(uri.Parse(q.target).Variables, q.argument)
	}
	for _, a := range wire.Elements(wire.At(b.prompts.seen[q.target], "/arguments")) {
		if name, ok := wire.Text(wire.At(a, "/name")); ok && name == q.argument {
			return true
		}
	}
	return false
}
