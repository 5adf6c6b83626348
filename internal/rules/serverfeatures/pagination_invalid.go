package serverfeatures

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// isInvented reports whether a cursor was made up by a case, so that no server can have returned
// it. The server may have returned any other cursor in another session.
func isInvented(cursor string) bool { return strings.Contains(cursor, transcript.InventedCursorMark) }

// invalidCursors tracks the use of cursors that the server never returned, or that are outdated.
// The keys of its maps are list methods.
type invalidCursors struct {
	served      map[string]bool  // lists whose first page was served
	paged       map[string]bool  // lists that returned a cursor
	lastInvalid map[string]*page // the last response to an invalid cursor, if the first page was not requested since
	passed      []*page          // results for made-up cursors, judged at the end
}

func (b *invalidCursors) judgePage(s *rules.Session, p *page, out *rules.Reporter) {
	if !s.Began() || !s.ServerDeclared(listings[p.method].capability) {
		return
	}
	switch {
	case p.isFirst():
		b.judgeFirstPage(p, out)
	case !b.served[p.method]:
	case p.before == nil && isInvented(p.cursor):
		b.lastInvalid[p.method] = p
		if out.RequireInterpretable(&rules.Observation{Event: p.event, Message: p.message, Request: p.request}, firstPageControl(p.method), invalidCode) {
			b.judgeCode(p, out)
		}
	case p.before == nil && p.cursor == "":
		b.lastInvalid[p.method] = p
		b.judgeEmptyCursor(p, out)
	case p.before != nil && p.before.listVersion != p.listVersion:
		b.lastInvalid[p.method] = p // an outdated cursor may or may not be valid, but must do no harm
	}
	b.paged[p.method] = b.paged[p.method] || p.hasNext
}

// judgeEmptyCursor judges the response to an empty cursor that the server did not return. Many
// servers treat it as no cursor, which is not forbidden.
func (b *invalidCursors) judgeEmptyCursor(p *page, out *rules.Reporter) {
	if !p.refused && b.paged[p.method] {
		out.Report(verdict.Deviation{
			Requirement: invalidCode, Summary: "The server accepts an empty cursor that it never returned.", Permitted: "error -32602, or the first page",
			Seen: rules.Excerpt(p.message.Raw), At: p.positions(), Weight: verdict.OnlyNote,
		})
	}
}

// judgeFirstPage judges whether the first page is still served after an invalid cursor.
func (b *invalidCursors) judgeFirstPage(p *page, out *rules.Reporter) {
	bad := b.lastInvalid[p.method]
	delete(b.lastInvalid, p.method)
	switch {
	case !p.refused:
		b.served[p.method] = true
		if bad != nil {
			out.MarkObserved(invalidHandled)
		}
	case bad != nil && b.served[p.method] && !p.message.IsOverloadError():
		out.Report(verdict.Deviation{
			Requirement: invalidHandled,
			Summary:     afterBad[bad.before != nil],
			Permitted:   "the first page, for a request without a cursor",
			Seen:        rules.Excerpt(p.message.Raw),
			At:          append(bad.positions(), p.positions()...),
		})
	}
}

// afterBad has the summaries of judgeFirstPage, by whether the server had returned the bad cursor.
var afterBad = map[bool]string{
	false: "The server refuses the first page after an invalid cursor.",
	true:  "The server refuses the first page after an outdated cursor.",
}

func (b *invalidCursors) judgeCode(p *page, out *rules.Reporter) {
	code, _ := p.message.ErrorCode()
	switch {
	case p.refused && spec.Code(code) == spec.CodeInvalidParams:
		out.MarkObserved(invalidCode)
	case p.refused:
		b.report(p, "The server refuses an invalid cursor, but not with -32602.", verdict.Full, out)
	default:
		b.passed = append(b.passed, p) // whether the list is paginated is known only at the end
	}
}

func (b *invalidCursors) end(_ *rules.Session, out *rules.Reporter) {
	for _, p := range b.passed {
		if b.paged[p.method] {
			b.report(p, "The server accepts a cursor that it never returned.", verdict.Full, out)
		} else { // the specification does not require a server without pagination to check for a cursor
			b.report(p, "The server ignores a cursor for a list without pages.", verdict.OnlyNote, out)
		}
	}
}

func (b *invalidCursors) report(p *page, summary string, weight verdict.Weight, out *rules.Reporter) {
	out.Report(verdict.Deviation{Requirement: invalidCode, Summary: summary, Permitted: "error -32602", Seen: rules.Excerpt(p.message.Raw), At: p.positions(), Weight: weight})
}

// firstPageControl returns the control for requests with an odd cursor: a request for the first
// page of the same list.
func firstPageControl(method string) rules.Control {
	return rules.Control{What: method + " without a cursor", Matches: func(req *rules.Request) bool {
		return req.Message.Method == method && req.Message.ParamAt("/cursor") == nil
	}}
}

// judgeMistypedCursor judges the response to a cursor that is not a string. It skips null, which
// many languages use for a missing value.
func judgeMistypedCursor(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	list := listings[obs.Request.Message.Method]
	cursor := obs.Request.Message.ParamAt("/cursor")
	if !isFirstResponse(s, obs) || !s.ServerDeclared(list.capability) || cursor == nil || cursor.Kind() == '"' || cursor.Kind() == 'n' {
		return
	}
	if !out.RequireInterpretable(obs, firstPageControl(obs.Request.Message.Method), cursorWrongType) {
		return
	}
	d := verdict.Deviation{
		Requirement: cursorWrongType,
		Permitted:   "error -32602",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.PositionsOf(obs.Request.Event, obs.Event),
	}
	code, _ := obs.Message.ErrorCode()
	switch {
	case obs.Message.IsError() && spec.Code(code) == spec.CodeInvalidParams:
		out.MarkObserved(cursorWrongType)
	case obs.Message.IsError():
		d.Summary, d.Weight = "The server refuses a non-string cursor, but not with -32602.", verdict.OnlyNote
		out.Report(d)
	case hasReturnedCursor(s, obs.Request.Message.Method):
		d.Summary = "The server accepts a cursor that is not a string."
		out.Report(d)
	default:
		d.Summary, d.Weight = "The server ignores a non-string cursor for a list without pages.", verdict.OnlyNote
		out.Report(d)
	}
}

// hasReturnedCursor reports whether a list has returned a cursor so far.
func hasReturnedCursor(s *rules.Session, method string) bool {
	return slices.ContainsFunc(s.ClientRequests(), func(req *rules.Request) bool {
		return req.Message.Method == method && req.WellFormed && req.Succeeded() && req.Responses[0].ResultAt("/nextCursor").Kind() == '"'
	})
}

// judgeForeignCursor judges the response to a cursor that only other lists returned. Lists may
// share a format, so that the same string may be valid for several.
func judgeForeignCursor(s *rules.Session, p *page, out *rules.Reporter) {
	if !p.hasCursor || p.before != nil || p.cursor == "" || !s.Began() || !s.ServerDeclared(listings[p.method].capability) {
		return
	}
	for _, method := range []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates} {
		from := ledgers.Of(s).returned[method][p.cursor]
		if method == p.method || from == nil || from.event.Seq > p.request.Event.Seq {
			continue
		}
		if !out.RequireInterpretable(&rules.Observation{Event: p.event, Message: p.message, Request: p.request}, firstPageControl(p.method), cursorOtherList) {
			return
		}
		d := verdict.Deviation{
			Requirement: cursorOtherList,
			Permitted:   "error -32602",
			Seen:        rules.Excerpt(p.message.Raw),
			At:          rules.PositionsOf(from.event, p.request.Event, p.event),
		}
		code, _ := p.message.ErrorCode()
		switch {
		case p.refused && spec.Code(code) == spec.CodeInvalidParams:
			out.MarkObserved(cursorOtherList)
			return
		case p.refused:
			d.Summary = "The server refuses another list's cursor, but not with -32602."
		default:
			d.Summary, d.Weight = "The server accepts the cursor of another list.", verdict.OnlyNote
		}
		out.Report(d)
		return
	}
}
