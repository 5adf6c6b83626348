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

// badgeText returns the text of a badge, and its colour: name is the name that shields.io knows,
// and color the value for the SVG.
func badgeText(r *verdict.Report) (text, name, color string) {
	judged := requirementsWhere(r, func(v *verdict.Verdict) bool { return v.Outcome >= verdict.Kept && v.Outcome != verdict.Blocked })
	broken := countRequirements(r, verdict.Broken)
	text = fmt.Sprintf("%d of %d broken", broken, judged)
	switch _, any := r.Worst(); {
	case !any:
		return "not judged", "lightgrey", "#6a6a6a"
	case broken > 0:
		return text, "red", "#b3261e"
	case countRequirements(r, verdict.HarnessError) > 0:
		return "no verdict", "lightgrey", "#6a6a6a"
	case r.Incomplete != "":
		return "incomplete", "yellow", "#8a6100"
	case countRequirements(r, verdict.Unconfirmed) > 0:
		return fmt.Sprintf("%s, %d unconfirmed", text, countRequirements(r, verdict.Unconfirmed)), "yellow", "#8a6100"
	case countRequirements(r, verdict.Warning) > 0:
		return text + ", " + countWithNoun(countRequirements(r, verdict.Warning), "warning"), "yellowgreen", "#4f6f00"
	}
	return text, "brightgreen", "#2b7a2b"
}

// A badge is the label and the text of a badge, with its color by name and in hex.
type badge struct{ label, text, name, color string }

// badgeOf returns the badge of a run. If the run was limited to one profile, the badge is about
// that profile.
func badgeOf(r *verdict.Report) badge {
	if len(r.Profiles) == 1 {
		return profileBadge(&r.Profiles[0])
	}
	text, name, color := badgeText(r)
	return badge{badgeLabel, text, name, color}
}

// profileBadge returns the badge of a profile: its result, and how many of the applicable
// requirements were observed. For a failed profile, it shows instead how many of the observed
// requirements are broken. For a profile that does not apply, it shows no numbers.
func profileBadge(p *verdict.ProfileResult) badge {
	all := p.All()
	b := badge{label: "MCP " + clip(p.Name, 80), text: p.Result + fmt.Sprintf(", %d of %d", all.Observed(), all.Applicable()), name: "yellow", color: "#8a6100"}
	switch p.Result {
	case verdict.ProfilePassed:
		b.name, b.color = "brightgreen", "#2b7a2b"
	case verdict.ProfileFailed:
		b.text, b.name, b.color = fmt.Sprintf("%d of %d broken", all.Broken, all.Observed()), "red", "#b3261e"
	case verdict.ProfileNotObserved:
		b.name, b.color = "lightgrey", "#6a6a6a"
	case verdict.ProfileNotApplicable:
		b.text, b.name, b.color = p.Result, "lightgrey", "#6a6a6a"
	}
	return b
}

// Badge writes a small SVG image with the number of broken requirements out of
// those that were judged, or with the result of the profile that the run was limited to.
func Badge(w io.Writer, r *verdict.Report) error { return badgeOf(r).writeSVG(w) }

// BadgeJSON writes the JSON that the endpoint badge of shields.io reads.
func BadgeJSON(w io.Writer, r *verdict.Report) error { return badgeOf(r).writeJSON(w) }

// ProfileBadge writes the badge of a profile, as an SVG image or as the JSON that the
// endpoint badge of shields.io reads.
func ProfileBadge(w io.Writer, p *verdict.ProfileResult, asJSON bool) error {
	if asJSON {
		return profileBadge(p).writeJSON(w)
	}
	return profileBadge(p).writeSVG(w)
}

func (b badge) writeSVG(w io.Writer) error {
	// The widths are explicit, so that the text stays in its box with any font.
	label, text := escapedXML(b.label), escapedXML(b.text)
	left, right := badgeWidth(b.label), badgeWidth(b.text)
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s: %s">`, left+right, label, text)
	fmt.Fprintf(&out, "\n<title>%s: %s</title>\n", label, text)
	fmt.Fprintf(&out, `<clipPath id="c"><rect width="%d" height="20" rx="3"/></clipPath>`+"\n", left+right)
	fmt.Fprintf(&out, `<g clip-path="url(#c)"><rect width="%d" height="20" fill="#444"/><rect x="%d" width="%d" height="20" fill="%s"/></g>`+"\n", left, left, right, b.color)
	out.WriteString(`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">` + "\n")
	fmt.Fprintf(&out, `<text x="%d" y="14" textLength="%d">%s</text>`+"\n", left/2, left-badgePadding, label)
	fmt.Fprintf(&out, `<text x="%d" y="14" textLength="%d">%s</text>`+"\n", left+right/2, right-badgePadding, text)
	out.WriteString("</g>\n</svg>\n")
	_, err := w.Write(out.Bytes())
	return err
}

func (b badge) writeJSON(w io.Writer) error {
	doc, err := json.MarshalIndent(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       string `json:"message"`
		Color         string `json:"color"`
		IsError       bool   `json:"isError,omitempty"` // true keeps query parameters from overriding the colour
	}{1, b.label, b.text, b.name, b.name == "red"}, "", "  ")
	if err != nil {
		return fmt.Errorf("the badge can't be written as JSON: %w", err)
	}
	_, err = w.Write(append(doc, '\n'))
	return err
}

const badgePadding = 12

// badgeWidth returns the approximate width, in pixels, of text that consists of digits and
// lower-case letters.
func badgeWidth(text string) int { return len(text)*65/10 + badgePadding }

func escapedXML(text string) string {
	var b bytes.Buffer
	if xml.EscapeText(&b, []byte(Visible(text))) != nil { // a write to a buffer cannot fail
		return ""
	}
	return b.String()
}
