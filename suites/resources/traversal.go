package resources

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/uri"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const traversal = "resources.read.path-traversal"

// maxTraversals limits the URIs that are read.
const maxTraversals = 24

// A systemFile is a file that exists outside of what a server offers. Its content is known
// and holds no secret.
type systemFile struct {
	path    string // without a leading slash
	content *lazyregexp.Regexp
}

var systemFiles = []systemFile{
	{"etc/passwd", lazyregexp.New(`(?m)^root:[^:\n]*:0:0:`)},
	{"Windows/win.ini", lazyregexp.New(`(?mi)^\[fonts\]`)},
}

// readOutside reads URIs with paths that lead out of the folders of listed resources and of
// templates. A server that also serves the file by its file URI offers the whole file system, so
// that no file is outside of what it offers.
func readOutside(ctx context.Context, t *suite.T) {
	c := sharedConversation(ctx, t)
	for _, file := range systemFiles {
		candidates := traversalURIs(t.Inventory.Resources, t.Inventory.Templates, file.path)
		if len(candidates) == 0 {
			t.GiveUp("no listed resource and no template has a path")
		}
		switch r := readResource(ctx, c, "file:///"+file.path); {
		case !r.Answered():
			return // base.request-answered judges the missing response
		case file.isIn(r):
			t.GiveUp("the server offers /" + file.path + " by its own URI, so no file is out of bounds")
		}
		for _, candidate := range candidates[:min(len(candidates), maxTraversals)] {
			r := readResource(ctx, c, candidate)
			if !r.Answered() {
				return // base.request-answered judges the missing response
			}
			if file.isIn(r) {
				t.Report(c, verdict.Deviation{
					Requirement: traversal,
					Summary:     "The server serves a file outside of the resources that it offers.",
					Permitted:   "an error, or the content of a resource that is offered",
					Seen:        "the content of /" + file.path + " for " + wire.Excerpt(candidate, 120),
					At:          r.Positions(),
				})
				return
			}
		}
	}
	t.MarkKept(traversal)
}

// isIn reports whether the result of resources/read has the content of the file.
func (f *systemFile) isIn(r *client.Reply) bool {
	if !r.Succeeded() {
		return false
	}
	for _, item := range wire.Elements(wire.At(r.Message.Result(), "/contents")) {
		text, _ := wire.Text(wire.At(item, "/text"))
		if blob, ok := wire.Text(wire.At(item, "/blob")); ok {
			data, _ := base64.StdEncoding.DecodeString(blob)
			text = string(data)
		}
		if f.content.MatchString(text) {
			return true
		}
	}
	return false
}

// upSteps is the number of ".." that leads to the root of the file system, from any folder that is
// at most this deep.
const upSteps = 12

// traversalURIs returns URIs with a path that leads from a resource, or from a template, to the
// file: for a template, the plain path in its last variable; for a resource, the path plain, with
// escaped dots, with escaped slashes, and with escaped backslashes instead. Resources on the web
// are left out, because reading them may cause a request to the web.
func traversalURIs(resources, templates []string, file string) []string {
	plain := strings.Repeat("../", upSteps) + file
	ways := []string{
		plain,
		strings.ReplaceAll(plain, "../", "%2e%2e/"),
		strings.ReplaceAll(plain, "/", "%2f"),
		strings.ReplaceAll(plain, "/", `%5c`),
	}
	var out []string
	for _, template := range templates {
		parsed := uri.Parse(template)
		literal, _, _ := strings.Cut(template, "{")
		if _, ok := schemeOf(literal); !ok || len(parsed.Variables) == 0 {
			continue
		}
		values := uritemplate.Values{}
		for _, name := range parsed.Variables {
			values.Set(name, uritemplate.String(anyValue))
		}
		values.Set(parsed.Variables[len(parsed.Variables)-1], uritemplate.String(plain))
		// Templates with any operator are expanded; the most important is {+path}, which keeps
		// slashes.
		if t, err := uritemplate.New(template); err == nil {
			if expanded, err := t.Expand(values); err == nil {
				out = append(out, expanded)
			}
		}
	}
	folders := map[string]bool{}
	for _, resource := range resources {
		i := strings.LastIndexByte(resource, '/')
		if _, ok := schemeOf(resource); i < 0 || !ok || folders[resource[:i+1]] {
			continue
		}
		folders[resource[:i+1]] = true
		for _, way := range ways {
			out = append(out, resource[:i+1]+way)
		}
	}
	return out
}
