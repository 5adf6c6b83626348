package serverfeatures

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	resourcesDeclared        = "resources.capability.declared"
	resourcesAnswered        = "resources.list.answered"
	templatesAnswered        = "resources.templates.answered"
	resourcesParams          = "resources.list.params-optional"
	resourceUnique           = "resources.uri.unique"
	listedReadable           = "resources.read.listed-is-readable"
	notFoundCode24           = "resources.read.not-found-code-2024-11-05"
	notFoundCode26           = "resources.read.not-found-code-2026-07-28"
	noEmptyContents          = "resources.read.no-empty-contents-for-missing"
	uriValidated             = "resources.read.validates-uri"
	uriMissing               = "resources.read.missing-uri-param"
	sizeRaw                  = "resources.read.size-is-raw-bytes"
	templateType             = "resources.templates.mime-only-if-uniform"
	expansionReadable        = "resources.templates.expansion-readable"
	subscribeConfirmed       = "resources.subscribe.confirmed"
	subscribeRefused         = "resources.subscribe.unsupported-error"
	updateSent               = "resources.subscribe.update-sent"
	updateUnsubscribed       = "resources.subscribe.no-update-without-subscription"
	unsubscribed             = "resources.unsubscribe.confirmed"
	updatesStop              = "resources.unsubscribe.stops-updates"
	updateUndeclared         = "resources.updated.requires-subscribe-capability"
	resourcesChangeSent      = "resources.list-changed.sent-on-change-2024-11-05"
	resourcesListenAnnounced = "resources.list-changed.sent-on-change-2026-07-28"
	updateDelivered          = "resources.listen.update-delivered"
	resourcesChanged24       = "resources.list-changed.only-if-declared-2024-11-05"
	resourcesChanged25       = "resources.list-changed.only-if-declared-2025-06-18"
)

func resourceRules() []rules.Rule {
	return slices.Concat(resourceListRules(), readRules(), templateRules(), subscriptionRules(), changeRules())
}

func resourceListRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.resources-declared",
			Title:        "a server that serves resources declares them",
			Requirements: []string{resourcesDeclared},
			Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{
				rules.ResultOf(spec.MethodResourcesList):      requireDeclared("/resources"),
				rules.ResultOf(spec.MethodResourcesTemplates): requireDeclared("/resourceTemplates"),
				rules.ResultOf(spec.MethodResourcesRead):      requireDeclared("/contents"),
				rules.ErrorTo(spec.MethodResourcesList):       judgeUndeclared,
			}}),
		},
		{
			ID:           "rule.resources-listed",
			Title:        "lists of resources and templates are answered, with params and without",
			Requirements: []string{resourcesAnswered, templatesAnswered, resourcesParams},
			Start: func() rules.Fold {
				l := listResponses{}
				return rules.Fold{OnMessage: rules.Handlers{
					rules.ResultOf(spec.MethodResourcesList): l.note, rules.ErrorTo(spec.MethodResourcesList): l.note,
					rules.ResultOf(spec.MethodResourcesTemplates): l.note, rules.ErrorTo(spec.MethodResourcesTemplates): l.note,
				}, AtEnd: l.end}
			},
		},
		{
			ID:           "rule.resource-uris-unique",
			Title:        "each listed resource has its own URI",
			Requirements: []string{resourceUnique},
			Start:        rules.WithoutState(rules.Fold{Shared: readsLedger, OnMessage: onPages(judgeUniqueURIs)}),
		},
	}
}

// requireDeclared returns a handler that judges results with elements at the pointer: a server that
// returns any must declare resources. The handler skips empty results, because another requirement
// covers servers that serve undeclared methods.
func requireDeclared(pointer string) func(*rules.Session, *rules.Observation, *rules.Reporter) {
	return func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if !isFirstResponse(s, obs) || len(wire.Elements(obs.Message.ResultAt(pointer))) == 0 {
			return
		}
		if wire.At(s.ServerCapabilities, "/resources") != nil {
			out.MarkObserved(resourcesDeclared) // the rules on shapes judge a null capability
			return
		}
		out.Report(verdict.Deviation{
			Requirement: resourcesDeclared,
			Summary:     "The server offers resources without declaring them.",
			Permitted:   "the capability resources in the result of " + s.Declaration.Message.Method + ", or an error",
			Seen:        rules.Excerpt(obs.Message.Raw),
			At:          rules.PositionsOf(s.Declaration.Responses[0].Event, obs.Request.Event, obs.Event),
			Earlier:     "/result/capabilities",
		})
	}
}

// judgeUndeclared records an observation if a server that does not declare resources refuses to
// list them.
func judgeUndeclared(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if isFirstResponse(s, obs) && wire.At(s.ServerCapabilities, "/resources") == nil && out.RequireInterpretable(obs, rules.PingControl(), resourcesDeclared) {
		out.MarkObserved(resourcesDeclared)
	}
}

// listResponses has the first result and the first error for list requests without a cursor, by
// method and by whether the request had params.
type listResponses map[listRequest]*rules.Observation

type listRequest struct {
	method             string
	hasParams, refused bool
}

func (l listResponses) note(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	params := obs.Request.Message.Params()
	if !isFirstResponse(s, obs) || !s.ServerDeclared("resources") || obs.Request.Message.ParamAt("/cursor") != nil {
		return
	}
	k := listRequest{obs.Request.Message.Method, params != nil, obs.Message.IsError()}
	if l[k] == nil {
		l[k] = obs
	}
}

func (l listResponses) end(s *rules.Session, out *rules.Reporter) {
	for _, list := range []struct{ method, requirement, summary string }{
		{spec.MethodResourcesList, resourcesAnswered, "The server declares resources, but refuses to list them."},
		{spec.MethodResourcesTemplates, templatesAnswered, "The server declares resources, but refuses to list templates."},
	} {
		bare, refusedBare := l[listRequest{list.method, false, false}], l[listRequest{list.method, false, true}]
		with, refusedWith := l[listRequest{list.method, true, false}], l[listRequest{list.method, true, true}]
		refused := refusedBare
		if refused == nil {
			refused = refusedWith
		}
		switch {
		case bare != nil:
			out.MarkObserved(list.requirement)
			out.MarkObserved(resourcesParams)
		case with != nil && refusedBare != nil:
			out.Report(verdict.Deviation{
				Requirement: resourcesParams,
				Summary:     "The server refuses a list request that has no params.",
				Permitted:   "a result, with params and without",
				Seen:        rules.Excerpt(refusedBare.Message.Raw),
				At:          rules.PositionsOf(with.Request.Event, with.Event, refusedBare.Request.Event, refusedBare.Event),
			})
			out.MarkReportedElsewhere(list.requirement)
		case with != nil:
			out.MarkObserved(list.requirement)
		case refused != nil:
			d := deviationOf(list.requirement, refused)
			d.Summary, d.Permitted = list.summary, "a result; an empty list where there are none"
			s.ShowDeclared(&d)
			out.Report(d)
		}
	}
}

// judgeUniqueURIs judges whether the URIs in a walk through resources/list are unique. An identical
// item on two pages is judged by the rules on cursors.
func judgeUniqueURIs(s *rules.Session, p *page, out *rules.Reporter) {
	if p.method != spec.MethodResourcesList || p.refused || !s.Began() {
		return
	}
	if p.first == nil {
		return
	}
	for _, i := range p.items {
		if i.key != "" {
			out.MarkObserved(resourceUnique)
		}
	}
	for _, i := range p.repeats {
		was := i.first
		if was.on != p && (bytes.Equal(was.raw, i.raw) || !p.continues(was.on)) {
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: resourceUnique,
			Summary:     "The server lists two resources with the same URI.",
			Permitted:   "a unique URI for each resource",
			Seen:        rules.Excerpt(was.raw) + " and " + rules.Excerpt(i.raw),
			At:          rules.PositionsOf(was.on.request.Event, was.on.event, p.request.Event, p.event),
		})
	}
}

// uriOf returns the uri of a request; false if it is not a string.
func uriOf(req *rules.Request) (string, bool) {
	return wire.Text(req.Message.ParamAt("/uri"))
}

// contentItems returns the items of the result of a read.
func contentItems(obs *rules.Observation) []jsontext.Value {
	return wire.Elements(obs.Message.ResultAt("/contents"))
}
