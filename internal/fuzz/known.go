package fuzz

// mostFindings bounds what is shrunk and reported.
const mostFindings = 60

// mostAlike bounds the methods in which one mistake is reported.
const mostAlike = 3

// report adds a finding to those that are known.
func (s *search) report(f *Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doubtful, f.Key())
	s.findings = append(s.findings, f)
	if s.Found != nil {
		s.Found(f)
	}
}

// doubtful is what was seen and did not come back.
type doubtful struct {
	finding *Finding
	times   int
}

// mostDoubts is how often something is looked into that does not come back.
const mostDoubts = 3

// doubt reports true for a finding that did not come back and may be seen again
// by another script that shows it better. Until then it is kept.
func (s *search) doubt(f *Finding) bool {
	if !f.Flaky() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.doubtful[f.Key()]
	if d == nil {
		d = &doubtful{finding: f}
		s.doubtful[f.Key()] = d
	}
	if d.times++; d.times < mostDoubts {
		delete(s.claimed, f.Key())
		s.alike[f.mistake()]--
	}
	return true
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

// claim reports whether nobody looks into the same finding yet.
func (s *search) claim(sight *Sighting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open(sight) {
		return false
	}
	s.claimed[sight.Key()] = true
	s.alike[sight.mistake()]++
	return true
}

// claimable is what claim would report.
func (s *search) claimable(sight *Sighting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(sight)
}

// open reports whether a sighting may be looked into; the caller holds the lock.
func (s *search) open(sight *Sighting) bool {
	return !s.claimed[sight.Key()] && len(s.claimed) < mostFindings && s.alike[sight.mistake()] < mostAlike
}
