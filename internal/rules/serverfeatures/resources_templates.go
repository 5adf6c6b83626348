package serverfeatures

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func templateRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.templates-hold",
		Title:        "expansions of a template can be read, with the template's type",
		Requirements: []string{templateType, expansionReadable},
		Start: func() rules.Fold {
			t := &templateReads{completions: map[string]*rules.Observation{}}
			return rules.Fold{Shared: readsLedger, OnMessage: rules.MergeHandlers(onPages(t.noteTemplates), rules.Handlers{
				rules.ResultOf(spec.MethodComplete):      t.noteCompletion,
				rules.ResultOf(spec.MethodResourcesRead): t.judgeRead,
				rules.ErrorTo(spec.MethodResourcesRead):  t.judgeRefusal,
			})}
		},
	}}
}

// templateReads tracks the server's templates and what is known about their resources.
type templateReads struct {
	templates   []*templateRead
	completions map[string]*rules.Observation // by URI: the response to completion/complete with a value that expands the template to this URI
}

type templateRead struct {
	*uri.Template
	raw jsontext.Value
	on  *page
}

// noteTemplates records a page of templates. If a template is listed again, the newer entry counts.
func (t *templateReads) noteTemplates(_ *rules.Session, p *page, _ *rules.Reporter) {
	if p.method != spec.MethodResourcesTemplates || p.refused {
		return
	}
	for _, i := range p.items {
		at := -1
		for n, have := range t.templates {
			if have.Text == i.key {
				at = n
			}
		}
		if at >= 0 {
			t.templates[at] = &templateRead{t.templates[at].Template, i.raw, p}
		} else if i.key != "" && len(t.templates) < maxTemplates {
			t.templates = append(t.templates, &templateRead{uri.Parse(i.key), i.raw, p})
		}
	}
}

// maxTemplates bounds the templates that are matched for each read.
const maxTemplates = 200

// onlyMatch returns the only template that matches the URI; nil if none may match, if several may,
// or if it is unclear whether the only one does.
func (t *templateReads) onlyMatch(requestedURI string) *templateRead {
	var only *templateRead
	for _, s := range t.templates {
		if !s.MayMatch(requestedURI) {
			continue
		}
		if only != nil {
			return nil
		}
		only = s
	}
	if only == nil {
		return nil
	}
	if _, ok := only.Match(requestedURI); !ok {
		return nil
	}
	return only
}

// maxValues bounds the completed values that are kept from one response.
const maxValues = 100

// noteCompletion records the values that the server itself returns for the only variable of a
// template.
func (t *templateReads) noteCompletion(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	kind, _ := wire.Text(obs.Request.Message.ParamAt("/ref/type"))
	text, _ := wire.Text(obs.Request.Message.ParamAt("/ref/uri"))
	name, _ := wire.Text(obs.Request.Message.ParamAt("/argument/name"))
	if !isFirstResponse(s, obs) || kind != "ref/resource" {
		return
	}
	for _, template := range t.templates {
		if template.Text != text || len(template.Variables) != 1 || template.Variables[0] != name {
			continue
		}
		for n, raw := range wire.Elements(obs.Message.ResultAt("/completion/values")) {
			value, _ := wire.Text(raw)
			// Only values without characters to escape count: servers differ in how they escape
			// values, and a value that ends with a slash may be completed further.
			if expanded, ok := template.Expand(map[string]string{name: value}); ok && value != "" && uri.Escape(value) == value && n < maxValues {
				t.completions[expanded] = obs
			}
		}
	}
}

// judgeRefusal judges "not found" errors in response to reads of a URI that the server itself
// returned as a completion.
func (t *templateReads) judgeRefusal(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	requestedURI, _ := uriOf(obs.Request)
	by := t.completions[requestedURI]
	if by == nil || !isFirstResponse(s, obs) || !isNotFound(obs) || by.Event.Seq > obs.Request.Event.Seq {
		return
	}
	out.Report(verdict.Deviation{
		Requirement: expansionReadable,
		Summary:     "The server completes a value of its template, but does not find the URI.",
		Permitted:   "the contents of the URI that the completed template makes",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.PositionsOf(by.Request.Event, by.Event, obs.Request.Event, obs.Event),
	})
}

func (t *templateReads) judgeRead(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	requestedURI, ok := uriOf(obs.Request)
	if !ok || !isFirstResponse(s, obs) {
		return
	}
	if t.completions[requestedURI] != nil {
		out.MarkObserved(expansionReadable)
	}
	template := t.onlyMatch(requestedURI)
	if _, listed := ledgers.Of(s).listed[requestedURI]; template == nil || listed {
		return // a resource that is also listed may match the template by chance
	}
	if t.completions[requestedURI] == nil && len(contentItems(obs)) > 0 {
		out.MarkObserved(expansionReadable)
	}
	claim, hasType := wire.Text(wire.At(template.raw, "/mimeType"))
	if !hasType {
		return
	}
	for i, item := range contentItems(obs) {
		kind, typed := wire.Text(wire.At(item, "/mimeType"))
		contentURI, _ := wire.Text(wire.At(item, "/uri"))
		if !typed || contentURI != requestedURI {
			continue // a read may return other resources too
		}
		if normalizeType(kind) == normalizeType(claim) {
			out.MarkObserved(templateType)
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: templateType,
			Summary:     "The server's template and its contents have different MIME types.",
			Permitted:   "a mimeType only if all resources of the template have it",
			Seen:        rules.Excerpt(claim) + " in the template, and " + rules.Excerpt(kind) + " in the contents",
			At:          rules.PositionsOf(template.on.event, obs.Request.Event, obs.Event),
			Pointer:     "/result/contents/" + strconv.Itoa(i) + "/mimeType",
		})
	}
}

// normalizeType returns a media type without its parameters, in lower case.
func normalizeType(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
