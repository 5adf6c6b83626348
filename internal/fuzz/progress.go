package fuzz

import (
	"sync"
	"sync/atomic"
	"time"
)

// progressEvery is how often the progress is reported.
const progressEvery = 500 * time.Millisecond

// saveEvery is how often the corpus is saved, so that a search that is killed loses little.
const saveEvery = 2 * time.Minute

// counts are the numbers of a search so far. Cases and requests leave out shrinking and retries,
// and include the scripts in progress.
type counts struct {
	cases, requests, novel, servers, messages atomic.Int64
}

// status returns the progress so far.
func (s *search) status() Status {
	n := s.executor.counts
	return Status{
		Cases: n.cases.Load(), Requests: n.requests.Load(), Novel: n.novel.Load(), Findings: s.claims.countReported(),
		Took: time.Since(s.started), Servers: n.servers.Load(), Messages: n.messages.Load(), Busy: s.activities.firstActivity(),
	}
}

// tick reports the progress and saves the corpus periodically, until the channel over is closed.
// When it returns, it closes the channel done.
func (s *search) tick(over, done chan struct{}) {
	defer close(done)
	ticker, saving := time.NewTicker(progressEvery), time.NewTicker(saveEvery)
	defer ticker.Stop()
	defer saving.Stop()
	for {
		select {
		case <-saving.C:
			if s.Corpus != "" {
				_ = s.novelty.save(s.Corpus, s.Redact) // the save at the end of the search reports errors
			}
		case <-ticker.C:
			if s.Progress != nil {
				s.Progress(s.status())
			}
		case <-over:
			return
		}
	}
}

// activities counts the workers by what they do besides searching.
type activities struct {
	mu      sync.Mutex
	workers map[string]int
}

// begin records that a worker begins an activity, which ends when the returned function is called.
func (a *activities) begin(activity string) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.workers[activity]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.workers[activity]--
	}
}

// firstActivity returns the alphabetically first activity of a worker, or "" if all workers search.
func (a *activities) firstActivity() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := ""
	for activity, n := range a.workers {
		if n > 0 && (first == "" || activity < first) {
			first = activity
		}
	}
	return first
}
