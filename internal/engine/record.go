package engine

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Recorded is a conversation of the run that has ended.
type Recorded struct {
	// Name is made of the revision that was asked for, the occasion and a
	// running number: 2025-11-25-shared-1. It is the same in an equal run.
	Name     string
	Revision spec.Revision
	// Occasion is the id of the case that held the conversation, "shared"
	// where cases share it, or "probe"; "-again" follows where a finding was
	// tried again.
	Occasion string
	Events   []*transcript.Event // must not be altered
}

// probing is the occasion of conversations that no case takes part in.
const probing = "probe"

// occasion names what the unit's conversations are held for.
func (u *unit) occasion() string {
	name := "shared"
	if u.retriedCase != nil {
		name = u.retriedCase.ID
	} else if !u.sharesConversation {
		name = u.cases[0].ID
	}
	if u.repeats > 0 {
		name += "-again"
	}
	return name
}

// record hands a conversation that has ended to Options.Record.
func (r *session) record(c *client.Conversation, occasion string) {
	if r.o.Record == nil {
		return
	}
	key := fmt.Sprintf("%s-%s", c.Revision(), occasion)
	r.mu.Lock()
	r.recorded[key]++
	n := r.recorded[key]
	r.mu.Unlock()
	r.o.Record(Recorded{Name: fmt.Sprintf("%s-%d", key, n), Revision: c.Revision(), Occasion: occasion, Events: c.Record.From(0)})
}
