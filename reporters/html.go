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

// HTML writes the report as one self-contained page. It needs no network, and a
// script only for filtering. The page's Content-Security-Policy allows only
// the page's own script, and no script that text from a server might contain.
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

// pagePolicy returns the Content-Security-Policy. The browser loads nothing,
// and accepts only the script and the style with these digests.
func pagePolicy() string {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + digest(pageStyle) + "; script-src " + digest(pageScript)
}
