package reporters

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/conformance"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// matrix is a table with a row for each conformance report, and a column for each profile.
type matrix struct {
	Profiles []string
	Rows     []matrixRow
}

type matrixRow struct {
	Title, Organization, Version, Over, Revisions, Date, Tool string
	URL                                                       string // "" if it is not a web page
	Cells                                                     []matrixCell
}

// matrixCell is the result of a profile. It is empty if the report has no result for the profile.
type matrixCell struct{ Mark, Text, Result string }

func newMatrix(reports []*conformance.Report) *matrix {
	m := &matrix{}
	for _, p := range spec.Profiles() { // profiles that are not in this list, from reports of a newer mcp-conform, come last
		if slices.ContainsFunc(reports, func(r *conformance.Report) bool { return profileIn(r, p.Name) != nil }) {
			m.Profiles = append(m.Profiles, p.Name)
		}
	}
	for _, r := range reports {
		for i := range r.Profiles {
			if name := r.Profiles[i].Name; !slices.Contains(m.Profiles, name) {
				m.Profiles = append(m.Profiles, name)
			}
		}
	}
	for _, r := range reports {
		row := matrixRow{
			Title: clip(r.Title(), 80), Organization: clip(r.Implementation.Organization, 80), Version: clip(r.Implementation.Version, 40),
			Revisions: joinRevisions(r.Revisions), Date: clip(r.Date[:min(len(r.Date), len("2006-01-02"))], 40), Tool: clip(r.Tool.Version, 40),
		}
		over := make([]string, len(r.Transports))
		for i, t := range r.Transports {
			over[i] = string(t)
		}
		row.Over = strings.Join(over, ", ")
		if isWebPage(r.Implementation.URL) {
			row.URL = r.Implementation.URL
		}
		if row.Title == "" {
			row.Title = "(no name)"
		}
		for _, name := range m.Profiles {
			row.Cells = append(row.Cells, cellOf(profileIn(r, name)))
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func profileIn(r *conformance.Report, name string) *conformance.Profile {
	if i := slices.IndexFunc(r.Profiles, func(p conformance.Profile) bool { return p.Name == name }); i >= 0 {
		return &r.Profiles[i]
	}
	return nil
}

func cellOf(p *conformance.Profile) matrixCell {
	if p == nil {
		return matrixCell{}
	}
	counted := p.ProfileResult()
	all := counted.All()
	cell := matrixCell{Mark: profileMarks[p.Result], Result: p.Result, Text: fmt.Sprintf("%d of %d", all.Observed(), all.Applicable())}
	switch {
	case p.Result == verdict.ProfileNotApplicable:
		cell.Text = ""
	case all.Broken > 0:
		cell.Text = fmt.Sprintf("%d broken, %s", all.Broken, cell.Text)
	}
	return cell
}

// isWebPage reports whether a URL of a report can be a link in a document.
func isWebPage(url string) bool {
	return (strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")) && !strings.ContainsAny(url, " \t\r\n<>()[]|\"'`\\")
}

const matrixLegend = "Each cell says how many of the requirements that apply were observed: what was not observed is not counted as kept. An empty cell: the report does not have that profile."

// MatrixMarkdown writes a table of conformance reports as Markdown.
func MatrixMarkdown(w io.Writer, reports []*conformance.Report) error {
	m := newMatrix(reports)
	var b strings.Builder
	b.WriteString("| implementation | version | over | revisions |")
	for _, name := range m.Profiles {
		fmt.Fprintf(&b, " %s |", escapeMarkdown(name, 80))
	}
	b.WriteString("\n| :-- | :-- | :-- | :-- |" + strings.Repeat(" :-- |", len(m.Profiles)) + "\n")
	for i := range m.Rows {
		row := &m.Rows[i]
		title := escapeMarkdown(row.Title, 80)
		if row.URL != "" {
			title = fmt.Sprintf("[%s](%s)", title, row.URL)
		}
		if row.Organization != "" {
			title += ", " + escapeMarkdown(row.Organization, 80)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", title, escapeMarkdown(row.Version, 40), escapeMarkdown(row.Over, 80), escapeMarkdown(row.Revisions, 200))
		for _, cell := range row.Cells {
			fmt.Fprintf(&b, " %s |", strings.TrimSpace(cell.Mark+" "+escapeMarkdown(cell.Text, 80)))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\n%s\n\n", matrixLegend)
	for _, result := range verdict.ProfileResults() {
		fmt.Fprintf(&b, "* %s %s\n", profileMarks[result], result)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

//go:embed page/matrix.gohtml
var matrixPage string

var matrixTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("matrix").Parse(matrixPage))
})

// MatrixHTML writes a table of conformance reports as an HTML page without scripts.
func MatrixHTML(w io.Writer, reports []*conformance.Report) error {
	return matrixTemplate().Execute(w, struct {
		*matrix
		Legend string
	}{newMatrix(reports), matrixLegend})
}
