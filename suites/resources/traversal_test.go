package resources

import (
	"slices"
	"strings"
	"testing"
)

// TestTraversalURIs checks that each kind of path that a server offers leads to URIs outside of it.
func TestTraversalURIs(t *testing.T) {
	up := strings.Repeat("../", upSteps)
	escaped := strings.Repeat("..%2F", upSteps)
	for _, c := range []struct {
		name, resource, template string
		want                     string // one of the URIs; "" if there must be none
	}{
		{"a simple template", "", "file:///srv/{path}", "file:///srv/" + escaped + "etc%2Fpasswd"},
		{"a template that keeps slashes", "", "file:///srv/{+path}", "file:///srv/" + up + "etc/passwd"},
		{"a template with a list", "", "notes:/{folder}{/path*}", "notes:/" + anyValue + "/" + escaped + "etc%2Fpasswd"},
		{"a template without a variable", "", "file:///srv/a", ""},
		{"a template that is not valid", "", "file:///srv/{", ""},
		{"a template on the web", "", "https://example.com/{+path}", ""},
		{"a resource", "file:///srv/docs/a.txt", "", "file:///srv/docs/" + up + "etc/passwd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var resources, templates []string
			if c.resource != "" {
				resources = append(resources, c.resource)
			}
			if c.template != "" {
				templates = append(templates, c.template)
			}
			got := traversalURIs(resources, templates, "etc/passwd")
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
