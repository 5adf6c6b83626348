package verdict

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// NoticeTime is how long a server may take to announce a change before its
// silence counts as a failure. No revision sets a time, and a server that watches
// files, or polls them, gathers changes before it announces them.
const NoticeTime = 3 * time.Second

// Weight softens what a deviation can be called below the grade of its
// requirement; it never hardens.
type Weight int

// The weights.
const (
	// Full: as heavy as the requirement's grade allows.
	Full Weight = iota
	// AtMostWarning: the part that was seen does not carry more.
	AtMostWarning
	// OnlyNote: remarkable, and no fault.
	OnlyNote
)

// Deviation is what a case or a rule saw that a requirement does not permit,
// before it is confirmed.
type Deviation struct {
	Requirement string
	// Summary says in one constant sentence what went wrong; two deviations
	// with the same requirement and summary are the same finding.
	Summary   string
	Permitted string // everything that would have been right
	Seen      string // the one thing that was seen
	At        []int  // positions in the transcript that show it
	// Pointer is the place (RFC 6901) in the message of the last of At that
	// shows it, where that is known.
	Pointer string
	// Header is the header of the request that the deviation is about, by which
	// a report marks it; "" where it is about none.
	Header string
	Weight Weight
}

// Outcome returns what the deviation is called in revision r, once it was
// reproduced.
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
