package serverfeatures

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const walkComplete = "pagination.walk.complete"

// walks compares the complete walks through each list. What a list holds is
// known from them alone: an item that one walk brings, and another one after
// it, belongs to what the walks between them had to bring. Two walks say
// nothing, as a list may change and nobody has to tell.
type walks struct {
	of map[string]*completedWalk
}

// completedWalk are the complete walks through one list while it cannot have changed.
type completedWalk struct {
	era  int
	ends []*page        // the last page of each
	last map[string]int // the newest walk that brought an item, by its key
}

func newWalks() *walks { return &walks{of: map[string]*completedWalk{}} }

func (w *walks) page(s *rules.Session, p *page, out *rules.Reporter) {
	if p.refused || p.hasNext || !s.Began() || s.Era() != spec.Handshake {
		return
	}
	chain := p.chain()
	if chain == nil {
		return
	}
	all := w.of[p.method]
	if all == nil || all.era != p.era {
		all = &completedWalk{era: p.era, last: map[string]int{}}
		w.of[p.method] = all
	}
	n, missed := len(all.ends), false
	all.ends = append(all.ends, p)
	for _, q := range chain {
		for _, i := range q.items {
			before, known := all.last[i.key]
			all.last[i.key] = n
			if !known || before >= n-1 || missed || i.key == "" {
				continue
			}
			missed = true
			lacking := all.ends[before+1]
			out.Deviates(verdict.Deviation{
				Requirement: walkComplete,
				Weight:      unannouncedWeight(s, p.method),
				Summary:     "The server omits an item from one of several walks through a list.",
				Permitted:   "in each walk every item of the list, unless the list changes",
				Seen:        "no page of the walk holds " + rules.Excerpt(i.raw),
				At:          append(append(all.ends[before].at(), lacking.at()...), q.at()...),
			})
		}
	}
	if n >= 2 && !missed {
		out.CameUp(walkComplete)
	}
}

// unannouncedWeight softens the finding on a list that may change without any notice to
// being told: where the capability listChanged is not declared, and always where
// it is of templates, for which there is no notification of their own.
func unannouncedWeight(s *rules.Session, method string) verdict.Weight {
	if method == spec.MethodResourcesTemplates || !s.ServerDeclared(listings[method].capability+".listChanged") {
		return verdict.OnlyNote
	}
	return verdict.Full
}
