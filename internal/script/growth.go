package script

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Growth is the memory of a server while one request is repeated in one
// conversation: first as it is, until the memory is steady; then cancelled in
// the same write; then as it is once more.
type Growth struct {
	Plain, Cancelled, After []Window
	// First is the position of the first request, of the cancelled ones if
	// there are any; Last that of the last event.
	First, Last int
	// Why is why nothing can be concluded, or "".
	Why string
	// Blind: the system does not report the server's memory.
	Blind bool
}

// Window is a number of equal requests.
type Window struct {
	Resident  int64 // bytes of memory behind it
	Exchanged int64 // bytes of the messages in both directions
}

// How requests are repeated, and what counts as growth. Servers allocate early
// and free late, so only growth in every window counts, if it is far more than
// the size of the messages.
const (
	windowSize    = 128
	windowWrite   = 32
	plainWindows  = 24
	warmWindows   = 8 // of these
	cancelWindows = 16
	afterWindows  = 6
	afterShare    = 4 // of what cancelled requests add, others do not add even this part
	steadyWindows = 3 // that add nothing

	leastStep      = 2 << 20
	nextToNothing  = 1 << 20
	stepOfMessages = 4
	leastPlain     = 64 << 20
	leastCancelled = 64 << 20
	mostExchanged  = 24 << 20

	samples     = 8
	leastWindow = 100 * time.Millisecond
	mostWindow  = 3 * time.Second
)

// adds returns what the windows added one after the other, or false if one of
// them added almost nothing.
func adds(all []Window) (total int64, each bool) {
	each = len(all) > 1
	for i := 1; i < len(all); i++ {
		step := all[i].Resident - all[i-1].Resident
		total += step
		each = each && step >= leastStep+stepOfMessages*all[i].Exchanged
	}
	return total, each
}

// steady reports whether the last windows together added almost nothing.
func steady(all []Window) bool {
	if len(all) <= steadyWindows {
		return false
	}
	last := all[len(all)-1-steadyWindows:]
	total, _ := adds(last)
	return total < nextToNothing
}

// WithEach returns how much memory the server took for all requests, and
// whether each window to the end added more.
func (g *Growth) WithEach() (bytes int64, grows bool) {
	if g.Why != "" || len(g.Plain) < plainWindows {
		return 0, false
	}
	total, each := adds(g.Plain[warmWindows-1:])
	return total, each && total >= leastPlain
}

// WithCancelled returns how much memory the server took for cancelled requests,
// and whether each window of them added more while the same requests without
// cancellations added almost nothing before and after.
func (g *Growth) WithCancelled() (bytes int64, grows bool) {
	if g.Why != "" || len(g.Cancelled) < cancelWindows || len(g.After) < afterWindows || !steady(g.Plain) {
		return 0, false
	}
	// Memory that was freed before may be allocated again.
	most := slices.MaxFunc(g.Plain, func(a, b Window) int { return cmp.Compare(a.Resident, b.Resident) })
	_, each := adds(append(g.Plain[len(g.Plain)-1:len(g.Plain):len(g.Plain)], g.Cancelled...))
	bytes = g.Cancelled[len(g.Cancelled)-1].Resident - most.Resident
	after := g.After[len(g.After)-1].Resident - g.Cancelled[len(g.Cancelled)-1].Resident
	return bytes, each && bytes >= leastCancelled && after*afterShare < bytes*afterWindows/cancelWindows
}

// repeater repeats a request.
type repeater struct {
	*runner
	l       *liveConversation
	i       int
	message *wire.Message
	grown   *Growth
	limit   time.Duration // of the wait for answers to what was cancelled
	left    int64         // bytes that may be exchanged
}

// repeat makes a request again and again.
func (r *runner) repeat(l *liveConversation, i int, o *Operation) {
	read := wire.Parse(o.Message)
	if len(read.Messages) != 1 || read.Messages[0].Kind != wire.Request {
		return
	}
	p := &repeater{runner: r, l: l, i: i, message: &read.Messages[0], grown: &Growth{First: l.c.Record.Len()}, left: mostExchanged}
	l.Growths = append(l.Growths, p.grown)
	p.all()
	p.grown.Last = l.c.Record.Len() - 1
	for _, e := range l.c.Record.From(p.grown.First) { // something of the server's may have come before
		if e.Kind == transcript.Sent && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind == wire.Request }) {
			p.grown.First = e.Seq
			return
		}
	}
}

func (p *repeater) all() {
	g := p.grown
	if _, told := p.l.c.ResidentMemory(); !told {
		g.Blind, g.Why = true, "it can't be told how much memory the server has"
		return
	}
	if p.sample(); g.Why != "" {
		return
	}
	for len(g.Plain) < plainWindows && !steady(g.Plain) {
		if !p.window(&g.Plain, false) {
			return
		}
	}
	if !steady(g.Plain) {
		return
	}
	g.First = p.l.c.Record.Len()
	for len(g.Cancelled) < cancelWindows {
		last := g.Plain[len(g.Plain)-1]
		if len(g.Cancelled) > 0 {
			last = g.Cancelled[len(g.Cancelled)-1]
		}
		if !p.window(&g.Cancelled, true) {
			return
		}
		if _, more := adds([]Window{last, g.Cancelled[len(g.Cancelled)-1]}); !more {
			return
		}
	}
	for range afterWindows {
		if !p.window(&g.After, false) {
			return
		}
	}
}

// sample sends a few requests to measure how long a response takes: if it takes
// long, pending requests would look like growth.
func (p *repeater) sample() {
	var took []time.Duration
	for range samples {
		began := time.Now()
		if !p.send(1, false) || !p.answered(mostWindow) {
			p.grown.Why = "it was not answered"
			return
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	if took[0]*windowSize > mostWindow { // on a busy machine the least is the truth
		p.grown.Why = "its answers take too long to ask for many"
	}
	p.limit = max(leastWindow, min(3*windowSize*took[samples/2], mostWindow))
}

// window sends requests, waits for their responses and records the server's
// memory. It returns false if the conversation cannot continue.
func (p *repeater) window(into *[]Window, cancel bool) bool {
	from := p.l.c.Record.Len()
	for range windowSize / windowWrite {
		if p.ctx.Err() != nil || p.stopped() || !p.send(windowWrite, cancel) {
			p.grown.Why = "it was broken off"
			return false
		}
		p.fence(p.l)
	}
	limit := mostWindow
	if cancel { // it need not be answered
		limit = p.limit
	}
	if !p.answered(limit) && !cancel {
		p.grown.Why = "its answers do not come in time"
		return false
	}
	p.fence(p.l)
	bytes, told := p.l.c.ResidentMemory()
	exchanged := exchanged(p.l.c.Record.From(from))
	if p.left -= exchanged; !told || p.l.over || p.left < 0 {
		p.grown.Why = "it was broken off"
		return false
	}
	*into = append(*into, Window{Resident: bytes, Exchanged: exchanged})
	return true
}

// send sends n requests in one write.
func (p *repeater) send(n int, cancel bool) bool {
	var frames [][]byte
	for range n {
		id := p.l.c.NewID()
		frames = append(frames, Message{ID: id, Method: p.message.Method, Params: p.message.Params()}.Bytes())
		p.count()
		p.l.requests[id.Key()] = p.i
		p.l.asked = append(p.l.asked, request{id: id, method: p.message.Method, cancelled: cancel})
		if cancel {
			frames = append(frames, Message{Method: spec.MethodCancelled, Params: []byte(`{"requestId":` + id.Raw() + `}`)}.Bytes())
		}
	}
	p.l.pending = frames
	p.l.pendingFrom = p.i
	p.flush(p.l)
	return !p.l.over
}

// answered waits until every request has its response.
func (p *repeater) answered(limit time.Duration) bool {
	open := p.l.asked[max(0, len(p.l.asked)-windowSize):]
	return p.l.until(p.ctx, limit, func() bool {
		return !slices.ContainsFunc(open, func(a request) bool { return p.l.response(a.id) == nil })
	})
}

// exchanged returns the bytes of the messages in both directions.
func exchanged(events []*transcript.Event) int64 {
	n := int64(0)
	for _, e := range events {
		if e.Kind == transcript.Sent || e.Kind == transcript.Received {
			n += int64(len(e.Raw))
		}
	}
	return n
}
