package reporters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// JSONFormat is the version of the document that JSON writes. It increases when
// a reader of the older version would misread the newer one. Added fields do
// not change it.
const JSONFormat = verdict.ReportFormat

// textLimit limits, in bytes, every string in the document that a server can
// choose, so that ordinary tools can read the report.
const textLimit = 64 << 10

// JSON writes the whole report as one indented JSON object, which
// docs/reports.md describes. Equal reports produce equal bytes except for the
// member stats.
func JSON(w io.Writer, r *verdict.Report) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(boundedReport(r)); err != nil {
		return fmt.Errorf("the report can't be written as JSON: %w", err)
	}
	_, err := w.Write(escapeInvisible(b.Bytes()))
	return err
}

// boundedReport returns a copy of r with bounded strings, and with empty lists
// instead of null.
func boundedReport(r *verdict.Report) *verdict.Report {
	d := *r
	d.Format = JSONFormat
	d.Target, d.Incomplete = boundText(d.Target), boundText(d.Incomplete)
	d.Server = verdict.Server{Name: boundText(d.Server.Name), Version: boundText(d.Server.Version)}
	d.Revisions = nonNil(d.Revisions)
	d.NotSpoken = nonNil(d.NotSpoken)
	for i := range d.NotSpoken {
		d.NotSpoken[i].Reason = boundText(d.NotSpoken[i].Reason)
	}
	d.Notices = nonNil(d.Notices)
	for i := range d.Notices {
		d.Notices[i] = boundText(d.Notices[i])
	}
	d.Verdicts = nonNil(d.Verdicts)
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		v.Reason, v.Judges = boundText(v.Reason), nonNil(v.Judges)
	}
	security := verdict.SecurityOf(r)
	d.Security = &security
	d.Findings = nonNil(d.Findings)
	for i := range d.Findings {
		f := &d.Findings[i]
		f.Permitted, f.Seen, f.Fix, f.Replay = boundText(f.Permitted), boundText(f.Seen), boundText(f.Fix), nonNil(f.Replay)
		f.Evidence = boundEvidence(f.Evidence)
		if len(f.Context) > 0 {
			f.Context = boundEvidence(f.Context)
		}
	}
	return &d
}

// boundEvidence returns a copy of the events with bounded strings.
func boundEvidence(in []verdict.Evidence) []verdict.Evidence {
	out := nonNil(in)
	for i := range out {
		e := &out[i]
		e.Size = max(e.Size, int64(len(e.Text)))
		e.Text, e.Label = head(e.Text, textLimit), boundText(e.Label)
	}
	return out
}

// nonNil returns a copy of s that is never nil.
func nonNil[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }

// boundText returns s, or its beginning and its size if it exceeds textLimit.
func boundText(s string) string {
	if len(s) <= textLimit {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", head(s, textLimit), len(s))
}

// escapeInvisible escapes, as \u sequences, the characters that a terminal would hide or interpret.
// encoding/json has already escaped those in ASCII except DEL. The others occur only inside
// strings, where JSON permits the escapes.
func escapeInvisible(doc []byte) []byte {
	hidden := func(r rune) bool { return r >= 0x7f && !unicode.IsGraphic(r) }
	if bytes.IndexFunc(doc, hidden) < 0 {
		return doc
	}
	var out []byte
	for len(doc) > 0 {
		r, size := utf8.DecodeRune(doc)
		switch {
		case !hidden(r):
			out = append(out, doc[:size]...)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		doc = doc[size:]
	}
	return out
}
