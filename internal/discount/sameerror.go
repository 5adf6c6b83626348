package discount

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// sameError records the responses to the plainest requests of each revision: pings, and requests
// for the first page of a list. If all of them get the same error, the server is probably
// misconfigured (another tenant, no access to what it needs), and all findings that show that error
// have one cause. The same goes for the result {}, which is valid for no list: a server that
// returns it for every list probably does so for every method.
type sameError map[spec.Revision]*plainRequests

type plainRequests struct {
	refused map[string]bool // the methods of refused requests, and of lists with the result {}
	reason  string          // the error of all refusals, as refusalOf returns it, or emptyResult
	other   bool            // a list was served, or a request was refused with another error
}

// fewestRefused is the minimum number of refused methods for a common error, because a single one
// may be a broken list.
const fewestRefused = 2

// plainMethods are the methods that have a plain request: one that a server must serve if it has
// the method at all.
var plainMethods = []string{
	spec.MethodPing, spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates,
}

// observe records the responses to plain requests in one conversation. In the handshake era, it
// ignores requests before notifications/initialized.
func (r sameError) observe(c Conversation) {
	ready := -1
	if c.Revision.Era() == spec.Handshake {
		at := slices.IndexFunc(c.Events, func(e *transcript.Event) bool {
			return e.Kind == transcript.Sent && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Method == spec.MethodInitialized })
		})
		if at < 0 {
			return
		}
		ready = c.Events[at].Seq
	}
	capabilities := declaredCapabilities(c)
	for _, q := range c.Dialogue.Requests() {
		if feature, _, ok := strings.Cut(q.Message.Method, "/"); ok && capabilities != nil && wire.At(capabilities, "/"+feature) == nil {
			continue // not declared, so the server should refuse it
		}
		if q.Event.Seq < ready || !isPlain(q.Message) || c.Revision.Era() == spec.Stateless && !isPlainStateless(q.Message, c.Revision) {
			continue
		}
		for _, m := range q.Responses {
			if code, _ := m.Message.ErrorCode(); spec.Code(code) != spec.CodeHeaderMismatch { // a header mismatch means that the headers were not plain
				r.observeResponse(c.Revision, q.Message.Method, m.Message)
			}
		}
	}
}

// declaredCapabilities returns the capabilities in the first result of initialize, or of
// server/discover in the stateless era, or nil if there is none.
func declaredCapabilities(c Conversation) jsontext.Value {
	for _, q := range c.Dialogue.Requests() {
		if m := q.Response(); m != nil && q.Message.Method == c.Revision.OpeningMethod() && m.Message.ResultAt("/capabilities") != nil {
			return m.Message.ResultAt("/capabilities")
		}
	}
	return nil
}

// isPlainStateless reports whether m has valid metadata of the revision, and no log level. It
// excludes pings, because the stateless era has no ping.
func isPlainStateless(m *wire.Message, rev spec.Revision) bool {
	version, _ := wire.Text(m.ParamAt(spec.MetaPointer(spec.MetaVersion)))
	return m.Method != spec.MethodPing && version == string(rev) &&
		m.ParamAt(spec.MetaPointer(spec.MetaClientCapabilities)).Kind() == '{' && m.ParamAt(spec.MetaPointer(spec.MetaLogLevel)) == nil
}

// isPlain reports whether m is a valid request that a server must serve if it has the method. A
// server may refuse an invalid request because it is invalid, so such a refusal does not show that
// the server refuses everything.
func isPlain(m *wire.Message) bool {
	version, _ := wire.Text(m.Member("jsonrpc"))
	params := m.Params()
	return version == "2.0" && (m.ID.IsString() || m.ID.IsInteger()) && slices.Contains(plainMethods, m.Method) &&
		(params == nil || params.Kind() == '{' && m.ParamAt("/cursor") == nil)
}

func (r sameError) observeResponse(rev spec.Revision, method string, m *wire.Message) {
	of := r[rev]
	if of == nil {
		of = &plainRequests{refused: map[string]bool{}}
		r[rev] = of
	}
	reason := refusalOf(m)
	if reason == "" && method != spec.MethodPing && hasEmptyResult(m) {
		reason = emptyResult
	}
	switch {
	case reason == "" && method == spec.MethodPing: // a ping may succeed although the rest is misconfigured
	case reason == "" || of.reason != "" && of.reason != reason:
		of.other = true
	default:
		of.refused[method], of.reason = true, reason
	}
}

// emptyResult is the value of plainRequests.reason if plain requests got the result {}.
const emptyResult = "result {}"

func hasEmptyResult(m *wire.Message) bool {
	names, _ := wire.Members(m.Result())
	return m.Result().Kind() == '{' && len(names) == 0
}

// commonError returns the error that every plain request of the revision got, emptyResult if every
// list got {}, and otherwise "". In both cases pings may have succeeded.
func (r sameError) commonError(rev spec.Revision) string {
	if of := r[rev]; of != nil && !of.other && len(of.refused) >= fewestRefused {
		return of.reason
	}
	return ""
}

// isCommonError reports whether an event at one of the given positions is the error that every
// plain request got. It also returns true if there is such an error and events is empty because the
// transcript was released.
func (r sameError) isCommonError(rev spec.Revision, events []*transcript.Event, at []int) bool {
	reason := r.commonError(rev)
	if reason == emptyResult && len(events) > 0 {
		return showsEmptyResults(events, at)
	}
	return reason != "" && (len(events) == 0 || slices.ContainsFunc(at, func(i int) bool {
		return i >= 0 && i < len(events) && events[i].Kind == transcript.Received &&
			slices.ContainsFunc(events[i].Messages(), func(m wire.Message) bool { return refusalOf(&m) == reason })
	}))
}

// showsEmptyResults reports whether the events at the given positions are requests with their
// results, and each result is {}.
func showsEmptyResults(events []*transcript.Event, at []int) bool {
	sent, empty := 0, 0
	for _, i := range at {
		switch {
		case i < 0 || i >= len(events):
		case events[i].Kind == transcript.Sent:
			sent++
		case events[i].Kind != transcript.Received || len(events[i].Messages()) != 1 || !hasEmptyResult(&events[i].Messages()[0]):
			return false
		default:
			empty++
		}
	}
	return empty > 0 && sent <= empty
}

// notice returns a question for the user. If every plain request of a revision got the same error,
// it asks whether the server is configured correctly; if they all got {}, whether the server
// answers everything with {}. Otherwise notice returns "".
func (r sameError) notice() string {
	for _, rev := range slices.Sorted(maps.Keys(r)) {
		switch reason := r.commonError(rev); reason {
		case "":
		case emptyResult:
			return fmt.Sprintf("in %s, %s always get the result {}: does the server answer every request with {}, whatever its method?",
				rev, strings.Join(slices.Sorted(maps.Keys(r[rev].refused)), ", "))
		default:
			return fmt.Sprintf("in %s, %s are always refused, all with the %s: is the server configured correctly (URL, tenant, token, network)?",
				rev, strings.Join(slices.Sorted(maps.Keys(r[rev].refused)), ", "), reason)
		}
	}
	return ""
}

// refusalOf returns the code and message of an error, or "" for a result.
func refusalOf(m *wire.Message) string {
	if !m.IsError() {
		return ""
	}
	code, _ := m.ErrorCode()
	text, _ := wire.Text(wire.At(m.Members["error"], "/message"))
	return fmt.Sprintf("error %d %q", code, wire.Excerpt(text, 80))
}
