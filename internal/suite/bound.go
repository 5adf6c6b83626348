package suite

import (
	"context"
	"net/netip"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// CheckBound judges where a server listens that runs on this machine: on the
// loopback interface alone, whom it serves nobody else can reach.
func (t *T) CheckBound(ctx context.Context, requirement string) {
	c := t.Conversation(ctx)
	local, ok := c.Web().(transport.Local)
	if !ok {
		t.GiveUp("where the server listens is known only if the run starts it (--start)")
	}
	at := local.Listens()
	if len(at) == 0 {
		t.GiveUp("where the server listens can't be told on this system")
	}
	beyond := slices.IndexFunc(at, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() })
	if beyond < 0 {
		t.Kept(requirement)
		return
	}
	where := at[beyond].String()
	if at[beyond].IsUnspecified() {
		where = "all addresses of the machine (" + where + ")"
	}
	t.Deviates(c, verdict.Deviation{
		Requirement: requirement,
		Summary:     "The server can be reached from other machines, as it listens beyond the loopback interface.",
		Permitted:   "to listen at 127.0.0.1 or ::1 alone when it runs locally",
		Seen:        "it listens at " + where,
	})
}
