package reporters

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const badgeLabel = "MCP conformance"

// badgeText returns the text of a badge and its colour, as a name that
// shields.io knows and as the value for the SVG.
func badgeText(r *verdict.Report) (text, name, color string) {
	judged := requirementsWhere(r, func(v *verdict.Verdict) bool { return v.Outcome >= verdict.Kept && v.Outcome != verdict.Blocked })
	broken := requirements(r, verdict.Broken)
	text = fmt.Sprintf("%d of %d broken", broken, judged)
	switch _, any := r.Worst(); {
	case !any:
		return "not judged", "lightgrey", "#6a6a6a"
	case broken > 0:
		return text, "red", "#b3261e"
	case requirements(r, verdict.HarnessError) > 0:
		return "no verdict", "lightgrey", "#6a6a6a"
	case r.Incomplete != "":
		return "incomplete", "yellow", "#8a6100"
	case requirements(r, verdict.Unconfirmed) > 0:
		return fmt.Sprintf("%s, %d unconfirmed", text, requirements(r, verdict.Unconfirmed)), "yellow", "#8a6100"
	case requirements(r, verdict.Warning) > 0:
		return text + ", " + count(requirements(r, verdict.Warning), "warning"), "yellowgreen", "#4f6f00"
	}
	return text, "brightgreen", "#2b7a2b"
}

// Badge writes a small SVG image with the number of broken requirements out of
// those that were judged.
func Badge(w io.Writer, r *verdict.Report) error {
	text, _, color := badgeText(r)
	// The widths are explicit, so that the text stays in its box with any font.
	left, right := badgeWidth(badgeLabel), badgeWidth(text)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s: %s">`, left+right, escapedXML(badgeLabel), escapedXML(text))
	fmt.Fprintf(&b, "\n<title>%s: %s</title>\n", escapedXML(badgeLabel), escapedXML(text))
	fmt.Fprintf(&b, `<clipPath id="c"><rect width="%d" height="20" rx="3"/></clipPath>`+"\n", left+right)
	fmt.Fprintf(&b, `<g clip-path="url(#c)"><rect width="%d" height="20" fill="#444"/><rect x="%d" width="%d" height="20" fill="%s"/></g>`+"\n", left, left, right, color)
	b.WriteString(`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="14" textLength="%d">%s</text>`+"\n", left/2, left-badgePadding, escapedXML(badgeLabel))
	fmt.Fprintf(&b, `<text x="%d" y="14" textLength="%d">%s</text>`+"\n", left+right/2, right-badgePadding, escapedXML(text))
	b.WriteString("</g>\n</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

const badgePadding = 12

// badgeWidth returns the approximate width of a text of digits and lower-case
// letters.
func badgeWidth(text string) int { return len(text)*65/10 + badgePadding }

// BadgeJSON writes the JSON that the endpoint badge of shields.io reads.
func BadgeJSON(w io.Writer, r *verdict.Report) error {
	text, color, _ := badgeText(r)
	doc, err := json.MarshalIndent(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       string `json:"message"`
		Color         string `json:"color"`
		IsError       bool   `json:"isError,omitempty"` // shields.io lets no query parameter override the colour
	}{1, badgeLabel, text, color, color == "red"}, "", "  ")
	if err != nil {
		return fmt.Errorf("the badge can't be written as JSON: %w", err)
	}
	_, err = w.Write(append(doc, '\n'))
	return err
}

func escapedXML(text string) string {
	var b bytes.Buffer
	if xml.EscapeText(&b, []byte(Visible(text))) != nil { // a write to a buffer cannot fail
		return ""
	}
	return b.String()
}
