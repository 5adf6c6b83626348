package discount

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A request that runs code of the server's author, such as a tool, may take any time. If it gets no
// response in time, the client cancels it, and then no response is required. Only the user knows
// whether the code is slow or hangs, so a notice reports the request, unless an equal request got a
// response in time, in any conversation.

// nameMembers maps a method that runs code of the server's author to the member of its params that
// names what is requested, as a JSON pointer.
var nameMembers = map[string]string{
	spec.MethodToolsCall:          "/name",
	spec.MethodPromptsGet:         "/name",
	spec.MethodResourcesRead:      "/uri",
	spec.MethodResourcesSubscribe: "/uri",
	spec.MethodComplete:           "/ref",
}

// overdues holds the histories of the requests whose methods are in nameMembers, by revision.
type overdues map[spec.Revision]map[requestKey]*history

// A requestKey identifies equal requests, in any conversation.
type requestKey struct{ method, name, arguments string }

// A history sums up the outcomes of all requests with one key.
type history struct {
	answeredInTime, answeredLate bool          // a response came: in time, or after the client cancelled the request
	waited                       time.Duration // the longest wait before a request was cancelled
	responseEnded                bool          // before the client cancelled the request, the HTTP response ended without the JSON-RPC response
	judged                       bool          // a case, or a rule on HTTP exchanges, reports that no response came
}

// observe records the outcomes of the requests in one conversation.
func (o overdues) observe(c Conversation) {
	var ended *transcript.Event // requests that are cancelled after the server's end are not overdue
	if i := slices.IndexFunc(c.Events, (*transcript.Event).IsServerEnd); i >= 0 {
		ended = c.Events[i]
	}
	for _, r := range c.Dialogue.Requests() {
		if nameMembers[r.Message.Method] == "" {
			continue
		}
		f, cancelled := o.historyOf(c.Revision, r.Message), (*transcript.Event)(nil)
		for at, reason := range r.CancelReasons() {
			f.judged = f.judged || reason == transcript.JudgedReason || reason == transcript.OverdueReason && isBroken(r.Exchange)
			if reason != transcript.OverdueReason || r.Exchange != nil && r.Exchange.Status() >= 300 || ended != nil && ended.Seq < at.Seq {
				continue
			}
			cancelled = at
			f.waited = max(f.waited, at.At-r.Event.At)
			f.responseEnded = f.responseEnded || r.Exchange != nil && r.Exchange.End != nil && r.Exchange.End.Seq < at.Seq
		}
		for _, m := range r.Responses {
			late := cancelled != nil && cancelled.Seq < m.Event.Seq
			f.answeredInTime, f.answeredLate = f.answeredInTime || !late, f.answeredLate || late
		}
		f.judged = f.judged || !f.answeredInTime && isAnsweredByOtherType(c.Events, r.Message.ID)
	}
}

// isAnsweredByOtherType reports whether a response has the id of a request as another JSON type,
// such as "11" for 11, which base.response-id-echo judges.
func isAnsweredByOtherType(events []*transcript.Event, id wire.ID) bool {
	bare := func(id wire.ID) string { return strings.Trim(id.Raw(), `"`) }
	return slices.ContainsFunc(events, func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool {
			return m.Kind == wire.Response && m.ID.IsPresent() && !m.ID.Same(id) && bare(m.ID) == bare(id)
		})
	})
}

// isBroken reports whether the connection of the exchange was closed before an HTTP response came,
// which base.http-response judges.
func isBroken(x *transcript.Exchange) bool {
	return x != nil && x.Status() == 0 && x.HowEnded() == transcript.Broken
}

// historyOf returns the history of a request, and creates it if there is none.
func (o overdues) historyOf(rev spec.Revision, m *wire.Message) *history {
	name, ok := wire.Text(m.ParamAt(nameMembers[m.Method]))
	if !ok {
		name = string(m.ParamAt(nameMembers[m.Method]))
	}
	key := requestKey{m.Method, name, string(m.ParamAt("/arguments")) + string(m.ParamAt("/argument"))}
	if o[rev] == nil {
		o[rev] = map[requestKey]*history{}
	}
	if o[rev][key] == nil {
		o[rev][key] = &history{}
	}
	return o[rev][key]
}

// overdue describes all requests of one method and name that got no response in
// time.
type overdue struct {
	method, name   string
	waited         time.Duration
	responseEnded  bool // the HTTP response to one of them ended without the JSON-RPC response
	othersAnswered bool // other requests with that name got a response in time
	neverAnswered  bool // one of them got no response at all, not even a late one
	judged         bool // a case or a rule already reports that one of them got no response
}

// listOverdue returns the requests of these revisions that got no response in time, by method and
// name. It leaves out a request if an equal one got a response in time.
func (o overdues) listOverdue(revisions ...spec.Revision) []overdue {
	type place struct{ method, name string }
	all, answered := map[place]*overdue{}, map[place]bool{}
	for _, rev := range revisions {
		for key, f := range o[rev] {
			at := place{key.method, key.name}
			answered[at] = answered[at] || f.answeredInTime
			if f.answeredInTime || f.waited == 0 && !f.responseEnded {
				continue
			}
			if all[at] == nil {
				all[at] = &overdue{method: key.method, name: key.name}
			}
			all[at].waited = max(all[at].waited, f.waited)
			all[at].responseEnded = all[at].responseEnded || f.responseEnded
			all[at].neverAnswered = all[at].neverAnswered || !f.answeredLate
			all[at].judged = all[at].judged || f.judged
		}
	}
	var out []overdue
	for at, one := range all {
		one.othersAnswered = answered[at]
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b overdue) int { return cmp.Or(cmp.Compare(a.method, b.method), cmp.Compare(a.name, b.name)) })
	return out
}

// describe names the requests, and says how long the client waited for a response, or that the HTTP
// response ended first.
func (o overdue) describe() string {
	some, was := "", "was"
	if o.othersAnswered {
		some, was = "some ", "were"
	}
	if o.responseEnded {
		return fmt.Sprintf("%s%s of %q %s not answered before the HTTP response to it ended", some, o.method, wire.Excerpt(o.name, 60), was)
	}
	return fmt.Sprintf("%s%s of %q %s not answered within %v", some, o.method, wire.Excerpt(o.name, 60), was, o.waited.Truncate(100*time.Millisecond))
}

// maxNamed limits how many overdue requests the notice names.
const maxNamed = 5

// notice lists the overdue requests that no case or rule reports. It returns "" if there are none.
func (o overdues) notice() string {
	all := slices.DeleteFunc(o.listOverdue(slices.Collect(maps.Keys(o))...), func(one overdue) bool { return one.judged })
	if len(all) == 0 {
		return ""
	}
	var said []string
	for _, one := range all[:min(len(all), maxNamed)] {
		said = append(said, one.describe())
	}
	if more := len(all) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	text := strings.Join(said, "; ") + ": not counted as a failure, because only you know whether it hangs or is slow"
	if slices.ContainsFunc(all, func(one overdue) bool { return one.neverAnswered }) {
		text += "; but " + requestAnswered + " is not reported as kept"
	}
	return text
}

// requestAnswered is the requirement that each request gets a response.
const requestAnswered = "base.request-answered"

// adjust changes the verdict on requestAnswered from kept to not observed if a request never got a
// response, not even after it was cancelled.
func (o overdues) adjust(v *verdict.Verdict) {
	if v.Requirement != requestAnswered || v.Outcome != verdict.Kept {
		return
	}
	open := slices.DeleteFunc(o.listOverdue(v.Revision), func(one overdue) bool { return !one.neverAnswered })
	if len(open) == 0 {
		return
	}
	v.Outcome, v.Reason = verdict.NotObserved, open[0].describe()
	if more := len(open) - 1; more > 0 {
		v.Reason += fmt.Sprintf(", and %d more like it", more)
	}
	v.Reason += ", then cancelled, so that no response was due; all other requests were answered"
}
