package running

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// trips counts the round trips since a point in the conversation: requests of
// which each was sent behind the answer to the one before. An answer to what
// was sent behind a message shows that the server has read that message. A
// server that does several things at once may then still have something on its
// way that it said before; after a second round trip that has come, too.
type trips struct {
	behind int // the position behind which the next request has to be sent
	n      int
}

// settled is how many round trips make sure that nothing is on its way.
const settled = 2

func since(e *transcript.Event) *trips { return &trips{behind: e.Seq} }

// heard takes note of an answer.
func (t *trips) heard(h *rules.Heard) {
	if h.Asked.Event.Seq > t.behind {
		t.n++
		t.behind = h.Event.Seq
	}
}

// ordered tells whether the server's messages came in the order in which it
// sent them, and the client's arrived so.
func ordered(s *rules.Session) bool { return s.Transport == spec.Stdio }

// onAnswers makes a fold hear all answers of the server, too.
func onAnswers(hears rules.Hears, hear func(s *rules.Session, h *rules.Heard, out *rules.Out)) rules.Hears {
	hears[rules.ResultOf("")] = hear
	hears[rules.ErrorTo("")] = hear
	return hears
}
