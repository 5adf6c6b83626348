package serverfeatures

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const walkComplete = "pagination.walk.complete"

// walks compares the complete walks through each list. An item that is in one walk and in a later
// one has to be in all walks between them. Two walks alone show nothing, because a list may
// change without a notification.
type walks struct {
	byMethod map[string]*comparableWalks
}

// comparableWalks holds the complete walks through one list that were made while the list cannot
// have changed.
type comparableWalks struct {
	listVersion int
	ends        []*page        // the last page of each walk
	last        map[string]int // by the key of an item: the index in ends of the latest walk with it
}

func newWalks() *walks { return &walks{byMethod: map[string]*comparableWalks{}} }

func (w *walks) judgePage(s *rules.Session, p *page, out *rules.Reporter) {
	if p.refused || p.hasNext || !s.Began() {
		return
	}
	chain := p.pagesFromFirst()
	if chain == nil {
		return
	}
	all := w.byMethod[p.method]
	if all == nil || all.listVersion != p.listVersion {
		all = &comparableWalks{listVersion: p.listVersion, last: map[string]int{}}
		w.byMethod[p.method] = all
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
			out.Report(verdict.Deviation{
				Requirement: walkComplete,
				Weight:      unannouncedWeight(s, p.method),
				Summary:     "The server omits an item in one of several readings of a list.",
				Permitted:   "every item each time that a client reads all pages, unless the list changes",
				Seen:        "no page of the walk has " + rules.Excerpt(i.raw),
				At:          append(append(all.ends[before].positions(), lacking.positions()...), q.positions()...),
			})
		}
	}
	if n >= 2 && !missed {
		out.MarkObserved(walkComplete)
	}
}

// unannouncedWeight returns OnlyNote if the list may change without a notification, and otherwise
// Full. A list may change without a notification in three cases: it is the list of templates, which
// has no notification; listChanged is not declared; or, in the handshake era, the server refuses
// the GET stream on which notifications would come.
func unannouncedWeight(s *rules.Session, method string) verdict.Weight {
	isDeclared := s.ServerDeclared(listings[method].capability + ".listChanged")
	if method == spec.MethodResourcesTemplates || !isDeclared || s.Era() == spec.Handshake && s.Exchanges().RefusedAllGets() {
		return verdict.OnlyNote
	}
	return verdict.Full
}
