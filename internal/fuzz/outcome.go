package fuzz

import (
	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Outcome is what came of a script.
type Outcome struct {
	Script    generate.Script
	Transport spec.Transport
	// Offer is what the server has, as far as that was known; nil where it was not.
	Offer *generate.Offer
	// Talks are the conversations, in the order in which they began.
	Talks []*Talk
	// Requests is how many requests were made, fences included, and Messages how
	// many frames went in both directions.
	Requests, Messages int
	// Refused is why no server could be had, nil otherwise.
	Refused error
	// Skipped are the operations that were not carried out.
	Skipped []int
}

// Talk is one conversation that has ended.
type Talk struct {
	On     int
	Server client.Server
	Events []*transcript.Event
	Walks  []Walked
	// Growths are what came of repeated requests.
	Growths []*Growth
	// Deaf: a fence was not answered in time.
	Deaf bool
	// Unanswered is the first request without an answer, "" for none. What the
	// script cancels itself is none of them.
	Unanswered string

	hung    *transcript.Event // the request behind which nothing was answered any more, nil for none
	before  *wire.Message     // a request before it with no answer either, that is owed none
	hurried bool              // an answer was not waited for as long as it may take
	asked   map[string]int    // by the key of its id, the operation that made a request
	spans   []span
}

// span is where in the record an operation stands.
type span struct{ operation, from, to int }

// Walked is a list that was walked through.
type Walked struct {
	Operation int
	Method    string
	From, To  int      // where in the record
	Pages     [][]byte // the results
	Whole     bool     // the walk came to the end
}
