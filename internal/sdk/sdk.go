// Package sdk finds out from a server's files which SDK the server is built with, and marks the
// findings that the SDK causes.
package sdk

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/fixtures"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// An SDK is one entry of fixtures/sdks: a package that servers depend on.
type SDK struct {
	Name     string            `yaml:"name"`    // as reports show it
	Module   string            `yaml:"go"`      // its Go module, or ""
	Package  string            `yaml:"npm"`     // its npm package, or ""
	Goldens  map[string]string `yaml:"goldens"` // goldens of internal/realservers, each with the version of its SDK
	Findings []Finding         `yaml:"findings"`
}

// A Finding is a deviation that the SDK causes in every server built with it.
type Finding struct {
	Requirement string           `yaml:"requirement"`
	Revisions   []spec.Revision  `yaml:"revisions"`  // empty for all
	Transports  []spec.Transport `yaml:"transports"` // empty for all
	Since       string           `yaml:"since"`      // the first version in which a golden shows it
	Until       string           `yaml:"until"`      // the last such version
	// Shape must match the text that searchText returns: a line with Seen, and one for each event
	// of the evidence.
	Shape Pattern `yaml:"shape"`
	Note  string  `yaml:"note"`  // one sentence: what the SDK does
	Issue string  `yaml:"issue"` // URL of the issue, or "" if none is known
}

// Pattern is a regular expression.
type Pattern struct{ *regexp.Regexp }

// UnmarshalYAML reads the expression.
func (p *Pattern) UnmarshalYAML(n *yaml.Node) (err error) {
	p.Regexp, err = regexp.Compile("(?m)" + n.Value)
	return err
}

// All returns the SDKs of fixtures/sdks, which are embedded in the program. It
// panics if they are malformed, because that is a defect of the build.
var All = sync.OnceValue(func() []SDK {
	all, err := readSDKs(fixtures.SDKs)
	if err != nil {
		panic(fmt.Sprintf("the built-in list of SDKs is unreadable: %v", err))
	}
	return all
})

func readSDKs(fsys fs.FS) ([]SDK, error) {
	files, err := fs.Glob(fsys, "sdks/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []SDK
	var errs []error
	for _, file := range files {
		f, err := fsys.Open(file)
		if err != nil {
			return nil, err
		}
		var s SDK
		dec := yaml.NewDecoder(f)
		dec.KnownFields(true)
		err = errors.Join(dec.Decode(&s), f.Close())
		if err == nil {
			err = s.check()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
		all = append(all, s)
	}
	return all, errors.Join(errs...)
}

func (s *SDK) check() error {
	var errs []error
	for i := range s.Findings {
		f := &s.Findings[i]
		switch {
		case spec.Requirements().Lookup(f.Requirement) == nil:
			errs = append(errs, fmt.Errorf("there is no requirement %q", f.Requirement))
		case f.Note == "" || f.Shape.Regexp == nil:
			errs = append(errs, fmt.Errorf("%s: note and shape must not be empty", f.Requirement))
		case versionOf(f.Since) == nil || compareVersions(f.Since, f.Until) > 0:
			errs = append(errs, fmt.Errorf("%s: since %q and until %q are not a range of versions", f.Requirement, f.Since, f.Until))
		}
	}
	return errors.Join(errs...)
}

// Used is the SDK of a server, with its version.
type Used struct {
	SDK     *SDK
	Version string // such as 1.2.3
}

// String returns the name and version.
func (u *Used) String() string { return u.SDK.Name + " " + u.Version }

// MarkReport sets the field SDK of the report, and the field SDK of each finding that the SDK
// causes. It changes no verdict. A nil Used marks nothing.
func (u *Used) MarkReport(r *verdict.Report) {
	if u == nil {
		return
	}
	r.SDK = u.String()
	for i := range r.Findings {
		u.MarkFinding(&r.Findings[i])
	}
}

// MarkFinding sets the field SDK of a finding if the SDK causes the finding. A nil Used marks
// nothing.
func (u *Used) MarkFinding(f *verdict.Finding) {
	if u == nil {
		return
	}
	at := slices.IndexFunc(u.SDK.Findings, func(known Finding) bool { return known.matches(f, u.Version) })
	if at >= 0 {
		known := &u.SDK.Findings[at]
		f.SDK = &verdict.SDKFinding{Name: u.SDK.Name, Versions: known.versions(), Note: known.Note, Issue: known.Issue}
	}
}

// versions returns the range of versions that have the finding, as text.
func (f *Finding) versions() string {
	if f.Since == f.Until {
		return f.Since
	}
	return f.Since + " to " + f.Until
}

func (f *Finding) matches(seen *verdict.Finding, version string) bool {
	return f.Requirement == seen.Requirement &&
		(len(f.Revisions) == 0 || slices.Contains(f.Revisions, seen.Revision)) &&
		(len(f.Transports) == 0 || slices.Contains(f.Transports, seen.Transport)) &&
		compareVersions(f.Since, version) <= 0 && compareVersions(version, f.Until) <= 0 &&
		f.Shape.MatchString(searchText(seen))
}

// searchText returns the text that a Shape is matched against.
func searchText(f *verdict.Finding) string {
	lines := []string{f.Seen}
	for i := range f.Evidence {
		lines = append(lines, f.Evidence[i].Direction+" "+f.Evidence[i].Text)
	}
	return strings.Join(lines, "\n")
}

// Accept marks a verdict as known if the SDK causes all of its findings that are at least a
// warning. If the server itself causes one of them, the verdict still counts.
func Accept(r *verdict.Report) {
	reasons, own, accepted := map[verdict.Place]string{}, map[verdict.Place]bool{}, map[verdict.Place]bool{}
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.SDK == nil:
			own[f.Place()] = own[f.Place()] || f.Outcome >= verdict.Warning
		case reasons[f.Place()] == "":
			reasons[f.Place()] = f.SDK.String()
		}
	}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		at := v.Place()
		if v.Known != "" || v.Outcome < verdict.Warning || v.Outcome > verdict.Broken || own[at] || reasons[at] == "" {
			continue
		}
		v.Known, v.AcceptedSDK = reasons[at], true
		accepted[at] = true
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.SDK != nil && accepted[f.Place()] {
			f.Known = f.SDK.String()
		}
	}
}

// version matches a release; its groups are the numbers to compare.
var version = lazyregexp.New(`^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$`)

// versionOf returns the numbers of a release such as 1.2.3. It returns nil for anything else,
// because no golden file (see SDK.Goldens) covers a build between two releases.
func versionOf(text string) []int {
	var out []int
	if m := version.FindStringSubmatch(text); m != nil {
		for _, digits := range m[1:] {
			n, _ := strconv.Atoi(digits)
			out = append(out, n)
		}
	}
	return out
}

func compareVersions(a, b string) int { return slices.Compare(versionOf(a), versionOf(b)) }
