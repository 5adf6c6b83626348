package fuzz

import (
	"errors"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// repeatEvery is the interval, in rounds, of scripts that repeat a request, if
// other laws are selected too.
const repeatEvery = 16

var errBlind = errors.New("the memory of a server can be measured only on Linux, for a process that is started and reached over stdio")

// asksWeight reports whether some selected laws judge repeated requests, and
// whether all of them do.
func (s *search) asksWeight() (asked, alone bool) {
	alone = len(s.Laws) > 0
	for i := range s.Laws {
		asked = asked || s.Laws[i].Weighs
		alone = alone && s.Laws[i].Weighs
	}
	return asked, alone
}

// weighs reports whether the scripts of a round repeat a request.
func (s *search) weighs(round uint64) bool {
	asked, alone := s.asksWeight()
	return asked && !s.blind.Load() && (alone || round%repeatEvery == 0)
}

// lockMemoryUse waits, if the script repeats a request, until no other worker does,
// because a growing server needs memory. The caller must call the returned
// function when the script is done.
func (s *search) lockMemoryUse(one *script.Script) (end func()) {
	if !slices.ContainsFunc(one.Operations, func(o script.Operation) bool { return o.Do == script.Repeat }) {
		return func() {}
	}
	s.weighing.Lock()
	return s.weighing.Unlock
}

// weigh gives up measuring if the server's memory cannot be measured. If no
// other law is selected, that ends the search.
func (s *search) weigh() {
	if asked, _ := s.asksWeight(); asked && s.Dialer.Transport() != spec.Stdio {
		s.blinded()
	}
}

func (s *search) blinded() {
	s.blind.Store(true)
	if _, alone := s.asksWeight(); alone {
		s.stop(errBlind)
	}
}

// weighed reports whether a request was repeated in an outcome. Such an outcome
// is not worth varying.
func (s *search) weighed(o *Outcome) bool {
	repeated := false
	for _, t := range o.Conversations {
		for _, g := range t.Growths {
			if repeated = true; g.Blind {
				s.blinded()
			}
		}
	}
	return repeated
}
