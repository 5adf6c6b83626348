package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// reportFile is one --report.
type reportFile struct {
	path  string
	write reporters.Writer
}

// fileNames are those of reports for which no file is named.
var fileNames = map[string]string{"json": "report.json", "junit": "junit.xml"}

// fileName returns the name of the file that a report gets unless it is told.
func fileName(report string) string {
	if name, ok := fileNames[report]; ok {
		return name
	}
	return "report." + report
}

// reportFiles lists those names.
func reportFiles() string {
	var names []string
	for _, report := range reporters.Names() {
		names = append(names, fileName(report))
	}
	return strings.Join(names, ", ")
}

// parseReports reads the flags --report; what names no file goes into the
// folder out. A file that can't be written is an error now, not after the run.
func parseReports(flags []string, out string) ([]reportFile, error) {
	var files []reportFile
	for _, flag := range flags {
		name, path, named := strings.Cut(flag, "=")
		writer, known := reporters.ByName(name)
		if !known {
			return nil, usagef("known reports: "+strings.Join(reporters.Names(), ", "), "--report %q: there is no report %q", flag, name)
		}
		if named && path == "" {
			return nil, usagef("write --report "+name+"=FILE, or --report "+name+" for "+filepath.Join(out, fileName(name)), "--report %q names no file", flag)
		}
		if !named {
			path = filepath.Join(out, fileName(name))
		}
		if err := writable(path); err != nil {
			return nil, usagef("name a file in a folder that can be written", "--report %q: %v", flag, err)
		}
		files = append(files, reportFile{path, writer})
	}
	return files, nil
}

// writable tells by its error why no file can be written at path. It makes the
// folder, and leaves a file that is there as it is.
func writable(path string) error {
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

// writeReports writes all reports that can be written, and says of each that
// can't why.
func writeReports(files []reportFile, p *verdict.Report) error {
	var errs []error
	for _, f := range files {
		if err := writeFile(f.path, func(w io.Writer) error { return f.write(w, p) }); err != nil {
			errs = append(errs, harnessError{fmt.Errorf("the report can't be written: %w", err)})
		}
	}
	return errors.Join(errs...)
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
