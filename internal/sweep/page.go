package sweep

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/reporters"
)

//go:embed page/index.gohtml
var indexText string

//go:embed page/index.css
var indexStyle string

//go:embed page/index.js
var indexScript string

var indexTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("index").Parse(indexText))
})

// pageData is the data of the page. Its strings have no invisible characters, and the template
// escapes them.
type pageData struct {
	Policy   string
	Style    template.CSS
	Script   template.JS
	Title    string
	Version  string
	Counts   string
	Outcomes []Outcome
	Columns  []string
	Rows     []indexRow
	Shared   []indexFinding
	More     int // findings that only sweep.json has
	SDKs     []SDK
}

type indexRow struct {
	Name, Link, Problem, Server, SDK, Revisions string
	Outcome                                     Outcome
	Broken, Warnings                            string // "" if nothing was judged
	Seconds                                     string
}

type indexFinding struct {
	SharedFinding
	SDKs, Description string
}

const (
	pageText = 160 // the maximum length of a string on the page, in bytes
	// mostShared limits the findings on the page; sweep.json has all.
	mostShared = 100
)

// columns are the columns of the table of servers. index.css has the names of some.
var columns = []string{"server", "outcome", "broken", "warnings", "says it is", "SDK", "newest revision", "seconds", "problem"}

// writePage writes the page that lists all servers. The page needs no network, and a script
// only for sorting and filtering. Its Content-Security-Policy allows that script alone.
func (w *Sweep) writePage(out io.Writer) error {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	p := pageData{
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + digest(indexStyle) + "; script-src " + digest(indexScript),
		Style:  template.CSS(indexStyle), Script: template.JS(indexScript), //nolint:gosec // both are embedded files
		Title: strconv.Itoa(len(w.Servers)) + " MCP servers", Version: visible(w.Version), Counts: strings.Join(w.Outcomes(), " · "),
	}
	p.Columns = columns
	if len(w.Servers) == 1 {
		p.Title = "1 MCP server"
	}
	if w.Shard != nil {
		p.Title += ", shard " + w.Shard.String()
	}
	for _, o := range outcomes {
		if w.Counts[o] > 0 {
			p.Outcomes = append(p.Outcomes, o)
		}
	}
	for _, r := range w.Servers {
		p.Rows = append(p.Rows, rowOf(r))
	}
	for i := range w.Shared[:min(len(w.Shared), mostShared)] {
		one := w.Shared[i]
		one.Requirement, one.Summary = visible(one.Requirement), visible(one.Summary)
		p.Shared = append(p.Shared, indexFinding{one, describeSDKs(one.SDKs), one.Description()})
	}
	p.More = len(w.Shared) - len(p.Shared)
	for _, sdk := range w.SDKs {
		sdk.SDK = cmp.Or(visible(sdk.SDK), "not recognised")
		p.SDKs = append(p.SDKs, sdk)
	}
	return indexTemplate().Execute(out, p)
}

func rowOf(r *Result) indexRow {
	row := indexRow{
		Name: visible(r.Name), Problem: reporters.Visible(shorten(r.Problem, maxProblem)), Outcome: r.Outcome,
		Server: visible(strings.TrimSpace(r.Server.Name + " " + r.Server.Version)), SDK: visible(r.SDK), Seconds: fmt.Sprintf("%.1f", r.Seconds),
	}
	if r.Outcome == Kept || r.Outcome == Broken || len(r.Findings) > 0 {
		row.Broken, row.Warnings = strconv.Itoa(r.Counts.Broken), strconv.Itoa(r.Counts.Warnings)
	}
	if len(r.Revisions) > 0 {
		row.Revisions = visible(string(r.Revisions[0]))
	}
	if len(r.Reports) > 0 {
		file := r.Reports[0]
		if slices.Contains(r.Reports, "report.html") {
			file = "report.html"
		}
		row.Link = "servers/" + url.PathEscape(r.Folder) + "/" + url.PathEscape(file)
	}
	return row
}

func visible(text string) string { return reporters.Visible(shorten(text, pageText)) }

// describeSDKs lists at most mostNamed SDKs, each with its number of servers, the most frequent
// first.
func describeSDKs(counts map[string]int) string {
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	var out []string
	for _, name := range names[:min(len(names), mostNamed)] {
		out = append(out, fmt.Sprintf("%s: %d", cmp.Or(visible(name), "not recognised"), counts[name]))
	}
	return strings.Join(out, ", ")
}
