package serverfeatures

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// feature is a capability whose items are listed and used by name. It holds what tools and
// prompts have in common.
type feature struct {
	list
	thing, things string // the words for one item and for several, in sentences
	use           string // the method that uses an item
	// showsItem reports whether a result shows that the item exists.
	showsItem func(m *wire.Message) bool

	// Requirement ids.
	declared, answered, paramsOptional, announced string
	announcedOnListen                             string // the requirement on notifications to subscriptions
	uniqueIDs                                     []string
	onlyIfDeclared                                []string
}

var (
	toolFeature = feature{
		list: toolList, thing: "tool", things: "tools", use: spec.MethodToolsCall,
		showsItem: func(m *wire.Message) bool { return !isFailedResult(m) },
		declared:  "tools.capability.declared", answered: "tools.list.answered", paramsOptional: "tools.list.params-optional",
		announced:         "tools.list-changed.sent-on-change-2024-11-05",
		announcedOnListen: "tools.list-changed.sent-on-change-2026-07-28",
		uniqueIDs:         []string{"tools.name.unique-2024-11-05", "tools.name.unique-2025-11-25"},
		onlyIfDeclared:    []string{"tools.list-changed.only-if-declared-2024-11-05", "tools.list-changed.only-if-declared-2025-06-18"},
	}
	promptFeature = feature{
		list: promptList, thing: "prompt", things: "prompts", use: spec.MethodPromptsGet,
		showsItem: func(m *wire.Message) bool { return len(wire.Elements(m.ResultAt("/messages"))) > 0 },
		declared:  "prompts.capability.declared", answered: "prompts.list.answered", paramsOptional: "prompts.list.params-optional",
		announced:         "prompts.list-changed.sent-on-change-2024-11-05",
		announcedOnListen: "prompts.list-changed.sent-on-change-2026-07-28",
		uniqueIDs:         []string{"prompts.name.unique"},
		onlyIfDeclared:    []string{"prompts.list-changed.only-if-declared-2024-11-05", "prompts.list-changed.only-if-declared-2025-06-18"},
	}
)

// rules returns the rules that each feature has.
func (f *feature) rules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule." + f.things + "-declared",
			Title:        "the server lists or serves " + f.things + " only if it declares them",
			Requirements: []string{f.declared},
			Start:        rules.WithoutState(rules.Fold{OnMessage: f.declarationHandlers()}),
		},
		{
			ID:           "rule." + f.things + "-list-answered",
			Title:        f.method + " is answered with a result, with params and without",
			Requirements: []string{f.answered, f.paramsOptional},
			Start:        f.listsAnswered,
		},
		{
			ID:           "rule." + f.things + "-named-once",
			Title:        "no two " + f.things + " have the same name",
			Requirements: f.uniqueIDs,
			Start:        f.uniqueNames,
		},
		{
			ID:           "rule." + f.things + "-changes-declared",
			Title:        "the server announces changes to the list of " + f.things + " only if it declares listChanged",
			Requirements: f.onlyIfDeclared,
			Start:        f.undeclaredChanges,
		},
		{
			ID:           "rule." + f.things + "-changes-told",
			Title:        "a server that declares listChanged announces changes to the list of " + f.things,
			Requirements: []string{f.announced, f.announcedOnListen},
			Start:        f.unannouncedChanges,
		},
	}
}

func (f *feature) declarationHandlers() rules.Handlers {
	refused := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if declared, malformed := declaresCapability(s, f.capability); isRegular(s, obs) && !declared && !malformed && out.RequireInterpretable(obs, rules.PingControl(), f.declared) {
			out.MarkObserved(f.declared)
		}
	}
	served := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter, summary string, w verdict.Weight) {
		switch declared, malformed := declaresCapability(s, f.capability); {
		case malformed: // the handshake rules judge that
		case declared:
			out.MarkObserved(f.declared)
		default:
			out.Report(verdict.Deviation{
				Requirement: f.declared,
				Summary:     summary,
				Permitted:   "the capability " + f.capability + " in the answer to " + s.Declaration.Message.Method + ", or an error to " + obs.Request.Message.Method,
				Seen:        rules.Excerpt(obs.Message.Raw),
				At:          rules.PositionsOf(s.Declaration.Responses[0].Event, obs.Request.Event, obs.Event),
				Earlier:     "/result/capabilities",
				Weight:      w,
			})
		}
	}
	return rules.Handlers{
		rules.ErrorTo(f.method): refused,
		rules.ErrorTo(f.use):    refused,
		rules.ResultOf(f.method): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			switch items := obs.Message.ResultAt("/" + f.member); {
			case !isRegular(s, obs) || items.Kind() != '[':
			case len(wire.Elements(items)) > 0:
				served(s, obs, out, "The server lists "+f.things+" without declaring them.", verdict.Full)
			default:
				served(s, obs, out, "The server returns an empty list of "+f.things+" without declaring them.", verdict.OnlyNote)
			}
		},
		rules.ResultOf(f.use): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			if isRegular(s, obs) && f.showsItem(obs.Message) {
				served(s, obs, out, "The server serves a "+f.thing+" without declaring "+f.things+".", verdict.Full)
			}
		},
	}
}

// listAttempt is a request for the first page of a list, with its response.
type listAttempt struct {
	request *rules.Request
	event   *transcript.Event
	answer  *wire.Message
}

// attempts groups list attempts by their outcome.
type attempts struct{ served, refused []listAttempt }

// listsAnswered judges whether a declared list is served. It judges at the end, because later
// attempts may show whether the params were the reason for a refusal.
func (f *feature) listsAnswered() rules.Fold {
	bare, empty := &attempts{}, &attempts{} // without params, and with params that are empty or have only _meta
	listen := func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
		params := obs.Request.Message.Params()
		names, _ := wire.Members(params)
		t := bare
		if params != nil {
			t = empty
		}
		switch p := (listAttempt{obs.Request, obs.Event, obs.Message}); {
		case !isRegular(s, obs) || len(names) > 1 || len(names) == 1 && names[0] != "_meta":
		case obs.Message.IsError():
			t.refused = append(t.refused, p)
		default:
			t.served = append(t.served, p)
		}
	}
	return rules.Fold{
		OnMessage: rules.Handlers{rules.ResultOf(f.method): listen, rules.ErrorTo(f.method): listen},
		AtEnd: func(s *rules.Session, out *rules.Reporter) {
			if s.Began() && s.ServerDeclared(f.capability) {
				f.judgeLists(s, bare, empty, out)
			}
		},
	}
}

func (f *feature) judgeLists(s *rules.Session, bare, empty *attempts, out *rules.Reporter) {
	d := verdict.Deviation{Requirement: f.answered, Permitted: "a result"}
	show := func(p listAttempt) {
		d.Seen, d.At = rules.Excerpt(p.answer.Raw), rules.PositionsOf(p.request.Event, p.event)
	}
	found := func(p listAttempt) {
		show(p)
		out.Report(d)
	}
	for range bare.served {
		out.MarkObserved(f.paramsOptional)
		out.MarkObserved(f.answered)
	}
	for range empty.served {
		out.MarkObserved(f.answered)
	}
	refused := append(append([]listAttempt{}, bare.refused...), empty.refused...)
	switch {
	case len(refused) == 0:
	case len(bare.served)+len(empty.served) == 0:
		d.Summary = "The server declares " + f.things + ", but refuses to list them."
		show(refused[0])
		s.ShowDeclared(&d)
		out.Report(d)
	case len(bare.refused) > 0 && len(bare.served) == 0:
		d.Requirement = f.paramsOptional
		d.Summary = "The server refuses " + f.method + " without params."
		found(bare.refused[0])
	case len(empty.refused) > 0 && len(empty.served) == 0:
		d.Summary = "The server refuses " + f.method + " with empty params."
		d.Weight = verdict.AtMostWarning // an equivalent request was served
		found(empty.refused[0])
	default:
		d.Summary, d.Weight = "The server sometimes refuses to list "+f.things+".", verdict.OnlyNote
		found(refused[0])
	}
}
