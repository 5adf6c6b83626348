package serverfeatures

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	nextCursorString = "pagination.next-cursor.string"
	cursorAccepted   = "pagination.cursor.accepted"
	cursorContinues  = "pagination.cursor.continues"
	cursorStable     = "pagination.cursor.stable"
	walkEnds         = "pagination.walk.ends"
	invalidHandled   = "pagination.cursor.invalid-handled"
	invalidCode      = "pagination.cursor.invalid-code"
	cursorWrongType  = "pagination.cursor.wrong-type"
	cursorOtherList  = "pagination.cursor.other-list"
)

func pageRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.next-cursor",
			Title:        "nextCursor is a string",
			Requirements: []string{nextCursorString},
			Start:        rules.WithoutState(rules.Fold{OnMessage: onListResponses(judgeNextCursor)}),
		},
		{
			ID:           "rule.cursors-accepted",
			Title:        "a cursor returns a page, and the same one each time",
			Requirements: []string{cursorAccepted, cursorStable},
			Start: func() rules.Fold {
				c := &cursors{lastPages: map[string]*page{}}
				return rules.Fold{Shared: readsLedger, OnMessage: rules.MergeHandlers(onPages(c.judgePage), c.subscriptions.handlers())}
			},
		},
		{
			ID:           "rule.pages-go-on",
			Title:        "each page continues after the previous one, and the list ends",
			Requirements: []string{cursorContinues, walkEnds},
			Start:        rules.WithoutState(rules.Fold{Shared: readsLedger, OnMessage: onPages(judgeProgress)}),
		},
		{
			ID:           "rule.walks-complete",
			Title:        "each complete walk returns every item of the list",
			Requirements: []string{walkComplete},
			Start: func() rules.Fold {
				w := newWalks()
				return rules.Fold{Shared: readsLedger, OnMessage: onPages(w.judgePage)}
			},
		},
		{
			ID:           "rule.cursors-invalid",
			Title:        "an unknown cursor is refused, without side effects",
			Requirements: []string{invalidHandled, invalidCode},
			Start: func() rules.Fold {
				b := &invalidCursors{served: map[string]bool{}, paged: map[string]bool{}, lastInvalid: map[string]*page{}}
				return rules.Fold{Shared: readsLedger, OnMessage: onPages(b.judgePage), AtEnd: b.end}
			},
		},
		{
			ID:           "rule.cursors-mistyped",
			Title:        "a cursor that is not a string is refused",
			Requirements: []string{cursorWrongType},
			Start:        rules.WithoutState(rules.Fold{OnMessage: onListResponses(judgeMistypedCursor)}),
		},
		{
			ID:           "rule.cursors-of-other-lists",
			Title:        "a cursor of another list is refused",
			Requirements: []string{cursorOtherList},
			Start:        rules.WithoutState(rules.Fold{Shared: readsLedger, OnMessage: onPages(judgeForeignCursor)}),
		},
	}
}

// onListResponses returns handlers for the responses to list requests.
func onListResponses(handle func(s *rules.Session, obs *rules.Observation, out *rules.Reporter)) rules.Handlers {
	h := rules.Handlers{}
	for method := range listings {
		h[rules.ResultOf(method)], h[rules.ErrorTo(method)] = handle, handle
	}
	return h
}

func judgeNextCursor(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isFirstResponse(s, obs) || obs.Message.IsError() || obs.Message.Result().Kind() != '{' {
		return
	}
	next := obs.Message.ResultAt("/nextCursor")
	if next == nil || next.Kind() == '"' {
		out.MarkObserved(nextCursorString)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: nextCursorString,
		Summary:     "nextCursor is not a string.",
		Permitted:   "a string; on the last page, no nextCursor",
		Seen:        "nextCursor is " + rules.Excerpt(next),
		At:          rules.PositionsOf(obs.Request.Event, obs.Event),
	})
}

// emptyCursorWeight returns OnlyNote for an empty cursor in a revision in which an empty cursor may
// mark the end of the list, and otherwise Full.
func emptyCursorWeight(s *rules.Session, p *page) verdict.Weight {
	if p.cursor == "" && !s.Revision().HasEmptyCursors() {
		return verdict.OnlyNote
	}
	return verdict.Full
}

// cursors tracks the use of cursors that the server returned.
type cursors struct {
	lastPages     map[string]*page // the last page for a cursor, by method and cursor
	subscriptions subscriptions
}

func (c *cursors) judgePage(s *rules.Session, p *page, out *rules.Reporter) {
	if p.before == nil || !p.undisturbed || !s.Began() {
		return
	}
	key := p.method + "\x00" + p.cursor
	last := c.lastPages[key]
	if !p.refused {
		c.lastPages[key] = p
	}
	// If the server has returned the cursor again since the client last sent it, the cursor may
	// mean another position now.
	sentAgain := last != nil && last.listVersion == p.listVersion && p.before.event.Seq < last.request.Event.Seq
	d := verdict.Deviation{Weight: emptyCursorWeight(s, p)}
	switch {
	case p.refused && sentAgain:
		d.Requirement, d.Summary, d.Permitted = cursorStable, "The server refuses a cursor the second time.", "the same page each time"
		d.Seen, d.At = rules.Excerpt(p.message.Raw), append(last.positions(), p.positions()...)
		out.Report(d)
	case p.refused:
		d.Requirement, d.Summary, d.Permitted = cursorAccepted, "The server refuses a cursor that it has just returned.", "the next page"
		d.Seen, d.At = rules.Excerpt(p.message.Raw), append(p.before.positions(), p.positions()...)
		out.Report(d)
	case sentAgain && !haveEqualItems(last, p):
		d.Requirement, d.Summary, d.Permitted = cursorStable, "The server returns another page for the same cursor.", "the same items in the same order; a shorter page needs a nextCursor to the rest"
		d.Seen, d.At = rules.Excerpt(p.message.Raw), append(last.positions(), p.positions()...)
		d.Weight = max(d.Weight, unannouncedWeight(s, p.method))
		if _, subscribed := c.subscriptions.openDuring(spec.FilterMember(listings[p.method].changed), "", last.request.Event.Seq, p.event.Seq); s.Era() == spec.Stateless && !subscribed {
			d.Weight = verdict.OnlyNote // the list may have changed: only subscribers are notified
		}
		out.Report(d)
	default:
		out.MarkObserved(cursorAccepted)
		if sentAgain {
			out.MarkObserved(cursorStable)
		}
	}
}

// haveEqualItems reports whether two responses to the same cursor have the same items; the spelling
// of the next cursor does not matter. Page sizes may vary, so the shorter page may be a prefix of
// the longer one, if the shorter page has a next page.
func haveEqualItems(p, q *page) bool {
	if len(p.items) == len(q.items) {
		return areSameItems(p, q) && p.hasNext == q.hasNext
	}
	short, long := p, q
	if len(q.items) < len(p.items) {
		short, long = q, p
	}
	return short.hasNext && areSameItems(short, &page{items: long.items[:len(short.items)]})
}

func areSameItems(p, q *page) bool {
	return slices.EqualFunc(p.items, q.items, func(i, j item) bool {
		return i.key == j.key && (i.key != "" || bytes.Equal(i.raw, j.raw)) // an item without a name is identified by its whole content
	})
}

// maxEmptyPages is how many consecutive empty pages make a walk count as endless.
const maxEmptyPages = 20

// judgeProgress compares a page with the earlier pages of the same walk.
func judgeProgress(s *rules.Session, p *page, out *rules.Reporter) {
	if p.refused || !s.Began() {
		return
	}
	if p.first == nil || p.isFirst() {
		return
	}
	d := verdict.Deviation{Weight: emptyCursorWeight(s, p)}
	if p.hasNext {
		if q := equalPage(p); q != nil {
			d.Requirement, d.Summary, d.Permitted = walkEnds, "The server's cursors lead back to an earlier page.", "new items on each page, and a last page without nextCursor"
			d.Seen, d.At = "the same "+listings[p.method].member+" as before, and another nextCursor", append(q.positions(), p.positions()...)
			out.Report(d)
			return
		}
	}
	if p.empty >= maxEmptyPages && p.hasNext {
		d.Requirement, d.Summary, d.Permitted = walkEnds, "The server sends one empty page with a nextCursor after another.", "a last page without nextCursor"
		d.Seen, d.At = fmt.Sprintf("%d empty pages in a row", p.empty), append(p.emptySince.positions(), p.positions()...)
		out.Report(d)
		return
	}
	if was, again := firstRepeated(p); again {
		d.Requirement, d.Summary, d.Permitted = cursorContinues, "The server lists an item on two pages.", "the items after the position that the cursor marks"
		d.Seen, d.At = rules.Excerpt(wire.At(was.raw, listings[p.method].key))+" on both pages", append(was.on.positions(), p.positions()...)
		out.Report(d)
		return
	}
	out.MarkObserved(cursorContinues)
	if !p.hasNext {
		out.MarkObserved(walkEnds)
	}
}

// equalPage returns the first earlier page of the walk with the same items; nil if there is none,
// or if p has no items.
func equalPage(p *page) *page {
	if len(p.items) == 0 {
		return nil
	}
	key := p.items[0].key
	if key != "" && p.first.isIndexed && p.index[key].on == p {
		return nil // the first item is new in the walk, so no earlier page can be equal and none need be searched
	}
	for _, q := range p.pagesFromFirst() {
		if q != p && areSameItems(p, q) {
			return q
		}
	}
	return nil
}

// firstRepeated finds the first item of the page that an earlier page of the walk lists with the
// same content. It returns the place of the item on the earlier page, and false if there is no such
// item.
func firstRepeated(p *page) (place, bool) {
	for _, r := range p.repeats {
		if r.first.on != p && bytes.Equal(r.first.raw, r.raw) && p.continues(r.first.on) {
			return r.first, true
		}
	}
	return place{}, false
}
