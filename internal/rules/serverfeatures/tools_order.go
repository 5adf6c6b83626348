package serverfeatures

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const toolOrder = "tools.list.deterministic-order"

func toolOrderRule() rules.Rule {
	return rules.Rule{
		ID:           "rule.tools-order",
		Title:        "the same tools come in the same order each time",
		Requirements: []string{toolOrder},
		Start: func() rules.Fold {
			o := &orders{}
			return rules.Fold{Shared: readsLedger, OnMessage: onPages(o.judgePage)}
		},
	}
}

// orders compares each complete walk through the tools with the one before.
type orders struct {
	last  []string
	pages []*page
}

func (o *orders) judgePage(s *rules.Session, p *page, out *rules.Reporter) {
	if p.method != spec.MethodToolsList || p.refused || p.hasNext || s.Era() != spec.Stateless {
		return
	}
	chain := p.pagesFromFirst()
	if chain == nil {
		return
	}
	var names []string
	for _, q := range chain {
		for _, i := range q.items {
			names = append(names, i.key)
		}
	}
	before, pages := o.last, o.pages
	o.last, o.pages = names, chain
	switch {
	case len(names) < 2 || !slices.Equal(slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(names))):
	case slices.Equal(before, names):
		out.MarkObserved(toolOrder)
	default:
		i := 0 // the index of the first tool that has moved
		for before[i] == names[i] {
			i++
		}
		out.Report(verdict.Deviation{
			Requirement: toolOrder,
			Summary:     "The server lists the same tools in another order.",
			Permitted:   "the same order, as long as the tools are the same",
			Seen:        fmt.Sprintf("tool %d is first %s, then %s", i+1, rules.Excerpt(before[i]), rules.Excerpt(names[i])),
			At:          append(pages[0].positions(), p.positions()...),
		})
	}
}
