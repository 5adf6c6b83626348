package fuzz

// mostFindings bounds what is shrunk and reported.
const mostFindings = 60

// mostAlike bounds the methods in which one mistake is reported.
const mostAlike = 3

// mostDoubts is how often something is looked into that does not come back.
const mostDoubts = 3

// known is what the search knows of findings with one key.
type known struct {
	// claimed: it is looked into, or was to the end.
	claimed bool
	// doubtful is the first that did not come back, until one does; doubts counts
	// them.
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

// doubt reports whether a finding did not come back. It is kept until another
// script shows it better, which may be tried until there were too many doubts.
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

// claim reports whether a sighting is to be looked into, by the caller alone.
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

// claimable reports what claim would.
func (s *search) claimable(sight *Sighting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(sight.Key())
}

// open reports whether a sighting may be looked into; the caller holds the lock.
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

// opinion reports whether a law was asked for whose breaches are notes.
func (s *search) opinion(law string) bool {
	for i := range s.Laws {
		if s.Laws[i].ID == law {
			return s.Laws[i].Opinion
		}
	}
	return false
}
