package reporters

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// allFormats are all formats in which a report leaves the program. live returns a
// part of the document that a reader would execute or interpret, or "".
var allFormats = []struct {
	name  string
	write Writer
	most  int // maximum size in bytes of the report on a server that sends as much text as it can
	live  func(doc string) string
}{
	{"console", onConsole, 64 << 10, liveOnConsole},
	{"badge", Badge, 2 << 10, liveInXML},
	{"badge for shields.io", BadgeJSON, 1 << 10, liveInJSON},
	{"github", GitHub, 64 << 10, liveOnGitHub},
	{"html", HTML, 2 << 20, liveInHTML},
	{"json", JSON, 8 << 20, liveInJSON},
	{"junit", JUnit, 1 << 20, liveInXML},
	{"markdown", Markdown, CommentLimit, liveInMarkdown},
	{"job summary", jobSummary, SummaryLimit, liveInMarkdown},

	{"sarif", SARIF, 1 << 20, liveInSARIF},
	{"tap", TAP, 128 << 10, liveInTAP},
}

func onConsole(w io.Writer, r *verdict.Report) error {
	c := NewConsole(w, ConsoleOptions{Verbose: true})
	c.Begin(r.Target, r.Transport, r.Revisions, 7)
	c.End(r)
	return c.Err()
}

func jobSummary(w io.Writer, r *verdict.Report) error {
	_, err := w.Write(Summary(r, SummaryLimit))
	return err
}

// TestHostileTextIsNotInterpreted checks that text from a server is shown but never
// interpreted.
func TestHostileTextIsNotInterpreted(t *testing.T) {
	shown := 0
	for _, o := range allFormats {
		t.Run(o.name, func(t *testing.T) {
			doc := write(t, o.write, hostileReport())
			if len(doc) > o.most {
				t.Errorf("it takes %d bytes; at most %d are allowed", len(doc), o.most)
			}
			if !utf8.Valid(doc) {
				t.Error("it is not UTF-8")
			}
			if r, at := firstInvisible(strings.ReplaceAll(string(doc), "\n", "")); at >= 0 {
				t.Errorf("it has %U at %d", r, at)
			}
			if live := o.live(string(doc)); live != "" {
				t.Errorf("it is live: %s", head(live, 300))
			}
			if strings.Contains(string(doc), "gnp.exe") {
				shown++
			}
		})
	}
	if shown < len(allFormats)-2 { // badges show no text from a server
		t.Errorf("%d of %d documents show what the server said", shown, len(allFormats))
	}
}

// TestInterpretedTextIsDetected checks that each live function can fail.
func TestInterpretedTextIsDetected(t *testing.T) {
	for _, c := range []struct {
		name string
		live func(string) string
		doc  string
	}{
		{"a command on the console", liveOnConsole, "seen\n  ::error::x\n"},
		{"a command of Azure", liveOnConsole, "a ##vso[task]x"},
		{"a second command", liveOnGitHub, "::error title=a::b\n::set-env name=x::y\n"},
		{"an escaped newline", liveOnGitHub, "::error title=a::b%0A::error::pwned\n"},
		{"a script", liveInHTML, "<script></script><script>alert(1)</script>"},
		{"an image", liveInHTML, "<script></script><img src=x onerror=alert(1)>"},
		{"a link", liveInHTML, `<script></script><a href="javascript:alert(1)">`},
		{"HTML in Markdown", liveInMarkdown, "a <img src=x>"},
		{"a link in Markdown", liveInMarkdown, "[x](http://evil.example/)"},
		{"a mention", liveInMarkdown, "@everyone"},
		{"an address", liveInMarkdown, "https://evil.example/"},
		{"the end of a block", liveInMarkdown, "<pre>a</pre><b>x</b></pre>"},
		{"a link in SARIF", liveInSARIF, `{"text":"[x](http://evil.example)"}`},
		{"a bail out", liveInTAP, "TAP version 14\nBail out! x\n"},
		{"a directive", liveInTAP, "ok 1 - a # SKIP b # TODO c\n"},
		{"broken XML", liveInXML, "<a>]]></b>"},
		{"broken JSON", liveInJSON, "{"},
	} {
		if c.live(c.doc) == "" {
			t.Errorf("%s is not reported as live", c.name)
		}
	}
}

func liveOnConsole(doc string) string {
	return regexp.MustCompile(`(?m)^ *::.*|##(\[|vso\[|teamcity\[).*`).FindString(doc)
}

func liveOnGitHub(doc string) string {
	lines := strings.Split(strings.TrimSuffix(doc, "\n"), "\n")
	if len(lines) > 2*shownByGitHub+1 {
		return "many lines"
	}
	whole := regexp.MustCompile(`^::(error|warning|notice) title=[^:,]*(,file=[^:,]*,line=1)?::`)
	for _, line := range lines {
		command := whole.FindString(line)
		if command == "" {
			return line
		}
		// Text after an escaped newline becomes a line of the annotation. A
		// tool that prints the annotation could interpret that line as a
		// command.
		if at := regexp.MustCompile(`%0[AaDd] *::|##\[|##vso\[`).FindString(line[len(command):]); at != "" {
			return at
		}
	}
	return ""
}

func liveInHTML(doc string) string {
	if n := strings.Count(doc, "<script"); n != 1 {
		return "scripts"
	}
	if at := regexp.MustCompile(`(?i)<(img|iframe|object|embed|link|base|form [^>]*action)[^>]*>|<[a-z][^>]*\son[a-z]+=[^>]*>`).FindString(doc); at != "" {
		return at
	}
	for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(doc, -1) {
		if !strings.HasPrefix(href[1], "#") && !strings.HasPrefix(href[1], "https://modelcontextprotocol.io/") {
			return href[0]
		}
	}
	return ""
}

func liveInJSON(doc string) string {
	if !json.Valid([]byte(doc)) {
		return "no JSON"
	}
	return ""
}

func liveInSARIF(doc string) string {
	// Links occur only in messages, not in properties.
	for _, message := range regexp.MustCompile(`"(text|markdown|justification)": ?"(\\.|[^"\\])*"`).FindAllString(doc, -1) {
		if strings.Contains(strings.ReplaceAll(message, "[The specification](https://modelcontextprotocol.io/", ""), "](") {
			return message
		}
	}
	return liveInJSON(doc)
}

func liveInXML(doc string) string {
	for dec := xml.NewDecoder(strings.NewReader(doc)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		if start, ok := token.(xml.StartElement); ok && regexp.MustCompile(`^(script|img|pre|details)$`).MatchString(start.Name.Local) {
			return start.Name.Local
		}
	}
}

func liveInMarkdown(doc string) string {
	for _, block := range regexp.MustCompile(`(?s)<pre>(.*?)</pre>`).FindAllStringSubmatch(doc, -1) {
		if strings.ContainsAny(block[1], "<>") || strings.Contains(block[1], "\n\n") {
			return block[0]
		}
	}
	rest := regexp.MustCompile(`(?s)<pre>.*?</pre>`).ReplaceAllString(doc, "")
	rest = regexp.MustCompile(`\[the specification\]\(https://modelcontextprotocol\.io/[^)]*\)`).ReplaceAllString(rest, "")
	ours := regexp.MustCompile(`^(</?details>|</?summary>|</?b>|</?sub>|<!-- -->)`)
	for at := 0; at < len(rest); at++ {
		if rest[at] == '<' && !ours.MatchString(rest[at:]) {
			return rest[at:]
		}
	}
	// The rest may contain character references. Their characters must not form
	// a mention with the text that follows.
	rest = html.UnescapeString(strings.ReplaceAll(rest, "<!-- -->", "\u00a0"))
	for _, sign := range []string{"@e", "@E"} {
		if strings.Contains(rest, sign) {
			return sign
		}
	}
	return regexp.MustCompile("https?://|\\]\\(|`|!\\[|\\*\\*").FindString(regexp.MustCompile(`&#\d+;`).ReplaceAllString(strings.ReplaceAll(docWithout(doc), "<!-- -->", ""), ""))
}

// docWithout returns the part of a document that Markdown interprets:
// everything except the <pre> blocks and the reporter's own links.
func docWithout(doc string) string {
	doc = regexp.MustCompile(`(?s)<pre>.*?</pre>`).ReplaceAllString(doc, "")
	return regexp.MustCompile(`\[the specification\]\(https://modelcontextprotocol\.io/[^)]*\)`).ReplaceAllString(doc, "")
}

func liveInTAP(doc string) string {
	line := regexp.MustCompile(`^(TAP version 14|1\.\.\d+|# .*|(not )?ok \d+ - ([^#\\]|\\[#\\])*( # (SKIP|TODO) ([^#\\]|\\[#\\])*)?|  ---|  [a-z0-9]+: ".*"|  \.\.\.)$`)
	for _, text := range strings.Split(strings.TrimSuffix(doc, "\n"), "\n") {
		if !line.MatchString(strings.TrimPrefix(text, "    ")) && !line.MatchString(text) {
			return text
		}
	}
	return ""
}

// TestManyFindingsAreBounded checks that five hundred findings are shown
// up to the size limit, and that the others are counted.
func TestManyFindingsAreBounded(t *testing.T) {
	r := manyFindings()
	for _, o := range allFormats {
		doc := write(t, o.write, r)
		t.Logf("%s takes %d bytes", o.name, len(doc))
		switch o.name {
		case "markdown":
			if len(doc) > CommentLimit || !bytes.Contains(doc, []byte(" more findings: too many for this place")) {
				t.Errorf("Markdown takes %d bytes and does not count the omitted findings", len(doc))
			}
		case "job summary":
			if len(doc) > SummaryLimit {
				t.Errorf("the summary takes %d bytes", len(doc))
			}
		case "github":
			if text := string(doc); strings.Count(text, "\n::warning ")+strings.Count(text, "\n::error ") > 2*shownByGitHub || !strings.Contains(text, "more errors are not shown") {
				t.Errorf("annotations: %s", head(text, 500))
			}
		case "html":
			if len(doc) > 10<<20 {
				t.Errorf("the page takes %d bytes", len(doc))
			}
		}
	}
	if text := Summary(r, 100); len(text) != 0 {
		t.Errorf("a summary without room is %q", text)
	}
}
