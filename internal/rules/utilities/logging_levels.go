package utilities

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// severities are the levels of log messages, the mildest first.
var severities = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// severity returns the place of a level among the severities, -1 for what is none.
func severity(level jsontext.Value) int {
	text, ok := wire.Text(level)
	if !ok {
		return -1
	}
	return slices.Index(severities, text)
}

// threshold follows which messages a server may send. Requests that set the
// level and overlap may be served in any order, and messages that were on
// their way when a level was set may come behind the answer: of several
// thresholds that may be in force it takes the lowest.
type threshold struct {
	lowest int // what was in force before the requests at hand; -1: anything goes
	set    []*levelRequest
	// since counts the round trips since the last of them was answered.
	since *roundTrips
	// begun are the requests without an answer, but for those that set a level,
	// and older those of them that were made before the last level was answered.
	begun, older []*rules.Request
}

// levelRequest is a request that sets the level.
type levelRequest struct {
	asked    *rules.Request
	level    int // -1 for what is no level
	answered bool
	refused  bool
}

func (t *threshold) asked(req *rules.Request) {
	if t.isSettled() {
		t.lowest, t.set = t.level(), nil
	}
	t.since = nil
	t.set = append(t.set, &levelRequest{asked: req, level: severity(wire.At(req.Message.Params(), "/level"))})
}

func (t *threshold) answered(obs *rules.Observation) {
	open := false
	for _, s := range t.set {
		if s.asked == obs.Request {
			s.answered, s.refused = true, obs.Message.IsError()
			t.since = roundTripsSince(obs.Event)
		}
		open = open || !s.answered
	}
	if open {
		t.since = nil
	}
	t.older = slices.DeleteFunc(slices.Clone(t.begun), isReplied)
}

// noteRequest takes note of a request that may make the server log.
func (t *threshold) noteRequest(req *rules.Request) {
	if req.IsRegular() { // only to such an answer is certain to come
		t.begun = append(slices.DeleteFunc(t.begun, isReplied), req)
	}
}

func isReplied(req *rules.Request) bool { return len(req.Responses) > 0 }

// isSettled reports whether all requests were answered, and what was on its way
// meanwhile has come.
func (t *threshold) isSettled() bool {
	return t.since != nil && t.since.n > 0 && !slices.ContainsFunc(t.older, func(req *rules.Request) bool {
		return !isReplied(req) && (!req.Cancelled || t.since.n < settled) // one that was cancelled may stay without an answer
	})
}

// level returns the mildest level that may come, -1 where anything may.
func (t *threshold) level() int {
	level, taken := len(severities), false
	if !t.isSettled() {
		level, taken = t.lowest, true
	}
	for _, s := range t.set {
		switch {
		case s.refused: // the level is as it was
		case s.level < 0: // it was taken for some level
			return -1
		default:
			level, taken = min(level, s.level), true
		}
	}
	if !taken {
		return t.lowest
	}
	return level
}

// before reports whether a message came on the stream of a request that was sent
// when a round trip had been made since the level was set: over HTTP what comes
// on other streams may be older.
func (t *threshold) before(s *rules.Session, obs *rules.Observation) bool {
	x := s.Exchanges().Of(obs.Event)
	return t.isSettled() && x != nil && x.Method() == "POST" && x.Request.Seq > t.since.behind
}
