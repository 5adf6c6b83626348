package fuzz

import (
	"maps"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// maxFindings limits how many findings are shrunk and reported.
const maxFindings = 60

// maxMethods limits the number of methods for which the same mistake is reported.
const maxMethods = 3

// maxMisses is how many findings with the same key may fail to recur before further candidates with
// that key are ignored.
const maxMisses = 3

// claims records what happened to the candidates of a search, so that no two workers investigate
// the same candidate. Its methods may be called concurrently.
type claims struct {
	found func(*Finding) // called for each finding, or nil

	mu       sync.Mutex
	states   map[verdict.SearchKey]*candidateState
	findings []*Finding
}

// candidateState is the state of the candidates with one key.
type candidateState struct {
	// claimed is set if a worker has claimed a candidate, so that no other worker may.
	claimed bool
	// flaky is the first finding that did not recur; nil if there is none, or if another finding
	// with the key has recurred. misses is the number of findings that did not recur.
	flaky  *Finding
	misses int
}

// addFinding adds a finding to the report. A finding with the same key that was held back is
// dropped.
func (c *claims) addFinding(f *Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state := c.states[f.Key()]; state != nil {
		state.flaky = nil
	}
	c.findings = append(c.findings, f)
	if c.found != nil {
		c.found(f)
	}
}

// countReported returns how many findings were added to the report.
func (c *claims) countReported() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.findings)
}

// holdBack reports whether the finding did not recur, and in that case holds it back: it is
// reported at the end, unless another script shows it reliably. Until maxMisses findings with the
// key have failed to recur, another candidate with the key can be claimed.
func (c *claims) holdBack(f *Finding) bool {
	if f.Recurred() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.states[f.Key()]
	if state.flaky == nil {
		state.flaky = f
	}
	state.misses++
	state.claimed = state.misses >= maxMisses
	return true
}

// reportHeldBack reports the findings that were held back, in the order of their keys.
func (c *claims) reportHeldBack() {
	for _, key := range slices.SortedFunc(maps.Keys(c.states), verdict.SearchKey.Compare) {
		if f := c.states[key].flaky; f != nil {
			c.addFinding(f)
		}
	}
}

// claim reports whether the caller must shrink and retry the candidate with the key. If so, no
// other worker may do that.
func (c *claims) claim(key verdict.SearchKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isOpen(key) {
		return false
	}
	if c.states[key] == nil {
		c.states[key] = &candidateState{}
	}
	c.states[key].claimed = true
	return true
}

// isClaimable reports whether claim would succeed.
func (c *claims) isClaimable(key verdict.SearchKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isOpen(key)
}

// isOpen is isClaimable for callers that hold the lock.
func (c *claims) isOpen(key verdict.SearchKey) bool {
	claimed, sameMistake := 0, 0
	for other, state := range c.states {
		switch {
		case !state.claimed:
		case other == key:
			return false
		default:
			claimed++
			if other.Mistake == key.Mistake {
				sameMistake++
			}
		}
	}
	return claimed < maxFindings && sameMistake < maxMethods
}
