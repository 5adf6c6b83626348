package suite

import (
	"context"
	"net/netip"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// CheckListenAddresses judges on which addresses a server on this machine listens. Other
// machines cannot reach a server that listens only on the loopback interface.
func (t *T) CheckListenAddresses(ctx context.Context, requirement string) {
	c := t.Conversation(ctx)
	local, ok := c.Web().(transport.Local)
	if !ok {
		t.GiveUp("where the server listens is known only if the run starts it (--start)")
	}
	addresses := local.ListenAddresses()
	if len(addresses) == 0 {
		t.GiveUp("the listening address of the server can't be read on this system")
	}
	exposed := slices.IndexFunc(addresses, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() })
	if exposed < 0 {
		t.MarkKept(requirement)
		return
	}
	where := addresses[exposed].String()
	if addresses[exposed].IsUnspecified() {
		where = "all addresses of the machine (" + where + ")"
	}
	t.Report(c, verdict.Deviation{
		Requirement: requirement,
		Summary:     "The server listens on interfaces other than loopback.",
		Permitted:   "only 127.0.0.1 or ::1 when the server runs locally",
		Seen:        "it listens at " + where,
	})
}
