package fuzz

import (
	"errors"
	"runtime"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// Options configure a search.
type Options struct {
	Dialer transport.Dialer
	Laws   []Law
	// Revisions are the revisions to search. Empty means all.
	Revisions []spec.Revision
	// Discounts are the discounts of the run that the search is part of; nil means that the search
	// has its own.
	Discounts *discount.Run
	Policy    inventory.Config
	// Time limits the duration of the search, and Cases the number of scripts. Zero means no limit,
	// but if both are zero, Time is one minute.
	Time  time.Duration
	Cases int
	Seed  uint64
	Shard Shard // the part that this process searches
	// Jobs is the number of scripts that are played concurrently. The default is
	// four for each core, because scripts mostly wait.
	Jobs int
	// Rate limits the requests per second. Zero means no limit.
	Rate float64
	// Corpus is a folder that keeps, between searches, the sequences that produced something new;
	// "" for none. Several processes may use it at the same time.
	Corpus string
	// Redact removes secrets from the corpus. If it is nil, none are removed.
	Redact func([]byte) []byte
	// Timeout limits the wait for an expected response, and Start the wait for
	// the response to initialize.
	Timeout, Start time.Duration
	// FirstStart replaces Start for the first session, because the server may have to be
	// downloaded. Zero means Start.
	FirstStart time.Duration
	// Shrink limits the shrinking of one finding.
	Shrink Budget
	// StopAt, if set, ends the search after the first finding for which it
	// returns true.
	StopAt func(f *Finding) bool
	// Operations limits the number of operations of a script. Zero means no limit other than the
	// search's own.
	Operations int

	// Probed, if set, is called for each revision that the server speaks, before the search begins.
	Probed func(rev spec.Revision, s *ServerInfo)
	// Found, if set, is called for each finding, one at a time.
	Found func(f *Finding)
	// Progress, if set, is called periodically.
	Progress func(s Status)
}

// Status describes the progress of a search.
type Status struct {
	Cases, Requests int64
	Novel           int64
	Findings        int
	Took            time.Duration
	// Servers is the number of servers or sessions that were started, and
	// Messages the number of frames in both directions, including shrinking and
	// retries.
	Servers, Messages int64
	// Busy describes what the search does besides playing new scripts, such as shrinking a finding,
	// or is "".
	Busy string
}

// Report is the result of a search.
type Report struct {
	Status
	Findings  []*Finding
	Revisions []spec.Revision
	// Incomplete is the reason why the search ended early, or "".
	Incomplete string
}

// ErrNotSpoken is returned if the server speaks none of the revisions.
var ErrNotSpoken = errors.New("the server completed the handshake in none of the revisions")

func (o Options) withDefaults() Options {
	if o.Jobs <= 0 {
		o.Jobs = 4 * runtime.NumCPU()
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
		o.Shrink = Budget{Time: 20 * time.Second, Attempts: 400}
	}
	if o.Time <= 0 && o.Cases <= 0 {
		o.Time = time.Minute
	}
	return o
}
