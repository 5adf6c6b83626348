package fuzz

import (
	"time"
)

// progressEvery is how often the progress is reported.
const progressEvery = 500 * time.Millisecond

// status returns the progress so far.
func (s *search) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Cases: s.cases.Load(), Requests: s.requests.Load(), Novel: s.novel.Load(), Findings: len(s.findings), Took: time.Since(s.started),
		Servers: s.serverStarts.Load(), Messages: s.messages.Load(),
	}
	for activity, n := range s.busy {
		if n > 0 && (st.Busy == "" || activity < st.Busy) {
			st.Busy = activity
		}
	}
	return st
}

// tick reports the progress until the search is over.
func (s *search) tick(over, done chan struct{}) {
	defer close(done)
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if s.Progress != nil {
				s.Progress(s.status())
			}
		case <-over:
			return
		}
	}
}

// setBusy records what a worker does besides searching, until the returned
// function is called.
func (s *search) setBusy(activity string) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[activity]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy[activity]--
	}
}
