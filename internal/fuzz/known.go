package fuzz

// mostFindings limits how many findings are shrunk and reported.
const mostFindings = 60

// mostAlike limits the number of methods for which the same mistake is
// reported.
const mostAlike = 3

// mostDoubts is the number of findings with one key that did not recur, after
// which no more of its candidates are followed up.
const mostDoubts = 3

// known is the state of the findings with one key.
type known struct {
	// claimed reports whether a candidate is being followed up, or was.
	claimed bool
	// doubtful is the first finding that did not recur, until one does. doubts
	// is the number of findings that did not recur.
	doubtful *Finding
	doubts   int
}

// report adds a finding to the report.
func (s *search) report(f *Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.known[f.Key()]; k != nil {
		k.doubtful = nil
	}
	s.findings = append(s.findings, f)
	if s.Found != nil {
		s.Found(f)
	}
}

// doubt records a finding that did not recur, and reports whether it is held
// back. It is kept until another script shows the same finding reliably.
func (s *search) doubt(f *Finding) bool {
	if f.Recurred() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[f.Key()]
	if k.doubtful == nil {
		k.doubtful = f
	}
	k.doubts++
	k.claimed = k.doubts >= mostDoubts
	return true
}

// claim reserves a candidate, and reports whether the caller must follow it up.
func (s *search) claim(sight *Candidate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open(sight.Key()) {
		return false
	}
	if s.known[sight.Key()] == nil {
		s.known[sight.Key()] = &known{}
	}
	s.known[sight.Key()].claimed = true
	return true
}

// claimable reports whether claim would succeed.
func (s *search) claimable(sight *Candidate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(sight.Key())
}

// open reports whether a candidate may be followed up. The caller holds the
// lock.
func (s *search) open(key Key) bool {
	claimed, alike := 0, 0
	for other, k := range s.known {
		switch {
		case !k.claimed:
		case other == key:
			return false
		default:
			claimed++
			if other.Mistake == key.Mistake {
				alike++
			}
		}
	}
	return claimed < mostFindings && alike < mostAlike
}

// wantsNotes reports whether a law is selected that gives only notes.
func (s *search) wantsNotes(law string) bool {
	for i := range s.Laws {
		if s.Laws[i].ID == law {
			return s.Laws[i].Opinion
		}
	}
	return false
}
