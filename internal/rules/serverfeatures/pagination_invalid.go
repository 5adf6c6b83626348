package serverfeatures

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// isInvented reports whether a cursor is one that cases make up, and that no server
// can have given out: of others, it may be that another session did.
func isInvented(cursor string) bool { return strings.Contains(cursor, "mcp-conform") }

// invalidCursors follows the use of cursors that were never given out.
type invalidCursors struct {
	served map[string]bool  // lists whose first page came
	paged  map[string]bool  // lists that gave out a cursor
	poison map[string]*page // what a made-up cursor got last, where the first page was not asked for since
	passed []*page          // what made-up cursors got of lists that had not given out any
}

func (b *invalidCursors) page(s *rules.Session, p *page, out *rules.Reporter) {
	if !s.Began() || s.Era() != spec.Handshake || !s.ServerDeclared(listings[p.method].capability) {
		return
	}
	switch {
	case p.isFirst():
		b.judgeFirstPage(p, out)
	case !b.served[p.method]:
	case p.before == nil && isInvented(p.cursor):
		b.poison[p.method] = p
		if out.IsInterpretable(&rules.Observation{Event: p.event, Message: p.message, Request: p.asked}, firstPageControl(p.method), invalidCode) {
			b.judgeCode(p, out)
		}
	case p.before == nil && p.cursor == "":
		b.poison[p.method] = p
		b.judgeEmptyCursor(p, out)
	case p.before != nil && p.before.era != p.era:
		b.poison[p.method] = p // stale: it may be good still, or not, and must do no harm
	}
	b.paged[p.method] = b.paged[p.method] || p.hasNext
}

// judgeEmptyCursor judges the outcome of the empty cursor where none was given out. Many
// take it for no cursor, which no sentence forbids.
func (b *invalidCursors) judgeEmptyCursor(p *page, out *rules.Reporter) {
	if !p.refused && b.paged[p.method] {
		out.Deviates(verdict.Deviation{
			Requirement: invalidCode, Summary: "The server accepts an empty cursor that it never returned.", Permitted: "error -32602, or the first page",
			Seen: rules.Excerpt(p.message.Raw), At: p.at(), Weight: verdict.OnlyNote,
		})
	}
}

// judgeFirstPage judges what is left of a list after a bad cursor.
func (b *invalidCursors) judgeFirstPage(p *page, out *rules.Reporter) {
	bad := b.poison[p.method]
	delete(b.poison, p.method)
	switch {
	case !p.refused:
		b.served[p.method] = true
		if bad != nil {
			out.CameUp(invalidHandled)
		}
	case bad != nil && b.served[p.method] && !p.message.IsOverloadError():
		out.Deviates(verdict.Deviation{
			Requirement: invalidHandled,
			Summary:     afterBad[bad.before != nil],
			Permitted:   "the first page, as before",
			Seen:        rules.Excerpt(p.message.Raw),
			At:          append(bad.at(), p.at()...),
		})
	}
}

// afterBad says what was wrong with the cursor: whether it was given out.
var afterBad = map[bool]string{
	false: "The server refuses the list after an invalid cursor.",
	true:  "The server refuses the list after an outdated cursor.",
}

func (b *invalidCursors) judgeCode(p *page, out *rules.Reporter) {
	code, _ := p.message.ErrorCode()
	switch {
	case p.refused && spec.Code(code) == spec.CodeInvalidParams:
		out.CameUp(invalidCode)
	case p.refused:
		b.report(p, "The server refuses an invalid cursor, but not with -32602.", verdict.Full, out)
	default:
		b.passed = append(b.passed, p) // whether the list pages is known at the end
	}
}

func (b *invalidCursors) end(_ *rules.Session, out *rules.Reporter) {
	for _, p := range b.passed {
		if b.paged[p.method] {
			b.report(p, "The server accepts a cursor that it never returned.", verdict.Full, out)
		} else { // pagination begins with a cursor of the server's: no sentence asks a server without pages to look for one
			b.report(p, "The server ignores a cursor for a list without pages.", verdict.OnlyNote, out)
		}
	}
}

func (b *invalidCursors) report(p *page, summary string, weight verdict.Weight, out *rules.Reporter) {
	out.Deviates(verdict.Deviation{Requirement: invalidCode, Summary: summary, Permitted: "error -32602", Seen: rules.Excerpt(p.message.Raw), At: p.at(), Weight: weight})
}

// firstPageControl is the request for the beginning of a list.
func firstPageControl(method string) rules.Control {
	return rules.Control{What: method + " without a cursor", Matches: func(req *rules.Request) bool {
		return req.Message.Method == method && wire.At(req.Message.Params(), "/cursor") == nil
	}}
}

// judgeMistypedCursor judges the outcome of a cursor that is no string. Null is passed
// over, for it stands for none in many languages.
func judgeMistypedCursor(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	list := listings[obs.Request.Message.Method]
	cursor := wire.At(obs.Request.Message.Params(), "/cursor")
	if !isFirstResponse(s, obs) || !s.ServerDeclared(list.capability) || cursor == nil || cursor.Kind() == '"' || cursor.Kind() == 'n' {
		return
	}
	if !out.IsInterpretable(obs, firstPageControl(obs.Request.Message.Method), cursorWrongType) {
		return
	}
	d := verdict.Deviation{
		Requirement: cursorWrongType,
		Permitted:   "error -32602",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.At(obs.Request.Event, obs.Event),
	}
	code, _ := obs.Message.ErrorCode()
	switch {
	case obs.Message.IsError() && spec.Code(code) == spec.CodeInvalidParams:
		out.CameUp(cursorWrongType)
	case obs.Message.IsError():
		d.Summary, d.Weight = "The server refuses a non-string cursor, but not with -32602.", verdict.OnlyNote
		out.Deviates(d)
	case hasGivenCursor(s, obs.Request.Message.Method):
		d.Summary = "The server accepts a cursor that is not a string."
		out.Deviates(d)
	default:
		d.Summary, d.Weight = "The server ignores a non-string cursor for a list without pages.", verdict.OnlyNote
		out.Deviates(d)
	}
}

// hasGivenCursor reports whether a list has given out a cursor so far.
func hasGivenCursor(s *rules.Session, method string) bool {
	return slices.ContainsFunc(s.ClientRequests(), func(req *rules.Request) bool {
		return req.Message.Method == method && req.WellFormed && req.Succeeded() && wire.At(req.Responses[0].Result(), "/nextCursor").Kind() == '"'
	})
}

// judgeForeignCursor judges the outcome of a cursor that only other lists gave out.
// Nothing forbids that lists share a format, so that the same text may be good
// for several.
func judgeForeignCursor(s *rules.Session, p *page, out *rules.Reporter) {
	if !p.hasCursor || p.before != nil || p.cursor == "" || !s.Began() || s.Era() != spec.Handshake || !s.ServerDeclared(listings[p.method].capability) {
		return
	}
	for _, method := range []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates} {
		from := ledgers.Of(s).handed[method][p.cursor]
		if method == p.method || from == nil || from.event.Seq > p.asked.Event.Seq {
			continue
		}
		if !out.IsInterpretable(&rules.Observation{Event: p.event, Message: p.message, Request: p.asked}, firstPageControl(p.method), cursorOtherList) {
			return
		}
		d := verdict.Deviation{
			Requirement: cursorOtherList,
			Permitted:   "error -32602",
			Seen:        rules.Excerpt(p.message.Raw),
			At:          rules.At(from.event, p.asked.Event, p.event),
		}
		code, _ := p.message.ErrorCode()
		switch {
		case p.refused && spec.Code(code) == spec.CodeInvalidParams:
			out.CameUp(cursorOtherList)
			return
		case p.refused:
			d.Summary = "The server refuses another list's cursor, but not with -32602."
		default:
			d.Summary, d.Weight = "The server accepts the cursor of another list.", verdict.OnlyNote
		}
		out.Deviates(d)
		return
	}
}
