package discount

import (
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// outage voids observations that were made after a server that the run can't restart had stopped
// serving. Such observations show nothing about the protocol. When the first requests fail, it is
// not yet known whether the server is gone, so their positions are stored until that is known.
type outage struct {
	mu     sync.Mutex
	isGone bool
	// unanswered maps each conversation to the position of its first event that shows nothing if the
	// server is gone. Later events show nothing either.
	unanswered map[*transcript.Transcript]int
}

func (o *outage) discount(c *Claim) (Effect, string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isGone && slices.ContainsFunc(c.Records, func(record *transcript.Transcript) bool {
		from, isSilent := o.unanswered[record]
		return isSilent && (len(c.At) == 0 || slices.Max(c.At) >= from)
	}) {
		return Void, "the server no longer served any client"
	}
	return Counts, ""
}

// NoteUnanswered notes that the server stopped responding in a conversation. from is the position
// of the first event after that.
func (r *Run) NoteUnanswered(record *transcript.Transcript, from int) {
	r.outage.mu.Lock()
	defer r.outage.mu.Unlock()
	if r.outage.unanswered == nil {
		r.outage.unanswered = map[*transcript.Transcript]int{}
	}
	r.outage.unanswered[record] = from
}

// NoteOutage notes that the server no longer serves any client.
func (r *Run) NoteOutage() {
	r.outage.mu.Lock()
	defer r.outage.mu.Unlock()
	r.outage.isGone = true
}
