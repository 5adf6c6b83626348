package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Format is the version of result.json and sweep.json.
const Format = 1

// An Outcome is the result of a sweep for one server.
type Outcome string

// The outcomes.
const (
	Kept        Outcome = "kept"        // no requirement is broken
	Broken      Outcome = "broken"      // a requirement is broken
	Incomplete  Outcome = "incomplete"  // the run ended early, or judged nothing
	Unreachable Outcome = "unreachable" // the server could not be started or reached
	Stopped     Outcome = "stopped"     // the server exceeded a limit
	Unusable    Outcome = "unusable"    // the list does not say how to start or reach it, or its run refused the arguments
	OptedOut    Outcome = "opted out"   // its operator does not want it to be judged
	Pending     Outcome = "pending"     // it was not judged yet
)

// outcomes are all outcomes, in the order of the summary.
var outcomes = []Outcome{Broken, Stopped, Unreachable, Incomplete, Unusable, OptedOut, Pending, Kept}

// Failed reports whether there is no verdict, but another attempt may yield one.
func (o Outcome) Failed() bool {
	return o == Incomplete || o == Unreachable || o == Stopped || o == Unusable
}

// A Result is what a sweep stores about one server.
type Result struct {
	Name    string  `json:"name"`
	Folder  string  `json:"folder"` // below servers/
	Outcome Outcome `json:"outcome"`
	Problem string  `json:"problem,omitempty"` // why there is no verdict; untrusted
	// Asked identifies the entry of the list, the flags and the version of mcp-conform. If
	// it has changed, the server is judged again.
	Asked     string                  `json:"asked"`
	Package   string                  `json:"package,omitempty"`        // such as npm:weather-mcp
	Published string                  `json:"packageVersion,omitempty"` // the version of the package in the registry
	Server    verdict.Server          `json:"server,omitzero"`          // as the server reports it; untrusted
	SDK       string                  `json:"sdk,omitempty"`            // name and version, if recognised
	Transport spec.Transport          `json:"transport,omitempty"`
	Revisions []spec.Revision         `json:"revisions,omitempty"`
	Profiles  []verdict.ProfileResult `json:"profiles,omitempty"`
	Counts    Counts                  `json:"counts"`
	Findings  []Finding               `json:"findings,omitempty"` // most severe first, each requirement once
	Reports   []string                `json:"reports,omitempty"`  // the files in its folder
	Seconds   float64                 `json:"seconds"`

	partial string    // the folder that its reports are in; "" if there is none
	paused  time.Time // see Handover.PauseEnd
}

// Counts counts the requirements that have findings. Each counts once, by its most severe finding.
type Counts struct {
	Broken   int `json:"broken"`
	Warnings int `json:"warnings"`
	Other    int `json:"other"` // flaky, not confirmed, notes
}

// A Finding is the most severe finding of a server on one requirement.
type Finding struct {
	Requirement string          `json:"requirement"`
	Level       spec.Level      `json:"level"`
	Outcome     verdict.Outcome `json:"verdict"`
	Summary     string          `json:"summary"`
	OfSDK       bool            `json:"ofSDK,omitempty"` // it is a known finding of the server's SDK
}

const (
	// maxReport limits the size of a report that is read, in bytes.
	maxReport = 256 << 20
	// maxFindings limits the findings of a result.
	maxFindings = 200
	// maxProblem limits the length of a problem, in bytes.
	maxProblem = 400
	// maxCause limits the length of the line of a server's stderr in a problem, in bytes.
	maxCause   = 200
	resultFile = "result.json"
	// writingPrefix begins the names of files that are being written.
	writingPrefix = ".writing-"
)

// readReport fills in the result from the report of the run.
func (r *Result) readReport(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	var report verdict.Report
	if err := json.NewDecoder(io.LimitReader(f, maxReport)).Decode(&report); err != nil {
		return err
	}
	r.Server, r.SDK, r.Transport = report.Server, report.SDK, report.Transport
	r.Server.Name, r.Server.Version = shorten(r.Server.Name, maxName), shorten(r.Server.Version, maxName)
	r.Revisions, r.Profiles = report.Revisions, report.Profiles
	if report.Incomplete != "" {
		r.Problem = shorten(report.Incomplete, maxProblem)
	}
	worst := map[string]*verdict.Finding{}
	for i := range report.Findings {
		f := &report.Findings[i]
		if known := worst[f.Requirement]; known == nil || f.Outcome > known.Outcome {
			worst[f.Requirement] = f
		}
	}
	for _, f := range worst {
		switch f.Outcome {
		case verdict.Broken:
			r.Counts.Broken++
		case verdict.Warning:
			r.Counts.Warnings++
		default:
			r.Counts.Other++
		}
		r.Findings = append(r.Findings, Finding{f.Requirement, f.Level, f.Outcome, f.Summary, f.SDK != nil})
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Outcome, a.Outcome), strings.Compare(a.Requirement, b.Requirement))
	})
	r.Findings = r.Findings[:min(len(r.Findings), maxFindings)]
	return nil
}

// belongsTo reports whether the result is one that a sweep wrote for this entry.
func (r *Result) belongsTo(e *Entry) bool {
	return r.Asked == e.asked && r.Name == e.Name && r.Folder == e.Folder && r.Outcome != Pending && slices.Contains(outcomes, r.Outcome)
}

// entryDigest returns a digest of an entry, the flags and the version of mcp-conform, see
// Result.Asked.
func entryDigest(e *Entry, flags []string, version string) string {
	h := sha256.New()
	text, _ := json.Marshal([]any{e.Name, string(e.text), flags, version}) // strings can always be encoded
	_, _ = h.Write(text)
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// readResult reads the result in the folder of a server. It returns nil if there is none.
func readResult(folder string) (*Result, error) {
	text, err := os.ReadFile(filepath.Join(folder, resultFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // not judged yet
	}
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, resultFile), err)
	}
	return &r, nil
}

// writeJSON writes value as JSON to the file at path, which appears complete or not at all.
func writeJSON(path string, value any) error {
	return writeAtomically(path, true, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(value)
	})
}

// writeAtomically writes a file under another name and renames it, so that it appears complete or
// not at all. If sync is set, it syncs the file before renaming it, which is needed for a file that
// can't be written again.
func writeAtomically(path string, sync bool, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), writingPrefix+"*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
	}
	return err
}
