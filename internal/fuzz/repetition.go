package fuzz

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/script"
)

// repeatEvery is the interval, in rounds, at which scripts repeat a request if laws about something
// else are selected, too.
const repeatEvery = 16

var errUnreadable = errors.New("memory can be measured only on Linux, for a server process that is started and reached over stdio")

// repetition says which scripts repeat a request, to measure the server's memory.
type repetition struct {
	// some is set if at least one selected law judges repeated requests; the other field is set if
	// all selected laws do.
	some, only bool
	// measuring is locked while a request is repeated. unreadable is set if the server's memory
	// cannot be measured.
	measuring  *locks.RWMutex
	unreadable atomic.Bool
}

func newRepetition(laws []Law) *repetition {
	r := &repetition{only: len(laws) > 0, measuring: locks.NewRWMutex()}
	for i := range laws {
		r.some = r.some || laws[i].RepeatsRequests
		r.only = r.only && laws[i].RepeatsRequests
	}
	return r
}

// isDue reports whether the scripts of a round repeat a request.
func (r *repetition) isDue(round uint64) bool {
	return r.some && !r.unreadable.Load() && (r.only || round%repeatEvery == 0)
}

// lockIfRepeating returns at once unless the script repeats a request. Otherwise it waits until no
// other worker repeats one, because a server may use much memory during a repetition, and several
// such servers might exhaust it. The caller must call the returned function when the script is
// done.
func (r *repetition) lockIfRepeating(sc *script.Script) (end func()) {
	if !slices.ContainsFunc(sc.Operations, func(o script.Operation) bool { return o.Do == script.Repeat }) {
		return func() {}
	}
	r.measuring.Lock()
	return r.measuring.Unlock
}

// record reports whether the script of an execution repeated a request. Such a script is not worth
// varying. If the memory could not be measured, record also makes isDue return false from now on.
func (r *repetition) record(x *Execution) bool {
	repeated := false
	for _, t := range x.Conversations {
		for _, g := range t.Growths {
			if repeated = true; g.Unreadable {
				r.unreadable.Store(true)
			}
		}
	}
	return repeated
}

// isOver reports whether nothing is left to search for: all laws are about memory, and memory
// cannot be measured.
func (r *repetition) isOver() bool { return r.only && r.unreadable.Load() }
