package script

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Growth holds measurements of a server's memory while the client repeats one request in one
// conversation. At first the client only sends the request, until the memory is steady. Then it
// writes each request together with its cancellation. At the end it sends the request without
// cancellations again.
type Growth struct {
	Plain, Cancelled, After []Window
	// First is the position of the first cancelled request or, if none was cancelled, of the first
	// request. Last is the position of the last event.
	First, Last int
	// Why is the reason why nothing can be concluded, or "".
	Why string
	// Unreadable is set if the system does not report the server's memory.
	Unreadable bool
}

// Window is the state after windowSize equal requests.
type Window struct {
	Resident  int64 // bytes of memory after the requests
	Exchanged int64 // bytes of the window's messages in both directions
}

// Parameters of the repetition, and what counts as growth. Servers allocate early and free late, so
// memory counts as growing only if it grows in every window, and by far more than the size of the
// messages.
const (
	windowSize    = 128
	windowWrite   = 32
	plainWindows  = 24
	warmWindows   = 8 // how many plain windows at the beginning do not count
	cancelWindows = 16
	afterWindows  = 6
	afterShare    = 4 // a request of the last phase may add at most 1/afterShare of what a cancelled one adds
	steadyWindows = 3 // how many consecutive windows must add almost nothing

	minStep         = 2 << 20  // bytes that each window must add, in addition to those for its messages
	maxSteadyGrowth = 1 << 20  // bytes that steadyWindows windows may add together
	messageFactor   = 4        // bytes that a window may add for each byte of its messages
	minPlain        = 64 << 20 // bytes that the plain windows after the warm ones must add together
	minCancelled    = 64 << 20 // bytes that all windows of cancelled requests must add together
	maxExchanged    = 24 << 20 // the maximum number of bytes of messages in the whole repetition

	samples   = 8
	minWindow = 100 * time.Millisecond
	maxWindow = 3 * time.Second
)

// growthOf returns how much memory the windows after the first added, and whether each of them
// added a substantial amount. The first window is only the starting point of the comparison.
func growthOf(all []Window) (total int64, each bool) {
	each = len(all) > 1
	for i := 1; i < len(all); i++ {
		step := all[i].Resident - all[i-1].Resident
		total += step
		each = each && step >= minStep+messageFactor*all[i].Exchanged
	}
	return total, each
}

// isSteady reports whether the last steadyWindows windows together added almost nothing.
func isSteady(all []Window) bool {
	if len(all) <= steadyWindows {
		return false
	}
	last := all[len(all)-1-steadyWindows:]
	total, _ := growthOf(last)
	return total < maxSteadyGrowth
}

// PerRequest returns how much memory the requests without cancellations took after the warm
// windows. grows reports whether the memory grew in every such window, and by at least minPlain in
// total. If the measurements are incomplete, PerRequest returns 0 and false.
func (g *Growth) PerRequest() (bytes int64, grows bool) {
	if g.Why != "" || len(g.Plain) < plainWindows {
		return 0, false
	}
	total, each := growthOf(g.Plain[warmWindows-1:])
	return total, each && total >= minPlain
}

// PerCancellation returns how much memory the server took for cancelled requests. grows reports
// whether each window of cancelled requests added memory, at least minCancelled in total, while the
// same requests without cancellations added little, both before and after. If the measurements are
// incomplete, or the memory was not steady before the first cancellation, PerCancellation returns 0
// and false.
func (g *Growth) PerCancellation() (bytes int64, grows bool) {
	if g.Why != "" || len(g.Cancelled) < cancelWindows || len(g.After) < afterWindows || !isSteady(g.Plain) {
		return 0, false
	}
	// The server may reuse memory that it freed, so compare with the highest value so far.
	most := slices.MaxFunc(g.Plain, func(a, b Window) int { return cmp.Compare(a.Resident, b.Resident) })
	_, each := growthOf(append(g.Plain[len(g.Plain)-1:len(g.Plain):len(g.Plain)], g.Cancelled...))
	bytes = g.Cancelled[len(g.Cancelled)-1].Resident - most.Resident
	after := g.After[len(g.After)-1].Resident - g.Cancelled[len(g.Cancelled)-1].Resident
	return bytes, each && bytes >= minCancelled && after*afterShare < bytes*afterWindows/cancelWindows
}

// repeater repeats a request for the operation with index i.
type repeater struct {
	*runner
	l       *liveConversation
	i       int
	message *wire.Message
	growth  *Growth
	limit   time.Duration // how long to wait for responses to cancelled requests
	budget  int64         // bytes of messages that may still be exchanged
}

// repeat sends a request many times and records the server's memory.
func (r *runner) repeat(l *liveConversation, i int, o *Operation) {
	read := wire.Parse(l.withMetadata(o.Message))
	if len(read.Messages) != 1 || read.Messages[0].Kind != wire.Request {
		return
	}
	p := &repeater{runner: r, l: l, i: i, message: &read.Messages[0], growth: &Growth{First: l.c.Record.Len()}, budget: maxExchanged}
	l.Growths = append(l.Growths, p.growth)
	p.measure()
	p.growth.Last = l.c.Record.Len() - 1
	for _, e := range l.c.Record.From(p.growth.First) { // messages of the server may precede the first request
		if e.Kind == transcript.Sent && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind == wire.Request }) {
			p.growth.First = e.Seq
			return
		}
	}
}

// measure repeats the request window by window, until it has measured enough or growth is ruled
// out.
func (p *repeater) measure() {
	g := p.growth
	if _, ok := p.l.c.ResidentMemory(); !ok {
		g.Unreadable, g.Why = true, "the memory of the server can't be measured"
		return
	}
	if p.sampleResponseTime(); g.Why != "" {
		return
	}
	for len(g.Plain) < plainWindows && !isSteady(g.Plain) {
		if !p.runWindow(&g.Plain, false) {
			return
		}
	}
	if !isSteady(g.Plain) {
		return
	}
	g.First = p.l.c.Record.Len()
	for len(g.Cancelled) < cancelWindows {
		last := g.Plain[len(g.Plain)-1]
		if len(g.Cancelled) > 0 {
			last = g.Cancelled[len(g.Cancelled)-1]
		}
		if !p.runWindow(&g.Cancelled, true) {
			return
		}
		if _, more := growthOf([]Window{last, g.Cancelled[len(g.Cancelled)-1]}); !more {
			return
		}
	}
	for range afterWindows {
		if !p.runWindow(&g.After, false) {
			return
		}
	}
}

// sampleResponseTime sends a few requests to measure how long a response takes. It gives up if
// responses are slow, because pending requests would then look like growth.
func (p *repeater) sampleResponseTime() {
	var took []time.Duration
	for range samples {
		began := time.Now()
		if !p.send(1, false) || !p.awaitResponses(maxWindow) {
			p.growth.Why = "it was not answered"
			return
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	if took[0]*windowSize > maxWindow { // on a busy machine the minimum is the most accurate
		p.growth.Why = "its responses take too long to send many requests"
	}
	p.limit = max(minWindow, min(3*windowSize*took[samples/2], maxWindow))
}

// runWindow sends the requests of one window, each followed by its cancellation if cancel is set,
// waits for their responses, and adds the server's memory to the slice into. It returns false if
// the repetition cannot continue.
func (p *repeater) runWindow(into *[]Window, cancel bool) bool {
	from := p.l.c.Record.Len()
	for range windowSize / windowWrite {
		if p.ctx.Err() != nil || p.isStopped() || !p.send(windowWrite, cancel) {
			p.growth.Why = "it was broken off"
			return false
		}
		p.fence(p.l)
	}
	limit := maxWindow
	if cancel { // cancelled requests expect no response
		limit = p.limit
	}
	if !p.awaitResponses(limit) && !cancel {
		p.growth.Why = "its responses do not come in time"
		return false
	}
	p.fence(p.l)
	bytes, ok := p.l.c.ResidentMemory()
	exchanged := totalBytes(p.l.c.Record.From(from))
	if p.budget -= exchanged; !ok || p.l.over || p.budget < 0 {
		p.growth.Why = "it was broken off"
		return false
	}
	*into = append(*into, Window{Resident: bytes, Exchanged: exchanged})
	return true
}

// send sends n requests in one write, each followed by its cancellation if cancel is set. It
// returns false if the server has ended or does not read.
func (p *repeater) send(n int, cancel bool) bool {
	var frames [][]byte
	for range n {
		id := p.l.c.NewID()
		frame := Message{ID: id, Method: p.message.Method, Params: p.message.Params()}.Bytes()
		frames = append(frames, frame)
		p.awaitRateLimit()
		p.l.noteSent(request{operation: p.i, text: frame, id: id, method: p.message.Method, cancelled: cancel})
		if cancel {
			frames = append(frames, Message{Method: spec.MethodCancelled, Params: []byte(`{"requestId":` + id.Raw() + `}`)}.Bytes())
		}
	}
	p.l.pending = frames
	p.l.pendingFrom = p.i
	p.flush(p.l)
	return !p.l.over
}

// awaitResponses waits until each of the last windowSize requests has its response, and reports
// whether all responses came within the limit.
func (p *repeater) awaitResponses(limit time.Duration) bool {
	open := p.l.sentRequests[max(0, len(p.l.sentRequests)-windowSize):]
	return p.l.waitUntil(p.ctx, limit, func() bool {
		return !slices.ContainsFunc(open, func(a request) bool { return p.l.responseTo(a.id) == nil })
	})
}

// totalBytes returns the bytes of the messages in both directions.
func totalBytes(events []*transcript.Event) int64 {
	n := int64(0)
	for _, e := range events {
		if e.Kind == transcript.Sent || e.Kind == transcript.Received {
			n += int64(len(e.Raw))
		}
	}
	return n
}
