package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// reportFile is one --report flag. If path is "", the report is written to out, and a longer form
// of it is appended to the file summary.
type reportFile struct {
	name    string // of the report, such as json
	path    string
	write   reporters.Writer
	out     io.Writer
	summary string
}

// annotations is the name of the report for the log of a GitHub Action. Without =FILE, this report
// is written to the log, not to the folder --out.
const annotations = "github"

// fileNames are the default file names of the reports.
var fileNames = map[string]string{
	"badge": "badge.svg", "conformance": "conformance.yaml", "html": "report.html", "json": "report.json", "junit": "junit.xml",
	"ginkgo": "ginkgo.json", "markdown": "report.md", "outputs": "outputs.env", "sarif": "report.sarif", "tap": "report.tap",
}

// fileName returns the default name of a report's file.
func fileName(report string) string {
	if name, ok := fileNames[report]; ok {
		return name
	}
	return "report." + report
}

// reportFiles returns a phrase that lists the default file names of the reports.
func reportFiles(reports []string) string {
	var names []string
	for _, report := range reports {
		if report != annotations {
			names = append(names, fileName(report))
		}
	}
	return strings.Join(names, ", ")
}

// reportUsage returns the help text of the flag --report.
func reportUsage(known []string) string {
	var names []string
	for _, report := range known {
		if report != annotations {
			names = append(names, report+"=FILE")
		}
	}
	return "write a report: " + strings.Join(names, ", ") + " (repeatable), without =FILE into the folder --out; or " + annotations + ": annotations and a job summary, in a GitHub Action"
}

// reportNames returns the names of the reports that a run can write.
func reportNames() []string {
	return slices.Sorted(slices.Values(append(reporters.Names(), ginkgoReport)))
}

// recordingReports returns the names of the reports about recordings: all except a conformance
// report, which is only about a run, and Ginkgo's report, because Ginkgo does not judge recordings.
func recordingReports() []string {
	return slices.DeleteFunc(reporters.Names(), func(name string) bool { return name == reporters.ConformanceName })
}

// parseReports parses the values of --report, which must name known reports. A report without a
// file goes into the folder out. Annotations go to the log in a GitHub Action instead, and are left
// out elsewhere. It returns an error for a file that can't be written, so that the user learns of
// it before the run.
func (a *app) parseReports(flags, known []string, out string) ([]reportFile, error) {
	var files []reportFile
	for _, flag := range flags {
		name, path, named := strings.Cut(flag, "=")
		writer, _ := reporters.ForFile(name, path)
		if name == ginkgoReport {
			writer = a.writeSpecs
		}
		if writer == nil || !slices.Contains(known, name) {
			return nil, usagef("known reports: "+strings.Join(known, ", "), "--report %q: there is no report %q", flag, name)
		}
		if named && path == "" {
			return nil, usagef("write --report "+name+"=FILE, or --report "+name+" for "+filepath.Join(out, fileName(name)), "--report %q names no file", flag)
		}
		if !named && name == annotations {
			if a.environmentVariable("GITHUB_ACTIONS") == "true" {
				files = append(files, reportFile{name: name, write: writer, out: a.Out, summary: a.environmentVariable("GITHUB_STEP_SUMMARY")})
			}
			continue
		}
		if !named {
			path = filepath.Join(out, fileName(name))
		}
		if err := checkWritable(path); err != nil {
			return nil, usagef("name a file in a folder that can be written", "--report %q: %v", flag, err)
		}
		files = append(files, reportFile{name: name, path: path, write: writer})
	}
	return files, nil
}

// checkWritable returns an error if no file can be written at path. It creates the folder that
// contains path, and does not change an existing file.
func checkWritable(path string) error {
	if _, err := os.Stat(path); err == nil {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mcp-conform-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// checkFolder returns an error if no file can be written in a folder, which need not exist. It
// leaves no file or folder behind, because the run may have nothing to write.
func checkFolder(folder string) error {
	var made []string // the innermost first
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".mcp-conform-*")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	for _, at := range made {
		_ = os.Remove(at) // fails if another process has put a file there
	}
	return err
}

// writeReports writes all reports. The error joins a harness error for each report that can't be
// written.
func (a *app) writeReports(files []reportFile, p *verdict.Report) error {
	if len(files) > 0 && p.Artifact == "" {
		p.Artifact = artifactPath()
	}
	var errs []error
	for _, f := range files {
		err := error(nil)
		if f.path == "" {
			err = errors.Join(f.write(f.out, p), a.appendSummary(f.summary, p))
		} else {
			err = a.writeFile(f.path, func(w io.Writer) error { return f.write(w, p) })
		}
		if err != nil {
			errs = append(errs, harnessError{fmt.Errorf("the report can't be written: %w", err)})
		}
	}
	return errors.Join(errs...)
}

// printReportPaths prints the path of each report that was written to a file.
func (a *app) printReportPaths(files []reportFile) {
	for _, f := range files {
		if f.path != "" {
			fmt.Fprintf(a.Out, "report written: %s\n", a.redactAndEscape(f.path))
		}
	}
}

// writeFile writes a file, with secrets removed.
func (a *app) writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(a.secrets.Writer(f), 64<<10)
	return errors.Join(write(w), w.Flush(), f.Close())
}

// appendSummary appends the report to the job summary at path, up to the size limit of summaries.
// It does nothing if path is "".
func (a *app) appendSummary(path string, p *verdict.Report) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	room := reporters.SummaryLimit
	if info, err := f.Stat(); err == nil {
		room -= int(min(info.Size(), reporters.SummaryLimit))
	}
	_, err = a.secrets.Writer(f).Write(reporters.Summary(p, room))
	return errors.Join(err, f.Close())
}

// environmentVariable returns the value of an environment variable, or "" if it is not set. If it
// is set twice, the first value counts.
func (a *app) environmentVariable(name string) string {
	for _, entry := range a.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// serverFiles are the files that can represent the server in a repository, in
// order of preference.
var serverFiles = []string{
	"mcp-conform.yaml", ".mcp.json", "mcp.json", "package.json", "pyproject.toml", "go.mod", "Cargo.toml", "pom.xml", "build.gradle", "README.md",
}

// artifactPath returns the path of the file that represents the server in reports that need a
// location in the code. The path is relative to the root of the repository. It returns "" if the
// current folder has no such file.
func artifactPath() string {
	folder, err := os.Getwd()
	if err != nil {
		return ""
	}
	root := repositoryRoot(folder)
	for _, name := range serverFiles {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			if path, err := filepath.Rel(root, filepath.Join(folder, name)); err == nil {
				return filepath.ToSlash(path)
			}
		}
	}
	return ""
}

// repositoryRoot returns the root of the repository that contains the folder, or
// the folder itself if there is none.
func repositoryRoot(folder string) string {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return folder
		}
	}
}
