package serverfeatures

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func readRules() []rules.Rule {
	read := func(judge func(l *ledger, s *rules.Session, obs *rules.Observation, out *rules.Reporter)) func() rules.Fold {
		handle := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) { judge(ledgers.Of(s), s, obs, out) }
		return rules.WithoutState(rules.Fold{Shared: readsLedger, OnMessage: rules.Handlers{
			rules.ResultOf(spec.MethodResourcesRead): handle, rules.ErrorTo(spec.MethodResourcesRead): handle,
		}})
	}
	return []rules.Rule{
		{
			ID:           "rule.listed-resources-readable",
			Title:        "listed resources can be read",
			Requirements: []string{listedReadable},
			Start:        read((*ledger).judgeListedResource),
		},
		{
			ID:           "rule.missing-resources",
			Title:        "reading an unknown resource gets the error that the revision specifies",
			Requirements: []string{notFoundCode24, notFoundCode26, noEmptyContents},
			Start:        read((*ledger).judgeMissingResource),
		},
		{
			ID:           "rule.resource-uris-validated",
			Title:        "resources/read without a URI, or with a string that is not one, is refused",
			Requirements: []string{uriValidated, uriMissing},
			Start:        read((*ledger).judgeInvalidURI),
		},
		{
			ID:           "rule.resource-sizes",
			Title:        "size is the number of bytes of the raw content",
			Requirements: []string{sizeRaw},
			Start: func() rules.Fold {
				z := &sizes{byURI: map[string]*sizedResource{}}
				return rules.Fold{Shared: readsLedger, OnMessage: rules.Handlers{rules.ResultOf(spec.MethodResourcesRead): z.noteRead}, AtEnd: z.end}
			},
		},
	}
}

// isNotFound reports whether an error means that there is no such resource, by its code or by its
// message.
func isNotFound(obs *rules.Observation) bool {
	code, _ := obs.Message.ErrorCode()
	switch spec.Code(code) {
	case spec.CodeResourceNotFound:
		return true
	case spec.CodeMethodNotFound, spec.CodeInvalidRequest, spec.CodeParse:
		return false
	}
	message, _ := wire.Text(wire.At(obs.Message.Member("error"), "/message"))
	lower := strings.ToLower(message)
	return slices.ContainsFunc([]string{"not found", "no such", "does not exist", "doesn't exist", "unknown resource"}, func(words string) bool {
		return strings.Contains(lower, words)
	})
}

// judgeListedResource judges reads of listed resources. The only errors that it judges are
// "resource not found" and "method not found": other errors may have good reasons.
func (l *ledger) judgeListedResource(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	requestedURI, ok := uriOf(obs.Request)
	listed, isListed := l.listedResource(requestedURI)
	if !ok || !isListed || !isFirstResponse(s, obs) || listed.on.event.Seq > obs.Request.Event.Seq {
		return
	}
	if !obs.Message.IsError() {
		out.MarkObserved(listedReadable)
		return
	}
	code, _ := obs.Message.ErrorCode()
	if !isNotFound(obs) && spec.Code(code) != spec.CodeMethodNotFound {
		return
	}
	d := verdict.Deviation{
		Requirement: listedReadable,
		Summary:     "The server does not find a resource that it lists.",
		Permitted:   "its contents",
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.PositionsOf(listed.on.event, obs.Request.Event, obs.Event),
	}
	if scheme, _, _ := strings.Cut(requestedURI, ":"); scheme == "https" || scheme == "http" {
		d.Weight = verdict.OnlyNote // clients may load these from the web themselves
	}
	out.Report(d)
}

// judgeMissingResource judges reads of resources that do not exist: invented URIs, or URIs that the
// server itself reports as not found.
func (l *ledger) judgeMissingResource(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	requestedURI, ok := uriOf(obs.Request)
	if !ok || !uri.IsURI([]byte(requestedURI)) || !utf8.ValidString(requestedURI) || !isFirstResponse(s, obs) || !s.ServerDeclared("resources") {
		return
	}
	if _, listed := l.listedResource(requestedURI); listed {
		return
	}
	nowhere := strings.Contains(requestedURI, uri.Nowhere) && l.isUnknownURI(s, requestedURI)
	requirement, want := notFoundCode24, spec.CodesFor(spec.UnknownResource, s.Revision())[0]
	if s.Era() == spec.Stateless {
		requirement = notFoundCode26
	}
	permitted := strconv.FormatInt(int64(want), 10)
	d := verdict.Deviation{
		Requirement: requirement,
		Permitted:   "error " + permitted,
		Seen:        rules.Excerpt(obs.Message.Raw),
		At:          rules.PositionsOf(obs.Request.Event, obs.Event),
	}
	code, _ := obs.Message.ErrorCode()
	if spec.Code(code) != spec.CodeMethodNotFound && (nowhere || isNotFound(obs)) && !out.RequireInterpretable(obs, l.anyReadControl(), requirement) {
		return
	}
	switch {
	case obs.Message.IsError() && spec.Code(code) == want:
		if want == spec.CodeInvalidParams && !nowhere && !isNotFound(obs) {
			return // the error may be about something else
		}
		out.MarkObserved(requirement)
		out.MarkObserved(noEmptyContents)
		return
	case obs.Message.IsError() && spec.Code(code) == spec.CodeMethodNotFound:
		return // the server does not support reading
	case obs.Message.IsError() && (nowhere || isNotFound(obs)):
		d.Summary = "The server refuses an unknown resource, but not with " + permitted + "."
		out.MarkObserved(noEmptyContents)
	case obs.Message.IsError() || !nowhere:
		return
	case len(contentItems(obs)) == 0:
		d.Summary = "The server returns empty contents for an unknown resource."
		if s.Era() == spec.Stateless {
			d.Requirement = noEmptyContents
			out.MarkReportedElsewhere(requirement)
		}
	default:
		d.Summary = "The server returns contents for an unknown resource."
	}
	out.Report(d)
}

// anyReadControl returns the control for an odd resources/read: a read of a listed resource, or
// else a resources/list.
func (l *ledger) anyReadControl() rules.Control {
	return rules.Control{
		What: "a read of a listed resource", ByName: true,
		Matches: func(req *rules.Request) bool {
			requestedURI, ok := uriOf(req)
			_, listed := l.listedResource(requestedURI)
			return req.Message.Method == spec.MethodResourcesRead && ok && listed
		},
		Fallback: func(req *rules.Request) bool { return req.Message.Method == spec.MethodResourcesList },
	}
}

// isUnknownURI reports whether the server offers no resource with the URI: the list of resources is
// complete and does not have it, and the list of templates was refused, or is complete and has no
// template that may match it.
func (l *ledger) isUnknownURI(s *rules.Session, requestedURI string) bool {
	if !l.hasCompleteWalk(spec.MethodResourcesList) || l.isInLastWalk(spec.MethodResourcesList, requestedURI) {
		return false
	}
	if l.hasCompleteWalk(spec.MethodResourcesTemplates) {
		return !l.matchesTemplate(s, requestedURI)
	}
	return l.refused[spec.MethodResourcesTemplates]
}

// judgeInvalidURI judges reads without a string as uri, and reads of strings that can't be URIs,
// unless the server itself lists such a string or has a template for it.
func (l *ledger) judgeInvalidURI(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isFirstResponse(s, obs) || !s.ServerDeclared("resources") {
		return
	}
	d := verdict.Deviation{Seen: rules.Excerpt(obs.Message.Raw), At: rules.PositionsOf(obs.Request.Event, obs.Event)}
	requestedURI, isText := uriOf(obs.Request)
	if !isText {
		d.Requirement, d.Permitted = uriMissing, "error -32602"
		if out.RequireInterpretable(obs, l.anyReadControl(), uriMissing) {
			judgeMissingParam(obs, d, out)
		}
		return
	}
	_, listed := l.listed[requestedURI]
	if uri.CannotBeURI(requestedURI) && !listed && !l.matchesTemplate(s, requestedURI) && out.RequireInterpretable(obs, l.anyReadControl(), uriValidated) {
		if obs.Message.IsError() {
			out.MarkObserved(uriValidated)
		} else if len(contentItems(obs)) > 0 && l.areTemplatesKnown() {
			d.Requirement, d.Summary, d.Permitted = uriValidated, "The server returns contents for a string that is not a URI.", "an error"
			d.Seen = "contents for " + describeNonURI(requestedURI)
			out.Report(d)
		}
	}
}

// describeNonURI quotes a string for which uri.CannotBeURI returns true, and says why it is not a
// URI.
func describeNonURI(text string) string {
	quoted := rules.Excerpt(wire.Quote(text))
	switch {
	case text == "":
		return "an empty uri"
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return quoted + ", which has control characters"
	case strings.Contains(text, " "):
		return quoted + ", which has a space"
	default:
		return quoted + ", which has no scheme"
	}
}

// areTemplatesKnown reports whether the list of templates was walked completely, or refused.
func (l *ledger) areTemplatesKnown() bool {
	return l.whole[spec.MethodResourcesTemplates] != nil || l.refused[spec.MethodResourcesTemplates]
}

// templateKey is the memo key of a parsed template.
type templateKey struct{ text string }

// matchesTemplate reports whether a listed template may match the text.
func (l *ledger) matchesTemplate(s *rules.Session, text string) bool {
	for _, p := range l.whole[spec.MethodResourcesTemplates] {
		for _, i := range p.items {
			template := rules.Memo(s, templateKey{i.key}, func() *uri.Template { return uri.Parse(i.key) })
			if template.MayMatch(text) {
				return true
			}
		}
	}
	return false
}

func judgeMissingParam(obs *rules.Observation, d verdict.Deviation, out *rules.Reporter) {
	code, _ := obs.Message.ErrorCode()
	switch {
	case obs.Message.IsError() && spec.Code(code) == spec.CodeInvalidParams:
		out.MarkObserved(uriMissing)
	case obs.Message.IsError():
		d.Summary, d.Weight = "The server refuses resources/read with a missing or mistyped uri, but not with -32602.", verdict.OnlyNote
		out.Report(d)
	default:
		d.Summary = "The server serves resources/read without a uri."
		out.Report(d)
	}
}

// sizes compares the sizes that the server lists for resources with the sizes of their contents.
type sizes struct {
	byURI map[string]*sizedResource
	reads []*sizedResource
}

// sizedResource is the first read of a listed resource, compared with later reads and lists.
type sizedResource struct {
	listed       listedItem
	read         *rules.Observation
	claim, bytes int64
	again, same  bool // again: there was a later read; same: all later reads had the same content
	listedAgain  bool // a list between the reads had the same size
	resized      bool // a later read had another number of bytes
}

func (z *sizes) noteRead(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
	requestedURI, _ := uriOf(obs.Request)
	items := contentItems(obs)
	if !isFirstResponse(s, obs) || len(items) != 1 {
		return
	}
	n, ok := rawBytes(items[0])
	if !ok {
		return
	}
	listed, isListed := ledgers.Of(s).listedResource(requestedURI)
	claim, isSize := wire.Integer(wire.At(listed.raw, "/size"))
	if before := z.byURI[requestedURI]; before != nil {
		before.same = (before.same || !before.again) && contentOf(contentItems(before.read)[0]) == contentOf(items[0])
		before.again, before.resized = true, before.resized || before.bytes != n
		before.listedAgain = before.listedAgain || isListed && isSize && claim == before.claim &&
			before.read.Event.Seq < listed.on.request.Event.Seq && listed.on.event.Seq < obs.Request.Event.Seq
		return
	}
	contentURI, _ := wire.Text(wire.At(items[0], "/uri"))
	if isListed && isSize && contentURI == requestedURI {
		r := &sizedResource{listed: listed, read: obs, claim: claim, bytes: n}
		z.byURI[requestedURI] = r
		z.reads = append(z.reads, r)
	}
}

// contentOf returns the content of an item as JSON.
func contentOf(item []byte) string {
	return string(wire.At(item, "/text")) + string(wire.At(item, "/blob"))
}

// rawBytes returns the length of an item in bytes, decoded from base64 if it is a blob. It returns
// false if the item does not have exactly one of text and blob, or if the base64 is invalid.
func rawBytes(item []byte) (int64, bool) {
	text, isText := wire.Text(wire.At(item, "/text"))
	blob, isBlob := wire.Text(wire.At(item, "/blob"))
	if isText == isBlob {
		return 0, false
	}
	if isText {
		return int64(len(text)), true
	}
	raw, err := base64.StdEncoding.DecodeString(blob)
	return int64(len(raw)), err == nil
}

// mayBeStoredAs reports whether text may come from a file of the given size in bytes. Reading the
// file may have converted CRLF to LF, removed a byte order mark, or converted another encoding to
// UTF-8; the listed size is then that of the file.
func mayBeStoredAs(text string, size int64) bool {
	units, latin := 0, true
	for _, r := range text {
		units += utf16.RuneLen(r)
		latin = latin && r <= unicode.MaxLatin1
	}
	type form struct{ bytes, ofBreak int }
	forms := []form{{len(text), 1}, {len("\ufeff") + len(text), 1}, {2 * units, 2}, {2 + 2*units, 2}}
	if latin {
		forms = append(forms, form{utf8.RuneCountInString(text), 1})
	}
	breaks := strings.Count(text, "\n") - strings.Count(text, "\r\n")
	return slices.ContainsFunc(forms, func(f form) bool {
		return size == int64(f.bytes) || size == int64(f.bytes+breaks*f.ofBreak)
	})
}

func (z *sizes) end(_ *rules.Session, out *rules.Reporter) {
	for _, r := range z.reads {
		switch {
		case r.resized:
		case r.claim == r.bytes:
			out.MarkObserved(sizeRaw)
		case r.same && r.listedAgain:
			// If r.same is not set, the content may change with every read, even if its length does
			// not. If r.listedAgain is not set, it may have changed between the list and the reads.
			d := verdict.Deviation{
				Requirement: sizeRaw,
				Summary:     "The server lists a size that is not the size of the resource's contents.",
				Permitted:   "the number of bytes, before any encoding as base64",
				Seen:        fmt.Sprintf("size %d in the list, but contents of %d bytes", r.claim, r.bytes),
				At:          rules.PositionsOf(r.listed.on.event, r.read.Request.Event, r.read.Event),
			}
			if text, isText := wire.Text(wire.At(contentItems(r.read)[0], "/text")); isText && mayBeStoredAs(text, r.claim) {
				d.Summary, d.Weight = "The server lists the size of the resource's text in another encoding.", verdict.OnlyNote
				d.Seen += "; the text has that size with CRLF, with a byte order mark, in UTF-16 or in Latin-1"
			}
			out.Report(d)
		}
	}
}
