package spec_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

func TestPage(t *testing.T) {
	const site = "https://modelcontextprotocol.io/"
	for _, c := range []struct {
		name, section string
		r             spec.Revision
		want          string
	}{
		{"an index page goes by its folder", "basic/index#responses", spec.V20250618, site + "specification/2025-06-18/basic#responses"},
		{"the index of all has no name", "index", spec.V20250618, site + "specification/2025-06-18"},
		{"another page then", "basic/index#responses", spec.V20241105, site + "specification/2024-11-05/basic/messages#responses"},
		{"a page that kept its headings", "basic/patterns/progress#progress-flow", spec.V20250326, site + "specification/2025-03-26/basic/utilities/progress#progress-flow"},
		{"a page that was a heading", "basic/transports/stdio", spec.V20251125, site + "specification/2025-11-25/basic/transports#stdio"},
		{"the page of today", "basic/transports/stdio", spec.V20260728, site + "specification/2026-07-28/basic/transports/stdio"},
		{"a heading that did not exist", "server/resources#annotations", spec.V20241105, site + "specification/2024-11-05/server/resources"},
		{"no schema page yet", "schema#tool", spec.V20250326, "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/2025-03-26/schema.ts"},
		{"best practices", "security_best_practices (docs/docs/<revision>/tutorials/security)#token-passthrough", spec.V20250326, site + "docs/2025-03-26/tutorials/security/security_best_practices#token-passthrough"},
		{"a revision without the entry", "basic/index#batching", "1999-01-01", site + "specification/2026-07-28/basic#batching"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &spec.Requirement{Section: c.section}
			for _, r := range spec.Revisions() {
				q.Revisions = append(q.Revisions, string(r))
			}
			if got := q.Page(c.r); got != c.want {
				t.Errorf("got %s; want %s", got, c.want)
			}
		})
	}
}

// TestInheritedPage checks that a requirement that rests only on JSON-RPC 2.0
// links there, and one with text in the specification links to that page.
func TestInheritedPage(t *testing.T) {
	const errorObject = "https://www.jsonrpc.org/specification#error_object"
	for _, c := range []struct {
		id   string
		r    spec.Revision
		want string
	}{
		{"base.invalid-request", spec.V20241105, errorObject},
		{"base.parse-error", spec.V20250326, errorObject},
		{"base.method-not-found", spec.V20251125, errorObject},
		{"base.method-not-found", spec.V20260728, "https://modelcontextprotocol.io/specification/2026-07-28/schema#methodnotfounderror"},
		{"base.batch-responses-complete", spec.V20250326, "https://www.jsonrpc.org/specification#batch"},
		{"base.batch-receive", spec.V20250326, "https://modelcontextprotocol.io/specification/2025-03-26/basic#batching"},
	} {
		if got := spec.Requirements().Lookup(c.id).Page(c.r); got != c.want {
			t.Errorf("%s in %s: got %s; want %s", c.id, c.r, got, c.want)
		}
	}
}

func TestPageOfASection(t *testing.T) {
	for _, c := range []struct {
		section string
		r       spec.Revision
		want    string
	}{
		{"basic/index#messages", spec.V20241105, "2024-11-05/basic/messages"},
		{"basic/index#messages", spec.V20251125, "2025-11-25/basic#messages"},
		{"basic/patterns/cancellation#behavior-requirements", spec.V20250618, "2025-06-18/basic/utilities/cancellation#behavior-requirements"},
	} {
		if got, want := spec.PageOf(c.section, c.r), "https://modelcontextprotocol.io/specification/"+c.want; got != want {
			t.Errorf("%s in %s: got %s; want %s", c.section, c.r, got, want)
		}
	}
}

// TestEveryPageExists compares the URLs with a checkout of the specification: page and
// heading must exist, and the URL must have the heading of the catalogue if the page has it.
func TestEveryPageExists(t *testing.T) {
	dir := os.Getenv("MCP_SPEC_CHECKOUT")
	if dir == "" {
		t.Skip("MCP_SPEC_CHECKOUT does not name a checkout of the modelcontextprotocol/modelcontextprotocol repository")
	}
	pages := checkout{dir: dir, headings: map[string][]string{}}
	for _, q := range spec.Requirements().All() {
		for _, name := range q.Revisions {
			r := spec.Revision(name)
			got := q.Page(r)
			if strings.HasPrefix(got, "https://www.jsonrpc.org/specification#") && q.Basis(r) == spec.JSONRPC {
				continue
			}
			address, heading, _ := strings.Cut(got, "#")
			if !strings.Contains(address, "/"+name) {
				t.Errorf("%s in %s: %s is of another revision", q.ID, r, got)
			}
			there, ok := pages.read(t, address)
			if !ok {
				t.Errorf("%s in %s: no page is published at %s", q.ID, r, address)
				continue
			}
			if heading != "" && !slices.Contains(there, heading) {
				t.Errorf("%s in %s: the page has no heading for %s; it has %q", q.ID, r, got, there)
			}
			page, wanted, _ := strings.Cut(q.Section, "#")
			plain := "https://modelcontextprotocol.io/specification/" + name + "/" + page
			if there, ok := pages.read(t, plain); ok && heading != wanted && slices.Contains(there, wanted) {
				t.Errorf("%s in %s: %s exists and %s was given", q.ID, r, plain+"#"+wanted, got)
			}
		}
	}
}

// A checkout reads headings from a checkout of the specification: a work tree or
// a bare repository.
type checkout struct {
	dir      string
	headings map[string][]string // by URL; nil if there is no such page
}

var (
	fences  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	heading = regexp.MustCompile("(?m)^#{1,6} +(.+)$")
	dropped = regexp.MustCompile(`[^\p{L}\p{N}%_-]`)
)

// read returns the anchors of the page at the URL, and whether the page exists.
func (c checkout) read(t *testing.T, address string) ([]string, bool) {
	t.Helper()
	if anchors, ok := c.headings[address]; ok {
		return anchors, anchors != nil
	}
	var names []string
	if path, ok := strings.CutPrefix(address, "https://modelcontextprotocol.io/"); ok {
		names = []string{"docs/" + path + ".mdx", "docs/" + path + "/index.mdx"}
	} else if _, path, ok := strings.Cut(address, "/blob/main/"); ok {
		names = []string{path}
	}
	c.headings[address] = nil
	for _, name := range names {
		text, ok := c.file(name)
		if !ok {
			continue
		}
		anchors := []string{}
		seen := map[string]int{}
		for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			name := anchor(m[1])
			if seen[name]++; seen[name] > 1 {
				name += "-" + strconv.Itoa(seen[name])
			}
			anchors = append(anchors, name)
		}
		c.headings[address] = anchors
		return anchors, true
	}
	return nil, false
}

func (c checkout) file(name string) (string, bool) {
	if _, err := os.Stat(filepath.Join(c.dir, "docs")); err == nil {
		text, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(name)))
		return string(text), err == nil
	}
	text, err := exec.Command("git", "--git-dir", c.dir, "show", "HEAD:"+name).Output()
	return string(text), err == nil
}

// anchor returns the site's anchor for a heading: an ampersand is escaped, other
// punctuation is dropped, and so are underscores at the ends.
func anchor(heading string) string {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(heading)), "&", "%26")
	name = dropped.ReplaceAllString(strings.ReplaceAll(name, " ", "-"), "")
	return strings.Trim(name, "_-")
}
