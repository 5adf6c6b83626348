package streamablehttp

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	acceptBoth  = "streamable-http.accept-both"
	contentType = "streamable-http.request-content-type"
	acceptsPost = "sse.accepts-post"
)

// headerSpelling is one of many equivalent spellings of the headers Accept and Content-Type.
type headerSpelling struct {
	summary string // of the finding if the server does not understand it
	headers []suite.Header
	// group is the name of a group of spellings; "" means that there is no group. A server that
	// does not understand one spelling of a group understands none of them.
	group string
}

// accepts are spellings of an Accept header with both types (RFC 9110, 12.5.1). A list may have
// empty elements and blanks (5.6.1), and a quoted string is one value (5.6.4).
var accepts = []headerSpelling{
	{"The server refuses an Accept with both types in another order.", headersWith("Accept", "text/event-stream, application/json"), ""},
	{"The server refuses an Accept in two header lines.", headersWith("Accept", "application/json", "text/event-stream"), ""},
	{"The server refuses an Accept without a space after the comma.", headersWith("Accept", "application/json,text/event-stream"), ""},
	{"The server refuses an Accept with types in capitals.", headersWith("Accept", "Application/JSON, TEXT/EVENT-STREAM"), ""},
	{"The server refuses an Accept with q values.", headersWith("Accept", "application/json;q=0.5, text/event-stream ; q=0.9"), "weight"},
	{"The server refuses an Accept with q values of three digits.", headersWith("Accept", "application/json;q=1.000, text/event-stream;q=0.875"), "weight"},
	{"The server refuses an Accept with further types.", headersWith("Accept", "text/html, application/json, text/event-stream, */*;q=0.1"), ""},
	{"The server refuses an Accept with a quoted parameter.", headersWith("Accept", `application/json, text/event-stream, text/html;level="a, b"`), ""},
	{"The server refuses an Accept with spaces and tabs.", headersWith("Accept", "  application/json\t,\ttext/event-stream  "), ""},
	{"The server refuses an Accept with empty list elements.", headersWith("Accept", ", application/json, , text/event-stream,"), ""},
	{"The server refuses an Accept header in lower case.", headersWith("accept", "application/json, text/event-stream"), ""},
}

// ranges are Accept headers that match both types without naming them. A refusal is only a note.
var ranges = []headerSpelling{
	{"The server refuses Accept: */*.", headersWith("Accept", "*/*"), ""},
	{"The server refuses Accept: */* with a q value.", headersWith("Accept", "*/*;q=0.8"), ""},
	{"The server refuses an Accept of application/* and text/*.", headersWith("Accept", "application/*, text/*"), ""},
}

// unaccepted are Accept headers that do not match both types. The server may serve them or not;
// rules judge the responses.
var unaccepted = [][]suite.Header{
	headersWith("Accept", "application/json"),
	headersWith("Accept", "text/event-stream"),
	headersWith("Accept", "application/json;q=0, text/event-stream;q=0"),
	headersWith("Accept", "text/html"),
	headersWith("Accept", "this is no list of types"),
	headersWith("Accept", ""),
	headersWith("Accept"),
}

// contentTypes are spellings of the JSON content type (RFC 9110, 8.3.1).
var contentTypes = []headerSpelling{
	{"The server refuses a content type with a charset.", headersWith("Content-Type", "application/json; charset=utf-8"), "parameter"},
	{"The server refuses a content type with a quoted charset.", headersWith("Content-Type", `application/json;charset="UTF-8"`), "parameter"},
	{"The server refuses a content type in capitals.", headersWith("Content-Type", "Application/JSON"), ""},
	{"The server refuses a content type with CHARSET in capitals.", headersWith("Content-Type", "application/json; Charset=UTF-8"), "parameter"},
	{"The server refuses a content type with spaces around its semicolon.", headersWith("Content-Type", "application/json ;  charset=utf-8 "), "parameter"},
	{"The server refuses a content type whose header is in lower case.", headersWith("content-type", "application/json"), ""},
}

// otherTypes are Content-Type headers other than that of JSON. The specification does not regulate
// the response to them.
var otherTypes = [][]suite.Header{
	headersWith("Content-Type", "text/plain"),
	headersWith("Content-Type", "application/x-www-form-urlencoded"),
	headersWith("Content-Type", "application/jsonx"),
	headersWith("Content-Type", "json"),
	headersWith("Content-Type", ""),
	headersWith("Content-Type"),
}

func headersWith(name string, values ...string) []suite.Header {
	return []suite.Header{suite.WithHeader(name, values...)}
}

func acceptCase() suite.Case {
	return suite.Case{
		ID:                 "content-types.accept",
		Title:              "Sends Accept headers in every valid form",
		Requirements:       []string{acceptBoth},
		Provokes:           []string{acceptBoth, contentType, "streamable-http.json-single-object"},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			w := t.Web(t.Conversation(ctx))
			judgeHeaderSpellings(ctx, t, w, acceptBoth, accepts)
			recordRefusals(ctx, t, w, acceptBoth, ranges)
			noteServerErrors(ctx, t, w, acceptBoth, "The server fails on a request whose Accept lacks one type.", unaccepted)
		},
	}
}

func contentTypeCase() suite.Case {
	return suite.Case{
		ID:                 "content-types.content-type",
		Title:              "Sends Content-Type headers for JSON in every valid form",
		Requirements:       []string{contentType, acceptsPost},
		Provokes:           []string{contentType, acceptsPost},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			requirement := contentType
			if t.Transport == spec.SSE {
				requirement = acceptsPost
			}
			w := t.Web(t.Conversation(ctx))
			judgeHeaderSpellings(ctx, t, w, requirement, contentTypes)
			noteServerErrors(ctx, t, w, requirement, "The server fails on a request whose content type is not JSON.", otherTypes)
		},
	}
}

// judgeHeaderSpellings sends a request in each spelling, and judges the spellings that are refused
// while a request with the ordinary header is served.
func judgeHeaderSpellings(ctx context.Context, t *suite.T, w *suite.Web, requirement string, spellings []headerSpelling) {
	keep := true
	send := func(h ...suite.Header) *transcript.Exchange {
		request := w.HarmlessRequest(h...)
		request.Keep = keep
		x := w.RoundTrip(ctx, request)
		keep = isServed(x) // a server that refuses may leave the body unread, which would spoil the connection
		return x
	}
	if !isServed(send()) {
		t.GiveUp("the server does not serve the request with the ordinary header, either")
	}
	reported := map[string]bool{}
	for _, s := range spellings {
		x := send(s.headers...)
		if x == nil || x.Response == nil || isJudgedElsewhere(t, x) {
			continue
		}
		if isServed(x) {
			t.MarkKept(requirement)
			continue
		}
		if reported[s.group] || !isServed(send()) || isServed(send(s.headers...)) {
			continue // already reported, or refused for another reason
		}
		reported[s.group] = s.group != ""
		t.Report(w.C, verdict.Deviation{
			Requirement: requirement, Summary: s.summary, Weight: verdict.AtMostWarning,
			Permitted: "the same as for other requests of this method: both spellings are equal in HTTP",
			Seen:      suite.DescribeExchangeWith(x.RequestHead().Describe(headerName(requirement)), x), At: suite.PositionsOf(x), Header: headerName(requirement),
		})
	}
}

// recordRefusals notes refusals of spellings that a server need not understand.
func recordRefusals(ctx context.Context, t *suite.T, w *suite.Web, requirement string, spellings []headerSpelling) {
	for _, s := range spellings {
		x := w.SendHarmless(ctx, s.headers...)
		if x == nil || x.Response == nil || isServed(x) {
			continue
		}
		t.Report(w.C, verdict.Deviation{
			Requirement: requirement, Summary: s.summary, Weight: verdict.OnlyNote,
			Permitted: "a response, as HTTP defines, or a refusal, because a client has to list both types",
			Seen:      suite.DescribeExchangeWith(x.RequestHead().Describe(headerName(requirement)), x), At: suite.PositionsOf(x), Header: headerName(requirement),
		})
	}
}

// noteServerErrors notes, once, a status of 500 for a request that the server may refuse.
func noteServerErrors(ctx context.Context, t *suite.T, w *suite.Web, requirement, summary string, illegal [][]suite.Header) {
	for _, change := range illegal {
		x := w.SendHarmless(ctx, change...)
		if x == nil || x.Status() != 500 {
			continue
		}
		t.Report(w.C, verdict.Deviation{
			Requirement: requirement, Summary: summary, Weight: verdict.OnlyNote,
			Permitted: "a response, or a status for what is wrong with the request",
			Seen:      suite.DescribeExchangeWith(x.RequestHead().Describe(headerName(requirement)), x), At: suite.PositionsOf(x), Header: headerName(requirement),
		})
		return
	}
}

// isServed reports whether the server accepted the request. Over HTTP+SSE the response comes on
// another stream.
func isServed(x *transcript.Exchange) bool {
	if x == nil || !x.Succeeded() {
		return false
	}
	for _, m := range x.Messages() {
		if m.IsError() {
			return false
		}
	}
	return true
}

// isJudgedElsewhere reports whether a rule judges the refusal, or the refusal may come from an
// intermediary.
func isJudgedElsewhere(t *suite.T, x *transcript.Exchange) bool {
	status := x.Status()
	if t.Transport == spec.SSE || status == 406 {
		return x.Refused()
	}
	return status/100 == 3 || transcript.IsAmbiguousStatus(status)
}

// headerName returns the name of the header that a requirement is about.
func headerName(requirement string) string {
	if requirement == acceptBoth {
		return "Accept"
	}
	return "Content-Type"
}
