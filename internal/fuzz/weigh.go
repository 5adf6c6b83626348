package fuzz

import (
	"errors"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// repeatEvery is which of the sequences repeat a request, where other laws are
// held beside those that need that.
const repeatEvery = 16

var errBlind = errors.New("how much memory the server has can only be told of a process that is started and reached over stdio, on Linux")

// asksWeight reports whether laws are held that judge repeated requests, and
// whether no others are.
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

// oneWeighs waits until nobody else repeats a request, where the script does, for
// a server that grows takes room; the function it returns gives way to the next.
func (s *search) oneWeighs(one *script.Script) (end func()) {
	if !slices.ContainsFunc(one.Operations, func(o script.Operation) bool { return o.Do == script.Repeat }) {
		return func() {}
	}
	s.weighing.Lock()
	return s.weighing.Unlock
}

// weigh ends the search where the server can't be weighed and nothing else is
// wanted.
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

// weighed reports whether a request was repeated, which is nothing to vary.
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
