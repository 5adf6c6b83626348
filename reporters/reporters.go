// Package reporters shows a verdict.Report: on the console during and after a run, and in files for
// other tools. Text from a server is untrusted, so it is limited in length and never written
// unescaped.
package reporters

import (
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Writer writes a finished report to w in one format. It does not modify r. It
// returns the first error of w.
type Writer func(w io.Writer, r *verdict.Report) error

var writers = map[string]Writer{
	"badge":         Badge,
	ConformanceName: Conformance,
	"github":        GitHub,
	"html":          HTML,
	"json":          JSON,
	"junit":         JUnit,
	"markdown":      Markdown,
	"outputs":       Outputs,
	"sarif":         SARIF,
	"tap":           TAP,
}

// ByName returns the writer of the named format.
func ByName(name string) (Writer, bool) {
	w, ok := writers[name]
	return w, ok
}

// ForFile returns the writer of the named format for a file. A badge in a file
// that ends in .json is the one that shields.io reads.
func ForFile(name, file string) (Writer, bool) {
	if name == "badge" && strings.EqualFold(filepath.Ext(file), ".json") {
		return BadgeJSON, true
	}
	return ByName(name)
}

// Names returns the formats that ByName knows, in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(writers)) }
