package serverfeatures

import (
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
			t := &shelves{good: map[string]*rules.Heard{}}
			return rules.Fold{Reads: readsLedger, Hear: together(onPages(t.listed), rules.Hears{
				rules.ResultOf(spec.MethodComplete):      t.completed,
				rules.ResultOf(spec.MethodResourcesRead): t.read,
				rules.ErrorTo(spec.MethodResourcesRead):  t.refused,
			})}
		},
	}}
}

// shelves are the templates of a server: what is known to stand on them.
type shelves struct {
	templates []*shelf
	good      map[string]*rules.Heard // the completions that gave good values, by the URI that a template makes of them
}

type shelf struct {
	*uri.Template
	raw jsontext.Value
	on  *page
}

// listed takes note of a page of templates. One that is listed again is
// known as it was listed last.
func (t *shelves) listed(_ *rules.Session, p *page, _ *rules.Out) {
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
			t.templates[at] = &shelf{t.templates[at].Template, i.raw, p}
		} else if i.key != "" && len(t.templates) < maxShelves {
			t.templates = append(t.templates, &shelf{uri.Parse(i.key), i.raw, p})
		}
	}
}

// maxShelves bounds the templates that are looked through for each read.
const maxShelves = 200

// of returns the one template that the URI can be of; nil where there is none,
// or several, or where that can't be told.
func (t *shelves) of(asked string) *shelf {
	var only *shelf
	for _, s := range t.templates {
		if !s.MayMatch(asked) {
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
	if _, ok := only.Match(asked); !ok {
		return nil
	}
	return only
}

// maxValues bounds the completed values that are remembered of one answer.
const maxValues = 100

// completed takes note of the values that the server itself gives for the one
// variable of a template.
func (t *shelves) completed(s *rules.Session, h *rules.Heard, _ *rules.Out) {
	params := h.Asked.Message.Params()
	kind, _ := wire.Text(wire.At(params, "/ref/type"))
	text, _ := wire.Text(wire.At(params, "/ref/uri"))
	name, _ := wire.Text(wire.At(params, "/argument/name"))
	if !firstAnswer(s, h) || kind != "ref/resource" {
		return
	}
	for _, on := range t.templates {
		if on.Text != text || len(on.Variables) != 1 || on.Variables[0] != name {
			continue
		}
		for n, raw := range wire.Elements(wire.At(h.Message.Result(), "/completion/values")) {
			value, _ := wire.Text(raw)
			// What has to be escaped is taken in many ways, and what ends with
			// a slash may be completed further.
			if expanded, ok := on.Expand(map[string]string{name: value}); ok && value != "" && uri.Escape(value) == value && n < maxValues {
				t.good[expanded] = h
			}
		}
	}
}

// refused judges that the server does not find what it completed itself.
func (t *shelves) refused(s *rules.Session, h *rules.Heard, out *rules.Out) {
	asked, _ := uriOf(h.Asked)
	by := t.good[asked]
	if by == nil || !firstAnswer(s, h) || !notFound(h) || by.Event.Seq > h.Asked.Event.Seq {
		return
	}
	out.Found(verdict.Deviation{
		Requirement: expansionReadable,
		Summary:     "The server does not find its template's expansion with its own value.",
		Permitted:   "its contents",
		Seen:        rules.Excerpt(h.Message.Raw),
		At:          rules.At(by.Asked.Event, by.Event, h.Asked.Event, h.Event),
	})
}

func (t *shelves) read(s *rules.Session, h *rules.Heard, out *rules.Out) {
	asked, ok := uriOf(h.Asked)
	if !ok || !firstAnswer(s, h) {
		return
	}
	if t.good[asked] != nil {
		out.Subject(expansionReadable)
	}
	on := t.of(asked)
	if _, listed := ledgers.Of(s).listed[asked]; on == nil || listed {
		return // what is listed by itself may look like the template by chance
	}
	if t.good[asked] == nil && len(contents(h)) > 0 {
		out.Subject(expansionReadable)
	}
	claim, hasType := wire.Text(wire.At(on.raw, "/mimeType"))
	if !hasType {
		return
	}
	for _, item := range contents(h) {
		kind, typed := wire.Text(wire.At(item, "/mimeType"))
		of, _ := wire.Text(wire.At(item, "/uri"))
		if !typed || of != asked {
			continue // a read may return more than the one resource
		}
		if essence(kind) == essence(claim) {
			out.Subject(templateType)
			continue
		}
		out.Found(verdict.Deviation{
			Requirement: templateType,
			Summary:     "The server's template and its contents have different MIME types.",
			Permitted:   "a mimeType only if all resources of the template have it",
			Seen:        rules.Excerpt(claim) + " in the template, and " + rules.Excerpt(kind) + " in the contents",
			At:          rules.At(on.on.event, h.Asked.Event, h.Event),
		})
	}
}

// essence is a media type without its parameters.
func essence(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
