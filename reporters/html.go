package reporters

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

//go:embed page/report.gohtml
var pageText string

//go:embed page/report.css
var pageStyle string

//go:embed page/report.js
var pageScript string

// HTML writes the report as one page that needs nothing else: no network, and
// no script to be read, only to be filtered. Its policy lets the browser run
// the page's own script and nothing that a server might have slipped in.
func HTML(w io.Writer, r *verdict.Report) error {
	t, err := template.New("report").Parse(pageText)
	if err != nil {
		return fmt.Errorf("the page can't be read: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newPage(r)); err != nil {
		return fmt.Errorf("the report can't be written as HTML: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// pagePolicy is the Content-Security-Policy: nothing is loaded, and only what
// has these digests is run or obeyed.
func pagePolicy() string {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + digest(pageStyle) + "; script-src " + digest(pageScript)
}
