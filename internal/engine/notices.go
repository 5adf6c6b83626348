package engine

import "sync"

// notices are what the user should know about a run.
type notices struct {
	progress Progress

	mu  sync.Mutex
	all []string
}

// add adds a notice and shows it.
func (n *notices) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
	n.progress.Notice(text)
}
