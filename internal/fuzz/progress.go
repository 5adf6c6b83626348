package fuzz

import (
	"time"
)

// progressEvery is how often the progress is reported.
const progressEvery = 500 * time.Millisecond

func (s *search) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Cases: s.cases.Load(), Requests: s.requests.Load(), Novel: s.novel.Load(), Findings: len(s.findings), Took: time.Since(s.started),
		Servers: s.servers.Load(), Messages: s.messages.Load(),
	}
	for what, n := range s.busy {
		if n > 0 && (st.Busy == "" || what < st.Busy) {
			st.Busy = what
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

// doing records what the search does besides playing scripts, until the
// returned function is called.
func (s *search) doing(what string) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[what]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy[what]--
	}
}
