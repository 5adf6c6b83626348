package engine

import (
	"context"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// A connector opens the conversations of a run.
type connector struct {
	dialer transport.Dialer
	budget *transcript.Budget // the memory budget that all conversations share
	starts *atomic.Int64      // how many conversations were opened
}

func (c *connector) dial(ctx context.Context, o client.Options) (*client.Conversation, error) {
	return c.dialWith(ctx, c.dialer, o)
}

func (c *connector) dialWith(ctx context.Context, d transport.Dialer, o client.Options) (*client.Conversation, error) {
	c.starts.Add(1)
	o.Budget = c.budget
	return client.Open(ctx, d, o)
}

// transport returns the transport of the run.
func (c *connector) transport() spec.Transport { return c.dialer.Transport() }

// sharesProcess reports whether the conversations of the run share a process.
func (c *connector) sharesProcess() bool {
	_, shares := c.dialer.(transport.Sharer)
	return shares
}

// hasSingleProcess reports whether the conversations of the run share one process, and no second
// one can run next to it.
func (c *connector) hasSingleProcess() bool {
	sharer, ok := c.dialer.(transport.Sharer)
	return ok && sharer.IsLimitedToOne()
}

// separateDialer returns a dialer for a conversation that must not affect others, and the function
// stop, to be called when that conversation has ended. If the conversations of d share a process
// and a second one can run, the returned dialer uses a fresh process, which stop ends. Otherwise it
// is d itself.
func separateDialer(d transport.Dialer) (fresh transport.Dialer, stop func()) {
	if sharer, ok := d.(transport.Sharer); ok && !sharer.IsLimitedToOne() {
		return sharer.FreshDialer()
	}
	return d, func() {}
}
