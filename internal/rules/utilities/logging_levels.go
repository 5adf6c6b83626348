package utilities

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// severities are the levels of log messages, from least to most severe.
var severities = rules.Severities

// severity returns the index of a level in severities, -1 for any other value.
func severity(level jsontext.Value) int { return rules.LogSeverity(level) }

// threshold tracks which log messages a server may send. Overlapping requests that set the level
// may be served in any order, and messages in transit when a level was set may come after the
// response. Of the thresholds that may be in force it uses the lowest.
type threshold struct {
	lowest int // the lowest level that may have been in force before the requests in set; -1 permits any
	set    []*levelRequest
	// since counts the round trips since the last request to set a level was answered; nil while
	// one is open.
	since *roundTrips
	// begun are the open requests that do not set a level. older are the ones among them that were
	// sent before the last level was set.
	begun, older []*rules.Request
}

// levelRequest is a request that sets the level.
type levelRequest struct {
	request  *rules.Request
	level    int // -1 if it is not a level
	answered bool
	refused  bool
}

func (t *threshold) noteSetLevel(req *rules.Request) {
	if t.isSettled() {
		t.lowest, t.set = t.lowestPermitted(), nil
	}
	t.since = nil
	t.set = append(t.set, &levelRequest{request: req, level: severity(req.Message.ParamAt("/level"))})
}

func (t *threshold) noteSetLevelResponse(obs *rules.Observation) {
	open := false
	for _, s := range t.set {
		if s.request == obs.Request {
			s.answered, s.refused = true, obs.Message.IsError()
			t.since = roundTripsSince(obs.Event)
		}
		open = open || !s.answered
	}
	if open {
		t.since = nil
	}
	t.older = slices.DeleteFunc(slices.Clone(t.begun), hasResponse)
}

// noteRequest records a request that may cause log messages.
func (t *threshold) noteRequest(req *rules.Request) {
	if req.IsRegular() { // only a regular request certainly gets a response
		t.begun = append(slices.DeleteFunc(t.begun, hasResponse), req)
	}
}

func hasResponse(req *rules.Request) bool { return len(req.Responses) > 0 }

// isSettled reports whether every request to set a level was answered, and the messages that the
// server sent under an earlier level have arrived.
func (t *threshold) isSettled() bool {
	return t.since != nil && t.since.n > 0 && !slices.ContainsFunc(t.older, func(req *rules.Request) bool {
		return !hasResponse(req) && (!req.IsCancelled() || t.since.n < settlingTrips) // a cancelled request may never get a response, so only the round trips count
	})
}

// lowestPermitted returns the lowest level that is permitted for a log message, or -1 if every
// level is permitted.
func (t *threshold) lowestPermitted() int {
	level, found := len(severities), false
	if !t.isSettled() {
		level, found = t.lowest, true
	}
	for _, s := range t.set {
		switch {
		case s.refused: // the level is unchanged
		case s.level < 0: // the server may have taken it for any level
			return -1
		default:
			level, found = min(level, s.level), true
		}
	}
	if !found {
		return t.lowest
	}
	return level
}

// isAfterLevel reports whether a message came on the stream of a request that was sent after the
// level was set and a round trip was complete. Over HTTP, messages on other streams may be older.
func (t *threshold) isAfterLevel(s *rules.Session, obs *rules.Observation) bool {
	x := s.Exchanges().Of(obs.Event)
	return t.isSettled() && x != nil && x.Method() == "POST" && x.Request.Seq > t.since.after
}
