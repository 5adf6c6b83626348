package fuzz

// maxFindings limits how many findings are shrunk and reported.
const maxFindings = 60

// maxMethods limits the number of methods for which the same mistake is reported.
const maxMethods = 3

// maxMisses is the number of candidates with one key that did not recur, after
// which no more of them are shrunk and retried.
const maxMisses = 3

// candidateState is the state of the candidates with one key.
type candidateState struct {
	// claimed is set if a candidate was claimed, and no other may be.
	claimed bool
	// flaky is the first finding that did not recur, until one does. misses is
	// the number of findings that did not recur.
	flaky  *Finding
	misses int
}

// report adds a finding to the report.
func (s *search) report(f *Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.states[f.Key()]; state != nil {
		state.flaky = nil
	}
	s.findings = append(s.findings, f)
	if s.Found != nil {
		s.Found(f)
	}
}

// holdBack reports whether the finding did not recur. Such a finding is reported
// at the end, unless another script shows it reliably.
func (s *search) holdBack(f *Finding) bool {
	if f.Recurred() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.states[f.Key()]
	if state.flaky == nil {
		state.flaky = f
	}
	state.misses++
	state.claimed = state.misses >= maxMisses
	return true
}

// claim reports whether the caller must shrink and retry the candidate. If so, no
// other worker may.
func (s *search) claim(c *Candidate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isOpen(c.Key()) {
		return false
	}
	if s.states[c.Key()] == nil {
		s.states[c.Key()] = &candidateState{}
	}
	s.states[c.Key()].claimed = true
	return true
}

// isClaimable reports whether claim would succeed.
func (s *search) isClaimable(c *Candidate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isOpen(c.Key())
}

// isOpen is isClaimable for callers that hold the lock.
func (s *search) isOpen(key Key) bool {
	claimed, sameMistake := 0, 0
	for other, state := range s.states {
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

// isUnspecified reports whether the law was selected although the specification
// does not state it.
func (s *search) isUnspecified(law string) bool {
	for i := range s.Laws {
		if s.Laws[i].ID == law {
			return s.Laws[i].Unspecified
		}
	}
	return false
}
