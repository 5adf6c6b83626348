package fuzz

import (
	"errors"
	"runtime"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// Options say what is done to which server.
type Options struct {
	Dialer transport.Dialer
	Laws   []Law
	// Revisions are those to try; empty for all of the handshake era.
	Revisions []spec.Revision
	Policy    inventory.Config
	// Time and Cases bound the search; zero for no bound.
	Time  time.Duration
	Cases int
	Seed  uint64
	// Jobs is how many scripts are held at once; default: four for each core, as
	// they wait most of the time.
	Jobs int
	// Rate is how many requests are made a second; zero for as many as can be.
	Rate float64
	// Corpus is a folder in which what was new is kept from run to run; "" for
	// none.
	Corpus string
	// Redact removes secrets from what is kept there; nil where there are none.
	Redact func([]byte) []byte
	// Timeout bounds the wait for an answer that is owed, Start that for the
	// answer to initialize.
	Timeout, Start time.Duration
	// FirstStart is Start for the first session, before which the server may have
	// to be downloaded; zero where it is no other.
	FirstStart time.Duration
	// Shrink bounds the shrinking of one finding.
	Shrink Budget
	// Enough ends the search with the first finding for which it is true; nil
	// for none.
	Enough func(f *Finding) bool
	// Operations is how long scripts are at most; zero for what fits the server.
	Operations int

	// Stock is called for each revision that the server speaks, before anything
	// else is asked.
	Stock func(rev spec.Revision, s *Surroundings)
	// Found is called for each finding when it is known, one at a time.
	Found func(f *Finding)
	// Progress is called now and then.
	Progress func(s Status)
}

// Status is how far the search has come.
type Status struct {
	Cases, Requests int64
	Novel           int64
	Findings        int
	Took            time.Duration
	// Servers is how many were started, or how many sessions there were, and
	// Messages how many frames went in both directions, with all that it took to
	// make findings small and sure.
	Servers, Messages int64
	// Busy says what is done beside the search, "" for nothing.
	Busy string
}

// Report is what came of the search.
type Report struct {
	Status
	Findings  []*Finding
	Revisions []spec.Revision
	// Incomplete is why the search ended before its time, "" where it did not.
	Incomplete string
}

// ErrUnspoken says that no revision could be spoken with the server.
var ErrUnspoken = errors.New("the server completed the handshake in none of the revisions")

func (o Options) withDefaults() Options {
	if o.Jobs <= 0 {
		o.Jobs = 4 * runtime.NumCPU()
	}
	if len(o.Revisions) == 0 {
		o.Revisions = spec.HandshakeRevisions()
	}
	if o.Policy.Policy == "" {
		o.Policy.Policy = inventory.CallSafe
	}
	if o.Timeout <= 0 {
		o.Timeout = client.DefaultTimeout
	}
	if o.Start <= 0 {
		o.Start = client.DefaultStartTimeout
	}
	if o.Shrink == (Budget{}) {
		o.Shrink = Budget{Time: 20 * time.Second, Tries: 400}
	}
	if o.Time <= 0 && o.Cases <= 0 {
		o.Time = time.Minute
	}
	return o
}
