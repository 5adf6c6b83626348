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

// Options configure a search.
type Options struct {
	Dialer transport.Dialer
	Laws   []Law
	// Revisions are the revisions to search; empty means all of the handshake
	// era.
	Revisions []spec.Revision
	Policy    inventory.Config
	// Time and Cases limit the search; zero means no limit.
	Time  time.Duration
	Cases int
	Seed  uint64
	// Jobs is how many scripts are played at once; default: four for each core,
	// because they mostly wait.
	Jobs int
	// Rate limits the requests per second; zero means no limit.
	Rate float64
	// Corpus is a folder that keeps new sequences from run to run, or "".
	Corpus string
	// Redact removes secrets from the corpus; nil removes none.
	Redact func([]byte) []byte
	// Timeout limits the wait for an expected response, Start that for the
	// response to initialize.
	Timeout, Start time.Duration
	// FirstStart is Start for the first session, which may include a download;
	// zero means Start.
	FirstStart time.Duration
	// Shrink limits the time to shrink one finding.
	Shrink Budget
	// Enough, if set, ends the search with the first finding for which it is
	// true.
	Enough func(f *Finding) bool
	// Operations limits the length of scripts; zero depends on the server.
	Operations int

	// Stock is called for each revision that the server speaks, before the
	// search begins.
	Stock func(rev spec.Revision, s *Surroundings)
	// Found is called for each finding, one at a time.
	Found func(f *Finding)
	// Progress is called periodically.
	Progress func(s Status)
}

// Status is the progress of the search.
type Status struct {
	Cases, Requests int64
	Novel           int64
	Findings        int
	Took            time.Duration
	// Servers is how many servers or sessions were started, and Messages how
	// many frames were sent in both directions, including shrinking and
	// retries.
	Servers, Messages int64
	// Busy describes what is done besides searching, or is "".
	Busy string
}

// Report is the result of the search.
type Report struct {
	Status
	Findings  []*Finding
	Revisions []spec.Revision
	// Incomplete is why the search ended early, or "".
	Incomplete string
}

// ErrUnspoken is the error if the server speaks none of the revisions.
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
