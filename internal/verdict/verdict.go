// Package verdict holds the types that reporters read: findings, verdicts
// and the report of a run.
package verdict

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Outcome is what is said of a requirement in a revision over a transport.
// The order is by severity: of several outcomes the most severe counts.
type Outcome int

// The outcomes, lightest first.
const (
	NotApplicable Outcome = iota // the server does not offer what the requirement is about
	NotObserved                  // nothing came up by which to judge
	Kept                         // it came up and was kept
	Blocked                      // another finding kept it from being judged
	Note                         // remarkable, and no fault
	Warning                      // a SHOULD, or a rule of weak basis, was not kept
	Flaky                        // seen, and not whenever it was tried again
	Unconfirmed                  // seen, and it could not be tried again
	Broken                       // a MUST was not kept, and that was reproduced
	HarnessError                 // the harness itself failed
)

var outcomeNames = [...]string{"not applicable", "not observed", "kept", "blocked", "note", "warning", "flaky", "unconfirmed", "broken", "harness error"}

// String returns the outcome's name, as it stands in reports.
func (o Outcome) String() string { return outcomeNames[o] }

// MarshalText writes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Outcomes returns all outcomes, the most severe first.
func Outcomes() []Outcome {
	return []Outcome{HarnessError, Broken, Unconfirmed, Flaky, Warning, Note, Blocked, Kept, NotObserved, NotApplicable}
}

// Evidence is one event of a transcript that shows a finding.
type Evidence struct {
	Direction string `json:"direction"` // ">" to the server, "<" from it, "!" stderr or process
	Position  int    `json:"position"`  // of the event in the transcript, from 0
	Text      string `json:"text"`      // the bytes; may be hostile, reporters must escape it
	Size      int64  `json:"size"`      // of the whole frame in bytes; more than len(Text) when cut
	Offending bool   `json:"offending"`
	// Label says in a few words what the event is, such as the method of a
	// request; what it takes from the server may be hostile.
	Label string `json:"label,omitempty"`
	// Skipped is how many bytes of the frame stand before Text.
	Skipped int64 `json:"skipped,omitempty"`
	// Mark is what offends in Text, where that is known more closely.
	Mark *Span `json:"mark,omitempty"`
}

// Span is a part of a text, in bytes from its beginning.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"` // the byte after the last
}

// Finding is one observed deviation.
type Finding struct {
	ID          string         `json:"id"` // F1, F2, … in the order of the report
	Requirement string         `json:"requirement"`
	Level       spec.Level     `json:"level"`
	Basis       spec.Basis     `json:"basis"`
	Revision    spec.Revision  `json:"revision"`
	Transport   spec.Transport `json:"transport"`
	Judge       string         `json:"judge"` // id of the case or rule that saw it
	Outcome     Outcome        `json:"outcome"`
	Summary     string         `json:"summary"`   // one constant sentence: what went wrong
	Permitted   string         `json:"permitted"` // everything that would have been right
	Seen        string         `json:"seen"`      // the one thing that was seen; may be hostile
	Evidence    []Evidence     `json:"evidence"`
	Context     []Evidence     `json:"context,omitempty"` // other events of the same conversation: its beginning, and those around the evidence
	Page        string         `json:"page"`
	Replay      []string       `json:"replay"`          // argv that shows it again
	Tries       int            `json:"tries"`           // how often it was tried again, alone on a fresh server
	Reproduced  int            `json:"reproduced"`      // and how often it came back
	Void        int            `json:"void,omitempty"`  // how often it could not be tried, as no fresh server came up: not among Tries
	Known       string         `json:"known,omitempty"` // why it is known, from the baseline; may be any text
	// SDK says that the finding is behaviour of the SDK, nil where that is not known.
	SDK *SDKFinding `json:"sdk,omitempty"`
	// Play is the command that holds the conversation again from a replay file,
	// where there is one.
	Play []string `json:"play,omitempty"`
	// Group is the id of the finding that names the cause, where several have
	// the same; of that finding itself, too.
	Group string `json:"group,omitempty"`
	// Script tells what a search sent: in the first line how much that is, then a
	// line for each operation, and for what the client did by itself.
	Script []string `json:"script,omitempty"`
}

// SDKFinding says in which SDK a finding is known.
type SDKFinding struct {
	Name     string `json:"name"`            // of the SDK
	Versions string `json:"versions"`        // in which it is known, as 1.25.0 to 1.32.2
	Note     string `json:"note"`            // one sentence: what the SDK does
	Issue    string `json:"issue,omitempty"` // address of its report, where that is known
}

// String says in which versions of which SDK the finding is known, and where it
// is reported.
func (s *SDKFinding) String() string {
	text := "known in " + s.Name + " " + s.Versions
	if s.Issue != "" {
		text += " (" + s.Issue + ")"
	}
	return text
}

// Verdict is what is said of one requirement in one revision over one transport.
type Verdict struct {
	Requirement string         `json:"requirement"`
	Area        string         `json:"area"`
	Level       spec.Level     `json:"level"`
	Revision    spec.Revision  `json:"revision"`
	Transport   spec.Transport `json:"transport"`
	Outcome     Outcome        `json:"verdict"`
	Reason      string         `json:"reason,omitempty"`    // for not applicable, not observed, blocked, harness error
	Gap         Gap            `json:"-"`                   // of the reason
	BlockedBy   string         `json:"blockedBy,omitempty"` // id of the finding that kept it from being judged, where that is known
	Findings    []string       `json:"findings,omitempty"`  // ids
	Judges      []string       `json:"judges"`              // cases and rules that had a say
	Lacks       string         `json:"lacks,omitempty"`     // what was not observed would be, with this in the configuration file
	Known       string         `json:"known,omitempty"`     // why the deviation is known, from the baseline: it fails no run
	// AcceptedSDK says that it is known because the run accepts what is known of
	// the SDK, and not from the baseline.
	AcceptedSDK bool `json:"acceptedSDK,omitempty"`
}

// Server is how the server introduces itself.
type Server struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// ReportFormat is the version of the report's form; it grows when a reader of an
// older form would misread a newer one.
const ReportFormat = 2

// Report is the outcome of a run.
type Report struct {
	Format     int             `json:"format"` // of this document; grows when a reader would misread it
	Tool       string          `json:"tool"`
	Version    string          `json:"version"`
	Target     string          `json:"target"` // as shown to people, secrets redacted
	Transport  spec.Transport  `json:"transport"`
	Server     Server          `json:"server"`
	SDK        string          `json:"sdk,omitempty"` // name and version of the SDK that the server is built with, where it was recognised
	Seed       uint64          `json:"seed"`
	Revisions  []spec.Revision `json:"revisions"`            // those judged, newest first
	NotSpoken  []NotSpoken     `json:"notSpoken"`            // those asked for that the server does not speak
	Verdicts   []Verdict       `json:"verdicts"`             // the newest revision first, then in the order of the catalogue
	Findings   []Finding       `json:"findings"`             // most severe first
	NotJudged  int             `json:"notJudged"`            // testable requirements that no case or rule judges yet
	Notices    []string        `json:"notices"`              // what the user should know about this run
	Incomplete string          `json:"incomplete,omitempty"` // why the run ended before its time
	FailOn     string          `json:"failOn,omitempty"`     // what fails the run: must (what is broken), should (warnings, too)
	Baseline   string          `json:"baseline,omitempty"`   // the file of known findings that the run was compared with
	Stale      []Stale         `json:"stale,omitempty"`      // its entries that are true no more; they fail the run
	// Artifact is a file of the repository that stands for the server where a
	// reader wants a place in the code; its path from the repository's root.
	Artifact string `json:"artifact,omitempty"`
	Stats    Stats  `json:"stats"`
}

// NotSpoken is a revision that the server does not speak.
type NotSpoken struct {
	Revision spec.Revision `json:"revision"`
	Reason   string        `json:"reason"`
}

// Stats are the only part of a report that differs between two equal runs.
type Stats struct {
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"tookNanoseconds"`
	Servers  int           `json:"serverStarts"`
	Cases    int           `json:"casesRun"` // to their end
	Messages int           `json:"messages"` // frames in both directions
}

// Count returns how many verdicts of revision r have outcome o.
func (p *Report) Count(r spec.Revision, o Outcome) int {
	n := 0
	for i := range p.Verdicts {
		if p.Verdicts[i].Revision == r && p.Verdicts[i].Outcome == o {
			n++
		}
	}
	return n
}

// Worst returns the most severe outcome of the report, NotApplicable when it has
// no verdicts, and whether any verdict says more than that nothing could be
// judged: kept, a deviation, or that the harness failed.
func (p *Report) Worst() (Outcome, bool) {
	worst, judged := NotApplicable, false
	for i := range p.Verdicts {
		o := p.Verdicts[i].Outcome
		worst = max(worst, o)
		judged = judged || o >= Kept && o != Blocked
	}
	return worst, judged
}
