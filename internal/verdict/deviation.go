package verdict

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// NoticeTime is how long a server may take to announce a change before its
// silence counts as a failure. No revision sets a time, and a server that watches
// files, or polls them, gathers changes before it announces them.
const NoticeTime = 3 * time.Second

// A Weight limits the outcome of a deviation; a greater weight is a stricter limit. No weight
// raises the outcome above the grade of the requirement.
type Weight int

// The weights.
const (
	// Full sets no limit in addition to the grade of the requirement.
	Full Weight = iota
	// AtMostWarning allows at most a warning, because the observation proves nothing more severe.
	AtMostWarning
	// OnlyNote allows at most a note: what was observed is unusual, but permitted.
	OnlyNote
)

// A Deviation is an observation by a case or a rule that a requirement does not
// permit, before it is confirmed.
type Deviation struct {
	Requirement string
	// Summary says in one constant sentence what went wrong; two deviations of one judge with the
	// same requirement and summary are the same finding.
	Summary   string
	Permitted string // everything that the requirement permits
	Seen      string // the observation
	// Fix is how to fix it, in one sentence, if the usual fix of the requirement does not suit this
	// observation; "" if it does.
	Fix string
	At  []int // positions of the evidence in the transcript
	// Pointer is the JSON pointer (RFC 6901) of the offending value in the message
	// at the last position of At, if known.
	Pointer string
	// Earlier is the JSON pointer of a value that reports mark in the messages before the last position
	// of At, such as the capabilities that do not declare what the server does, or the param by which
	// the client provoked it; "" if there is none.
	Earlier string
	// Header is the name of the request header that the deviation is about, so that reports can
	// mark it; "" if the deviation is not about a header.
	Header string
	Weight Weight
}

// Outcome returns the outcome that the deviation has in revision r if retries reproduce it. q is
// the requirement that it concerns.
func (d Deviation) Outcome(q *spec.Requirement, r spec.Revision) Outcome {
	grade := q.Grade(r)
	switch {
	case d.Weight == OnlyNote || grade == spec.GradeNote:
		return Note
	case d.Weight == AtMostWarning || grade == spec.GradeWarning:
		return Warning
	default:
		return Broken
	}
}
