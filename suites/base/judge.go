package base

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// lineKinds describes, for each requirement, the lines that test it, for use in summaries.
var lineKinds = map[string]string{
	parseError:     "a non-JSON line",
	invalidRequest: "an invalid request",
	nullID:         "a request with id null",
	refusedBatch:   "a batch in a revision without batches",
}

// hasSeveralLines has the requirements that more than one line tests.
var hasSeveralLines = map[string]bool{parseError: true, invalidRequest: true}

// judge judges the responses to all lines and the state of the server. For a requirement that has
// several lines it reports one finding, because a server that does not validate its input answers
// several lines wrongly. Findings of reduced weight, and those about a server that did not survive
// a line, are reported for each line.
func (w *lineRun) judge(t *suite.T) {
	wrong := map[string]*wrongAnswers{}
	for _, p := range w.probes {
		d, ok := w.deviation(t, p)
		switch have := wrong[d.Requirement]; {
		case !ok:
		case p.state != survived || d.Weight != verdict.Full || !hasSeveralLines[p.requirement]:
			t.Report(w.c, d)
		case have == nil:
			d.Summary = "The server does not answer " + lineKinds[d.Requirement] + " as specified."
			wrong[d.Requirement] = &wrongAnswers{d, []*sentLine{p}}
		default:
			have.add(d, p)
		}
	}
	for _, requirement := range slices.Sorted(maps.Keys(wrong)) {
		d := wrong[requirement].Deviation
		d.Seen = describeAll(wrong[requirement].lines)
		t.Report(w.c, d)
	}
}

// wrongAnswers is one deviation for all lines that test the same requirement and got a wrong
// response.
type wrongAnswers struct {
	verdict.Deviation
	lines []*sentLine
}

// add adds a line with its deviation. The last position in At is that of the offending event. The
// new positions come before the others, so the offending event stays that of the first line, and
// Seen begins with that line, too.
func (w *wrongAnswers) add(d verdict.Deviation, p *sentLine) {
	w.lines = append(w.lines, p)
	w.At = append(d.At, w.At...)
	if w.Permitted != d.Permitted {
		w.Permitted = "an error with the code of JSON-RPC 2.0 and the request's id; then later requests are served"
	}
}

// describeAll describes the responses to the lines. It describes equal responses once, together
// with all of their lines.
func describeAll(all []*sentLine) string {
	var parts []string
	sentTo := map[string][]string{} // the lines that got each response
	for _, p := range all {
		seen := p.describeSeen()
		if sentTo[seen] == nil {
			parts = append(parts, seen)
		}
		sentTo[seen] = append(sentTo[seen], p.what)
	}
	for i, seen := range parts {
		parts[i] = strings.Join(sentTo[seen], ", ") + " got " + seen
	}
	return strings.Join(parts, "; ")
}

// deviation returns what is wrong with the response to a line, or with the state of the server
// after the line. ok is false if nothing is wrong.
func (w *lineRun) deviation(t *suite.T, p *sentLine) (d verdict.Deviation, ok bool) {
	d = verdict.Deviation{Requirement: p.requirement, Permitted: p.describePermitted(), At: []int{w.positionOf(p)}}
	if p.event != nil && p.state == survived { // otherwise the finding is about a missing response
		d.At = append(d.At, p.event.Seq)
	}
	if p.state != survived {
		d.Requirement = p.survival
		d.Summary, d.Seen = "The server exits at "+lineKinds[p.survival]+".", "after "+p.what+" the server ended the connection"
		if p.state == unresponsive {
			d.Summary, d.Seen = "The server stops answering after "+lineKinds[p.survival]+".", "after "+p.what+" the next request was not answered"
		}
		return d, true
	}
	d.Summary, d.Weight = p.problem()
	if d.Summary == "" {
		if p.reply != nil && !p.silence || p.requirement == nullID || p.requirement == refusedBatch {
			t.MarkKept(p.requirement)
		}
		return d, false
	}
	d.Seen = describeAll([]*sentLine{p})
	return d, true
}

// positionOf returns the position of the line itself. Over HTTP, the request head and the end of
// an earlier exchange may come before it.
func (w *lineRun) positionOf(p *sentLine) int {
	for _, e := range w.c.Record.From(p.sent) {
		if e.Kind == transcript.Sent && bytes.Equal(e.Raw, p.frame) {
			return e.Seq
		}
	}
	return p.sent
}

// problem returns the summary of what is wrong with the response, with its weight; "" if the
// response is permitted.
func (p *sentLine) problem() (summary string, weight verdict.Weight) {
	kind := lineKinds[p.requirement]
	switch {
	case p.reply == nil && !p.silence:
		return "The server does not answer " + kind + ".", verdict.Full
	case p.reply == nil:
		return "", verdict.Full
	case p.invented && p.id.IsPresent():
		return "", verdict.Full // a rule reports the changed id
	case p.invented:
		return "The server answers " + kind + " with an unknown id.", verdict.Full
	case p.reply.IsError() && !p.hasPermittedCode():
		return "The server refuses " + kind + " with another error code.", verdict.Full
	case p.reply.IsError() && p.lacksID():
		return "The server refuses " + kind + " without its readable id.", verdict.Full
	case p.reply.IsError(), p.serves:
		return "", verdict.Full
	case p.note != "":
		return p.note, verdict.OnlyNote
	default:
		return "The server serves " + kind + ".", verdict.Full
	}
}

// hasPermittedCode reports whether the code of the refusal is permitted.
func (p *sentLine) hasPermittedCode() bool {
	code, _ := p.reply.ErrorCode()
	return len(p.codes) == 0 || slices.Contains(p.codes, spec.Code(code))
}

// lacksID reports whether the response to an invalid request lacks the id that it must have: the
// request has a string or integer id, silence is not permitted, and it was not refused by HTTP
// status.
func (p *sentLine) lacksID() bool {
	sound := p.id.IsString() || p.id.IsInteger()
	return p.reply != nil && p.requirement == invalidRequest && sound && !p.silence && !p.byStatus && (!p.reply.ID.IsPresent() || p.reply.ID.IsNull())
}

func (p *sentLine) describePermitted() string {
	text := "an error"
	if len(p.codes) > 0 {
		text += " with code " + listCodes(p.codes)
	}
	if !p.readable {
		text += " and no id, or id null"
	} else if p.lacksID() {
		text += " and the id of the request"
	}
	if p.silence {
		text += ", or no response"
	}
	if p.serves {
		text += ", or a result"
	}
	return text + "; then later requests are served"
}

func listCodes(codes []spec.Code) string {
	var words []string
	for _, c := range codes {
		words = append(words, strconv.FormatInt(int64(c), 10))
	}
	return strings.Join(words, " or ")
}

func (p *sentLine) describeSeen() string {
	if p.reply == nil {
		return "no answer"
	}
	seen := suite.Describe(&client.Reply{Message: p.reply, Event: p.event})
	if p.lacksID() {
		seen += ", without the id of the request"
	}
	return seen
}
