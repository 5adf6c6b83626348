// Package reporters shows a verdict.Report: on the console while a run goes
// on and at its end, and in files for other tools. Whatever a server said is
// hostile here: it is bounded in length and never written unescaped.
package reporters

import (
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Writer writes a finished report to w in one format. It does not alter r;
// its error is the first one that w returned.
type Writer func(w io.Writer, r *verdict.Report) error

var writers = map[string]Writer{
	"badge":    Badge,
	"github":   GitHub,
	"html":     HTML,
	"json":     JSON,
	"junit":    JUnit,
	"markdown": Markdown,
	"outputs":  Outputs,
	"sarif":    SARIF,
	"tap":      TAP,
}

// ByName returns the writer of the format called name.
func ByName(name string) (Writer, bool) {
	w, ok := writers[name]
	return w, ok
}

// ForFile returns the writer of the format called name for a file: a badge
// whose file ends in .json is the one that shields.io reads.
func ForFile(name, file string) (Writer, bool) {
	if name == "badge" && strings.EqualFold(filepath.Ext(file), ".json") {
		return BadgeJSON, true
	}
	return ByName(name)
}

// Names returns the formats that ByName knows, in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(writers)) }
