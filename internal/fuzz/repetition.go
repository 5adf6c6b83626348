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

var errUnreadable = errors.New("memory can be measured only on Linux, for a server process that is started and reached over stdio")

// repetitionLaws reports whether some selected laws judge repeated requests, and
// whether only such laws are selected.
func (s *search) repetitionLaws() (some, only bool) {
	only = len(s.Laws) > 0
	for i := range s.Laws {
		some = some || s.Laws[i].RepeatsRequests
		only = only && s.Laws[i].RepeatsRequests
	}
	return some, only
}

// repeatsRequest reports whether the scripts of a round repeat a request.
func (s *search) repeatsRequest(round uint64) bool {
	some, only := s.repetitionLaws()
	return some && !s.unreadable.Load() && (only || round%repeatEvery == 0)
}

// lockRepetition waits, if the script repeats a request, until no other worker does,
// because a growing server needs memory. The caller must call the returned
// function when the script is done.
func (s *search) lockRepetition(sc *script.Script) (end func()) {
	if !slices.ContainsFunc(sc.Operations, func(o script.Operation) bool { return o.Do == script.Repeat }) {
		return func() {}
	}
	s.repeating.Lock()
	return s.repeating.Unlock
}

// checkMemoryReadable stops measuring if the server's memory cannot be measured
// over the transport.
func (s *search) checkMemoryReadable() {
	if some, _ := s.repetitionLaws(); some && s.Dialer.Transport() != spec.Stdio {
		s.stopMeasuring()
	}
}

// stopMeasuring ends the measurements, and the search if it does nothing else.
func (s *search) stopMeasuring() {
	s.unreadable.Store(true)
	if _, only := s.repetitionLaws(); only {
		s.stopSearch(errUnreadable)
	}
}

// recordRepetition reports whether a script repeated a request. Such a script is
// not worth varying. If the memory could not be measured, no more is.
func (s *search) recordRepetition(x *Execution) bool {
	repeated := false
	for _, t := range x.Conversations {
		for _, g := range t.Growths {
			if repeated = true; g.Unreadable {
				s.stopMeasuring()
			}
		}
	}
	return repeated
}
