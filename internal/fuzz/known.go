package fuzz

// mostFindings limits how many findings are shrunk and reported.
const mostFindings = 60

// mostAlike limits in how many methods one mistake is reported.
const mostAlike = 3

// mostDoubts is how often a sighting is retried that does not recur.
const mostDoubts = 3

// known is what the search knows about the findings with one key.
type known struct {
	// claimed: it is being followed up, or was.
	claimed bool
	// doubtful is the first that did not recur, until one does; doubts is their
	// number.
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

// doubt records a finding that did not recur. It is kept until another script
// shows it better, which may be tried mostDoubts times.
func (s *search) doubt(f *Finding) bool {
	if !f.Flaky() {
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

// claim reports whether the caller must follow up a sighting, and reserves it.
func (s *search) claim(sight *Sighting) bool {
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
func (s *search) claimable(sight *Sighting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(sight.Key())
}

// open reports whether a sighting may be followed up; the caller holds the
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
			if other.Requirement == key.Requirement && other.Summary == key.Summary {
				alike++
			}
		}
	}
	return claimed < mostFindings && alike < mostAlike
}

// opinion reports whether a selected law gives only notes.
func (s *search) opinion(law string) bool {
	for i := range s.Laws {
		if s.Laws[i].ID == law {
			return s.Laws[i].Opinion
		}
	}
	return false
}
