package engine

import (
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A Recorded is a conversation of the run that has ended.
type Recorded struct {
	// Name consists of the requested revision, the occasion and a number, as in
	// 2025-11-25-shared-1. It is the same in equal runs.
	Name     string
	Revision spec.Revision
	// Occasion is the id of the case that used the conversation, "shared" if several cases share
	// it, or "probe" if it belongs to no case. In a retry it has the suffix "-again".
	Occasion string
	Began    time.Time           // the time to which the times of the events are relative
	Events   []*transcript.Event // must not be altered
}

// probeOccasion is the occasion of conversations that belong to no case.
const probeOccasion = "probe"

// casesOf returns the ids of the cases that used the conversation.
func casesOf(c *client.Conversation) []string {
	var ids []string
	for _, e := range c.Record.From(0) {
		if e.Kind == transcript.CaseBegan && e.Detail != "" && !slices.Contains(ids, e.Detail) {
			ids = append(ids, e.Detail)
		}
	}
	return ids
}
