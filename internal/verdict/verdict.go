// Package verdict contains the types that reporters read: findings, verdicts and the report of a
// run. It also assembles reports, and decides how often a deviation is retried.
package verdict

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// An Outcome is the result for a requirement in a revision over a transport.
// Outcomes are ordered by severity: of several, the most severe counts.
type Outcome int

// The outcomes, least severe first.
const (
	NotApplicable Outcome = iota // the server does not offer what the requirement is about
	NotObserved                  // nothing was observed that would allow a judgement
	Kept                         // the requirement was observed and kept
	Blocked                      // another finding prevented the judgement
	Note                         // what was observed is unusual, but permitted
	Warning                      // a SHOULD, or a requirement with a weak basis, was not kept
	Flaky                        // a deviation was observed, but the retries did not reproduce it, or not often enough
	Unconfirmed                  // a deviation was observed, but could not be retried often enough
	Broken                       // a MUST was not kept, and the deviation was reproduced
	HarnessError                 // the harness itself failed
)

var outcomeNames = [...]string{"not applicable", "not observed", "kept", "blocked", "note", "warning", "flaky", "unconfirmed", "broken", "harness error"}

// String returns the outcome's name, as used in reports.
func (o Outcome) String() string { return outcomeNames[o] }

// MarshalText writes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Outcomes returns all outcomes, the most severe first.
func Outcomes() []Outcome {
	return []Outcome{HarnessError, Broken, Unconfirmed, Flaky, Warning, Note, Blocked, Kept, NotObserved, NotApplicable}
}

// Fails reports whether a test of the requirement fails with this outcome. A warning fails it only
// if strict is set. Callers must not call Fails for known findings, which never fail a test.
func (o Outcome) Fails(strict bool) bool { return o >= Unconfirmed || strict && o == Warning }

// Evidence is one event of a transcript that shows a finding.
type Evidence struct {
	Direction string `json:"direction"` // ">" to the server, "<" from it, "!" stderr or process
	Position  int    `json:"position"`  // the index of the event in the transcript, from 0
	Text      string `json:"text"`      // the bytes; untrusted, so reporters must escape them
	Size      int64  `json:"size"`      // the length of the whole frame in bytes; greater than len(Text) if Text is only a part
	Offending bool   `json:"offending"`
	// Label describes the event in a few words, such as the method of a request.
	// It may contain untrusted text from the server.
	Label string `json:"label,omitempty"`
	// Skipped is the number of bytes of the frame before Text.
	Skipped int64 `json:"skipped,omitempty"`
	// Mark is the offending part of Text, if it is known.
	Mark *Span `json:"mark,omitempty"`
}

// A Span is a part of a string, as byte offsets.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"` // the byte after the last
}

// A Finding is one observed deviation.
type Finding struct {
	ID          string         `json:"id"` // F1, F2, … in the order of the report
	Requirement string         `json:"requirement"`
	Level       spec.Level     `json:"level"`
	Basis       spec.Basis     `json:"basis"`
	Revision    spec.Revision  `json:"revision"`
	Transport   spec.Transport `json:"transport"`
	Judge       string         `json:"judge"`          // the id of the case or rule that reported it
	Case        string         `json:"case,omitempty"` // the id of the case during which the deviation was seen, or ""
	Outcome     Outcome        `json:"outcome"`
	Summary     string         `json:"summary"`       // one constant sentence: what went wrong
	Permitted   string         `json:"permitted"`     // everything that would have conformed
	Seen        string         `json:"seen"`          // the observation; untrusted
	Fix         string         `json:"fix,omitempty"` // how to fix it, if the usual fix of the requirement does not suit it
	Evidence    []Evidence     `json:"evidence"`
	Context     []Evidence     `json:"context,omitempty"` // other events of the same conversation: its beginning, and those around the evidence
	Page        string         `json:"page"`
	Replay      []string       `json:"replay"`          // the command line that reproduces the finding
	Tries       int            `json:"tries"`           // how often the finding was retried, alone on a fresh server
	Reproduced  int            `json:"reproduced"`      // how many retries reproduced it
	Void        int            `json:"void,omitempty"`  // retries in which no fresh server started; not counted in Tries
	Known       string         `json:"known,omitempty"` // why the finding is known, as the baseline says it; may be any string
	// CWE is the number of the weakness in https://cwe.mitre.org, 0 if the finding is not
	// about security.
	CWE int `json:"cwe,omitempty"`
	// SDK is set if the finding is known behaviour of the server's SDK, and nil otherwise.
	SDK *SDKFinding `json:"sdk,omitempty"`
	// Play is the command that replays the conversation from a replay file, if
	// there is one.
	Play []string `json:"play,omitempty"`
	// Group is the id of the root finding if several findings have the same cause. In the root
	// itself it is the root's own id.
	Group string `json:"group,omitempty"`
	// Script lists what the fuzzer sent: first its size, then one line for each operation and for
	// each message that the client sent on its own.
	Script []string `json:"script,omitempty"`
}

// An SDKFinding says in which SDK a finding is known.
type SDKFinding struct {
	Name     string `json:"name"`            // the SDK's name
	Versions string `json:"versions"`        // the affected versions, such as 1.25.0 to 1.32.2
	Note     string `json:"note"`            // one sentence: what the SDK does
	Issue    string `json:"issue,omitempty"` // the URL of the SDK's issue about the behaviour, if known
}

// String returns the SDK, the affected versions, and the URL of the issue if it is known.
func (s *SDKFinding) String() string {
	text := "known in " + s.Name + " " + s.Versions
	if s.Issue != "" {
		text += " (" + s.Issue + ")"
	}
	return text
}

// A Verdict is the result for one requirement in one revision over one transport.
type Verdict struct {
	Requirement string         `json:"requirement"`
	Area        string         `json:"area"`
	Level       spec.Level     `json:"level"`
	Revision    spec.Revision  `json:"revision"`
	Transport   spec.Transport `json:"transport"`
	Outcome     Outcome        `json:"verdict"`
	Reason      string         `json:"reason,omitempty"`    // for not applicable, not observed, blocked, harness error
	Gap         Gap            `json:"-"`                   // classifies Reason
	BlockedBy   string         `json:"blockedBy,omitempty"` // id of the finding that prevented the judgement, if known
	Findings    []string       `json:"findings,omitempty"`  // ids
	Judges      []string       `json:"judges"`              // the ids of the cases and rules that judge the requirement
	Lacks       Setting        `json:"lacks,omitzero"`      // the setting that would make the requirement observable, if it was not observed
	LeftOut     bool           `json:"leftOut,omitempty"`   // a quick run skipped the requirement, which a whole run judges; Outcome is then NotObserved
	Known       string         `json:"known,omitempty"`     // why the deviation is known, as the baseline says it; a known deviation fails no run
	// AcceptedSDK reports whether the deviation is known because the run accepts known SDK
	// findings, not because of the baseline.
	AcceptedSDK bool `json:"acceptedSDK,omitempty"`
}

// A Server is the server's name and version, as it reports them.
type Server struct {
	Name    string `json:"name,omitempty" yaml:"name,omitempty"`
	Version string `json:"version,omitempty" yaml:"version,omitempty"`
}

// An Implementation is what the user says about the server, to be published.
type Implementation struct {
	Organization string   `json:"organization,omitempty" yaml:"organization,omitempty"`
	Project      string   `json:"project,omitempty" yaml:"project,omitempty"`
	URL          string   `json:"url,omitempty" yaml:"url,omitempty"`
	Version      string   `json:"version,omitempty" yaml:"version,omitempty"`
	Contact      []string `json:"contact,omitempty" yaml:"contact,omitempty"`
}

// ReportFormat is the version of the report's format. It is incremented when a
// reader of an older format would misread a newer report.
const ReportFormat = 2

// A Report is the result of a run.
type Report struct {
	Format    int            `json:"format"` // ReportFormat when the report was written
	Tool      string         `json:"tool"`
	Version   string         `json:"version"`
	Target    string         `json:"target"` // as shown to people, secrets redacted
	Transport spec.Transport `json:"transport"`
	Server    Server         `json:"server"`
	// Implementation is what the configuration file says about the server.
	Implementation Implementation  `json:"implementation,omitzero"`
	Command        []string        `json:"command,omitempty"` // the command line that reproduces the run; nil if nothing was judged
	SDK            string          `json:"sdk,omitempty"`     // name and version of the SDK that the server is built with, if recognized
	Seed           uint64          `json:"seed"`
	Revisions      []spec.Revision `json:"revisions"`            // the judged revisions, newest first
	NotSpoken      []NotSpoken     `json:"notSpoken"`            // requested revisions that the server does not speak
	Verdicts       []Verdict       `json:"verdicts"`             // by revision, newest first, then in the order of the catalogue
	Findings       []Finding       `json:"findings"`             // most severe first
	Security       *Security       `json:"security,omitempty"`   // the result of SecurityOf; nil until the report is written
	NotJudged      int             `json:"notJudged"`            // testable requirements that no case or rule judges yet
	Notices        []string        `json:"notices"`              // what the user should know about this run
	Incomplete     string          `json:"incomplete,omitempty"` // why the run did not judge all that was selected
	NeedsToken     bool            `json:"-"`                    // the run is incomplete because the server requires a token, and the run had none
	Narrowed       bool            `json:"narrowed,omitempty"`   // a focus or labels left requirements out
	Profiles       []ProfileResult `json:"profiles,omitempty"`   // the result of each profile that the run was limited to
	FailOn         string          `json:"failOn,omitempty"`     // what fails the run: must (broken requirements) or should (warnings, too)
	Gateway        *Gateway        `json:"gateway,omitempty"`    // what a gateway changes; nil if the server is not a gateway
	Baseline       string          `json:"baseline,omitempty"`   // the file of known findings that the run was compared with
	Stale          []StaleEntry    `json:"stale,omitempty"`      // baseline entries that no longer apply; they fail the run
	// Artifact is the path of a file, from the repository's root. Report formats in which each
	// finding needs a place in the code use this file.
	Artifact string `json:"artifact,omitempty"`
	Stats    Stats  `json:"stats"`
}

// A NotSpoken is a revision that the server does not speak.
type NotSpoken struct {
	Revision spec.Revision `json:"revision"`
	Reason   string        `json:"reason"`
}

// Stats are the numbers and times of a run. They are the only part of a report that differs between
// two identical runs.
type Stats struct {
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"tookNanoseconds"`
	Servers  int           `json:"serverStarts"` // how many servers were started; over HTTP, how many connections were opened
	Sessions int           `json:"sessions"`     // initialize requests that got a result
	Requests int           `json:"requests"`     // requests of the client
	Cases    int           `json:"casesRun"`     // cases that ran to completion
	Messages int           `json:"messages"`     // frames in both directions
	// Slow says where the time of a slow run went, and which settings would make the next one faster.
	Slow string `json:"slow,omitempty"`
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

// Worst returns the most severe outcome of the report, or NotApplicable if it has no verdicts. The
// second result reports whether anything was judged: at least one requirement was kept, or has a
// deviation or a harness error.
func (p *Report) Worst() (Outcome, bool) {
	worst, judged := NotApplicable, false
	for i := range p.Verdicts {
		o := p.Verdicts[i].Outcome
		worst = max(worst, o)
		judged = judged || o >= Kept && o != Blocked
	}
	return worst, judged
}
