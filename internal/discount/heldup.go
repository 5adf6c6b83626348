package discount

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// heldUpRequest discounts a missing response to a request that was sent after a call of a tool, if
// neither the call nor any later request has a response. A server may handle requests one by one,
// and a tool may take any time, so such a server cannot be distinguished from one that has stopped
// responding. The discount applies only in a search, where a retry repeats the call too. A run does
// not need it, because it retries a case without the calls of other cases.
type heldUpRequest struct{}

func (heldUpRequest) discount(c *Claim) (Effect, string) {
	if !c.Search || len(c.At) == 0 {
		return Counts, ""
	}
	call := FirstHoldingRequest(transcript.DialogueOf(c.Events))
	if call == nil {
		return Counts, ""
	}
	for _, at := range c.At {
		if at <= call.Event.Seq || at >= len(c.Events) || c.Events[at].Kind != transcript.Sent && c.Events[at].Kind != transcript.GaveUp {
			return Counts, ""
		}
	}
	return Void, "an earlier call of a tool got no response either, and may have held up the server"
}

// MayHoldUp reports whether a request with the method may take any time, and hold up later ones.
func MayHoldUp(method string) bool {
	return method == spec.MethodToolsCall || method == spec.MethodTasksResult
}

// FirstHoldingRequest looks at the requests after the last one that has a response. It returns the
// first of these that may hold up later requests, or nil.
func FirstHoldingRequest(d *transcript.Dialogue) *transcript.Request {
	open := d.TrailingUnanswered()
	if i := slices.IndexFunc(open, func(r *transcript.Request) bool { return MayHoldUp(r.Message.Method) }); i >= 0 {
		return open[i]
	}
	return nil
}
