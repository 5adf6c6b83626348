package serverfeatures

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// feature is a capability whose things are listed and used by name: what holds
// for tools holds for prompts.
type feature struct {
	list
	thing, things string // in sentences
	use           string // the method that uses one
	// used reports whether a result shows that there is such a thing.
	used func(m *wire.Message) bool

	// Requirements.
	declared, answered, paramsOptional, told string
	once                                     []string
	silent                                   []string
}

var (
	toolFeature = feature{
		list: toolList, thing: "tool", things: "tools", use: spec.MethodToolsCall,
		used:     func(m *wire.Message) bool { return !failed(m) },
		declared: "tools.capability.declared", answered: "tools.list.answered", paramsOptional: "tools.list.params-optional",
		told:   "tools.list-changed.sent-on-change-2024-11-05",
		once:   []string{"tools.name.unique-2024-11-05", "tools.name.unique-2025-11-25"},
		silent: []string{"tools.list-changed.only-if-declared-2024-11-05", "tools.list-changed.only-if-declared-2025-06-18"},
	}
	promptFeature = feature{
		list: promptList, thing: "prompt", things: "prompts", use: spec.MethodPromptsGet,
		used:     func(m *wire.Message) bool { return len(wire.Elements(wire.At(m.Result(), "/messages"))) > 0 },
		declared: "prompts.capability.declared", answered: "prompts.list.answered", paramsOptional: "prompts.list.params-optional",
		told:   "prompts.list-changed.sent-on-change-2024-11-05",
		once:   []string{"prompts.name.unique"},
		silent: []string{"prompts.list-changed.only-if-declared-2024-11-05", "prompts.list-changed.only-if-declared-2025-06-18"},
	}
)

// rules returns what holds for each feature.
func (f *feature) rules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule." + f.things + "-declared",
			Title:        "only what is declared as a capability lists or uses " + f.things,
			Requirements: []string{f.declared},
			Start:        rules.Stateless(rules.Fold{Hear: f.declaration()}),
		},
		{
			ID:           "rule." + f.things + "-list-answered",
			Title:        f.method + " is answered with a result, with params and without",
			Requirements: []string{f.answered, f.paramsOptional},
			Start:        f.lists,
		},
		{
			ID:           "rule." + f.things + "-named-once",
			Title:        "no two " + f.things + " have the same name",
			Requirements: f.once,
			Start:        f.named,
		},
		{
			ID:           "rule." + f.things + "-changes-declared",
			Title:        "changes to the list of " + f.things + " are only told of where that is declared",
			Requirements: f.silent,
			Start:        f.unasked,
		},
		{
			ID:           "rule." + f.things + "-changes-told",
			Title:        "where that is declared, changes to the list of " + f.things + " are announced",
			Requirements: []string{f.told},
			Start:        f.changes,
		},
	}
}

func (f *feature) declaration() rules.Hears {
	refused := func(s *rules.Session, h *rules.Heard, out *rules.Out) {
		if yes, spoiled := declares(s, f.capability); regular(s, h) && !yes && !spoiled && out.Telling(h, rules.AnyPing(), f.declared) {
			out.Subject(f.declared)
		}
	}
	served := func(s *rules.Session, h *rules.Heard, out *rules.Out, summary string, w verdict.Weight) {
		switch yes, spoiled := declares(s, f.capability); {
		case spoiled: // the handshake's matter
		case yes:
			out.Subject(f.declared)
		default:
			out.Found(verdict.Deviation{
				Requirement: f.declared,
				Summary:     summary,
				Permitted:   "the capability " + f.capability + " in the answer to initialize, or an error to " + h.Asked.Message.Method,
				Seen:        rules.Excerpt(h.Message.Raw),
				At:          rules.At(s.Initialize.Event, h.Asked.Event, h.Event),
				Weight:      w,
			})
		}
	}
	return rules.Hears{
		rules.ErrorTo(f.method): refused,
		rules.ErrorTo(f.use):    refused,
		rules.ResultOf(f.method): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			switch items := wire.At(h.Message.Result(), "/"+f.member); {
			case !regular(s, h) || items.Kind() != '[':
			case len(wire.Elements(items)) > 0:
				served(s, h, out, "The server lists "+f.things+" without declaring them.", verdict.Full)
			default:
				served(s, h, out, "The server lists no "+f.things+", but does not declare them.", verdict.OnlyNote)
			}
		},
		rules.ResultOf(f.use): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
			if regular(s, h) && f.used(h.Message) {
				served(s, h, out, "The server serves a "+f.thing+" without declaring "+f.things+".", verdict.Full)
			}
		},
	}
}

// listAttempt is one request for the beginning of a list and its answer.
type listAttempt struct {
	asked  *rules.Asked
	event  *transcript.Event
	answer *wire.Message
}

// counts groups listAttempts by their outcome.
type counts struct{ served, refused []listAttempt }

// lists judges at the end: whether it was the params that had a request
// refused, others show.
func (f *feature) lists() rules.Fold {
	bare, empty := &counts{}, &counts{} // without params, and with params that say nothing
	listen := func(s *rules.Session, h *rules.Heard, _ *rules.Out) {
		params := h.Asked.Message.Params()
		names, _ := wire.Members(params)
		t := bare
		if params != nil {
			t = empty
		}
		switch p := (listAttempt{h.Asked, h.Event, h.Message}); {
		case !regular(s, h) || len(names) > 1 || len(names) == 1 && names[0] != "_meta":
		case h.Message.IsError():
			t.refused = append(t.refused, p)
		default:
			t.served = append(t.served, p)
		}
	}
	return rules.Fold{
		Hear: rules.Hears{rules.ResultOf(f.method): listen, rules.ErrorTo(f.method): listen},
		End: func(s *rules.Session, out *rules.Out) {
			if s.Began() && s.ServerDeclared(f.capability) {
				f.judgeLists(bare, empty, out)
			}
		},
	}
}

func (f *feature) judgeLists(bare, empty *counts, out *rules.Out) {
	d := verdict.Deviation{Requirement: f.answered, Permitted: "a result"}
	found := func(p listAttempt) {
		d.Seen, d.At = rules.Excerpt(p.answer.Raw), rules.At(p.asked.Event, p.event)
		out.Found(d)
	}
	for range bare.served {
		out.Subject(f.paramsOptional)
		out.Subject(f.answered)
	}
	for range empty.served {
		out.Subject(f.answered)
	}
	refused := append(append([]listAttempt{}, bare.refused...), empty.refused...)
	switch {
	case len(refused) == 0:
	case len(bare.served)+len(empty.served) == 0:
		d.Summary = "The server declares " + f.things + ", but refuses to list them."
		found(refused[0])
	case len(bare.refused) > 0 && len(bare.served) == 0:
		d.Requirement = f.paramsOptional
		d.Summary = "The server refuses to list " + f.things + " without params."
		found(bare.refused[0])
	case len(empty.refused) > 0 && len(empty.served) == 0:
		d.Summary = "The server refuses to list " + f.things + " with empty params."
		d.Weight = verdict.AtMostWarning // it was served to another
		found(empty.refused[0])
	default:
		d.Summary, d.Weight = "The server sometimes refuses to list "+f.things+".", verdict.OnlyNote
		found(refused[0])
	}
}
