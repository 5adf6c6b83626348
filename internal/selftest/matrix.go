package selftest

import (
	"cmp"
	"slices"
)

// A Matrix is the kill matrix: the outcome of each fault and each legal
// variation in each place in which it was tried.
type Matrix struct {
	Full bool     `json:"full"`
	Rows []Result `json:"rows"`
	// Stale are the exceptions that did not occur although their rows were
	// tried.
	Stale []Exception `json:"stale,omitempty"`
	// Servers is the number of servers that were started.
	Servers int `json:"servers"`
}

// Good reports whether all outcomes are as expected.
func (m *Matrix) Good() bool { return len(m.UnexpectedResults())+len(m.Stale) == 0 }

// UnexpectedResults returns the rows with unexpected outcomes.
func (m *Matrix) UnexpectedResults() []Result {
	return m.resultsWhere(func(r *Result) bool { return !r.Good() })
}

// RetriedResults returns the rows that had the expected outcome only when they were
// retried.
func (m *Matrix) RetriedResults() []Result {
	return m.resultsWhere(func(r *Result) bool { return r.First != nil })
}

func (m *Matrix) resultsWhere(f func(*Result) bool) []Result {
	var out []Result
	for i := range m.Rows {
		if f(&m.Rows[i]) {
			out = append(out, m.Rows[i])
		}
	}
	return out
}

// A Sum counts the outcomes of the faults and the legal variations of an area. Each fault and each
// variation counts once, by its most severe outcome, see bestFirst.
type Sum struct {
	Area          string `json:"area"`
	Faults        int    `json:"faults"`
	Killed        int    `json:"killed"`
	MisAttributed int    `json:"misAttributed"`
	Survived      int    `json:"survived"`
	Waiting       int    `json:"waiting"`
	Variations    int    `json:"variations"`
	Silent        int    `json:"silent"`
	FalseAlarms   int    `json:"falseAlarms"`
	Failed        int    `json:"failed"`
	// Excepted is the number of unexpected outcomes that are excepted.
	Excepted int `json:"excepted"`
}

// bestFirst orders the outcomes from best to worst. See rank: outcomes that are neither expected
// nor excepted rank after all others.
var bestFirst = []Outcome{Silent, Killed, NotYet, MisAttributed, Survived, FalseAlarm, Failed}

func rank(r *Result) int {
	n := slices.Index(bestFirst, r.Outcome)
	if !r.Good() {
		n += len(bestFirst)
	}
	return n
}

// Sums returns a sum for each area, in alphabetical order, and the sum of all
// areas.
func (m *Matrix) Sums() (areas []Sum, all Sum) {
	of := map[string]*Result{} // the row of each fault with the most severe outcome
	for i := range m.Rows {
		r := &m.Rows[i]
		if w := of[r.Fault]; w == nil || rank(r) > rank(w) {
			of[r.Fault] = r
		}
	}
	byArea := map[string]*Sum{}
	all.Area = "all"
	for _, r := range of {
		s := byArea[r.Area]
		if s == nil {
			s = &Sum{Area: r.Area}
			byArea[r.Area] = s
		}
		s.add(r)
		all.add(r)
	}
	for _, s := range byArea {
		areas = append(areas, *s)
	}
	slices.SortFunc(areas, func(a, b Sum) int { return cmp.Compare(a.Area, b.Area) })
	return areas, all
}

func (s *Sum) add(r *Result) {
	if r.Legal {
		s.Variations++
	} else {
		s.Faults++
	}
	if r.Excepted != "" {
		s.Excepted++
	}
	switch r.Outcome {
	case Killed:
		s.Killed++
	case MisAttributed:
		s.MisAttributed++
	case Survived:
		s.Survived++
	case NotYet:
		s.Waiting++
	case Silent:
		s.Silent++
	case FalseAlarm:
		s.FalseAlarms++
	case Failed:
		s.Failed++
	}
}

// Expected returns the matrix that a run should produce, without running
// anything.
func Expected(o Options) *Matrix {
	m := &Matrix{Full: o.Full}
	for _, j := range o.jobs() {
		r := j.newResult()
		switch reason := j.whyNotJudged(); {
		case reason != "":
			r.Outcome, r.By = NotYet, []string{reason}
		case r.Legal:
			r.Outcome = Silent
		default:
			r.Outcome = Killed
		}
		for _, e := range exceptions() {
			if e.appliesTo(&r, o.Full) {
				r.Outcome, r.Excepted = e.Outcome, e.Reason
			}
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}
