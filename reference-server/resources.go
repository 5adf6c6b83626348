package refserver

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// resource is one that has a fixed content. Exactly one of text and blob
// (base64) is set.
type resource struct {
	uri, name, title, mime string
	text, blob             string
	priority               float64 // in annotations; none where it is zero
}

// noteURI names the one resource whose content can change, rootsURI the one
// that shows what the client last said about its roots.
const (
	noteURI  = "demo://note"
	rootsURI = "demo://roots"
)

var (
	helloResource = &resource{uri: "demo://text/hello", name: "hello", title: "A greeting", mime: "text/plain", text: "Hello, world.", priority: 1}
	dotResource   = &resource{uri: "demo://image/dot", name: "dot", title: "One pixel", mime: "image/png", blob: dotPNG}
	extraResource = &resource{uri: "demo://text/extra", name: "extra", title: "Comes and goes", mime: "text/plain", text: "Listed now."}
	resources     = []*resource{
		helloResource,
		dotResource,
		{uri: "demo://text/unicode", name: "unicode", title: "Beyond ASCII", mime: "text/plain; charset=utf-8", text: "Grüße, 世界, 🙂\u2028done\n"},
		{uri: "demo://json/object", name: "object", title: "Some JSON", mime: "application/json", text: `{"answer":42}`},
	}
)

// numberedResources make a list long.
func numberedResources(n int) []*resource {
	out := make([]*resource, n)
	for i := range out {
		number := strconv.Itoa(i + 1)
		out[i] = &resource{uri: "demo://numbered/" + number, name: "numbered-" + number, title: "Resource number " + number, mime: "text/plain", text: number}
	}
	return out
}

func (r *resource) raw() []byte {
	if r.blob == "" {
		return []byte(r.text)
	}
	b, _ := base64.StdEncoding.DecodeString(r.blob)
	return b
}

// entry is what lists and links show of the resource.
func (r *resource) entry(rev spec.Revision) object {
	o := object{"uri": r.uri, "name": r.name, "mimeType": r.mime, "description": r.title + ", for trying out resources.", "size": len(r.raw())}
	decorate(o, rev, r.title)
	if r.priority > 0 {
		o["annotations"] = annotations(rev, r.priority)
	}
	if r == helloResource && rev.AtLeast(spec.V20250618) {
		tagged(o)
	}
	return o
}

// contents is what reading the resource gives.
func (r *resource) contents() object {
	if r.blob != "" {
		return object{"uri": r.uri, "mimeType": r.mime, "blob": r.blob}
	}
	return object{"uri": r.uri, "mimeType": r.mime, "text": r.text}
}

// resources returns those of the session: the fixed ones and its own.
func (s *Session) resources() []*resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := string(s.roots.known)
	if known == "" {
		known = `{"roots":[]}`
	}
	all := slices.Concat(resources, []*resource{{uri: noteURI, name: "note", title: "A note that can be changed", mime: "text/plain", text: s.note},
		{uri: rootsURI, name: "roots", title: "The client's roots", mime: "application/json", text: known},
	})
	if s.o.Fixtures {
		all = append(all, fixtureResources...)
	}
	if s.extra["resources"] {
		all = append(all, extraResource)
	}
	return append(all, s.numbered...)
}

// templates returns the families of resources.
func (s *Session) templates() []*template {
	if s.o.Fixtures {
		return slices.Concat(templates, fixtureTemplates)
	}
	return templates
}

func (c *Call) resourcesList() (any, *Error) {
	return page(c, "resources", c.Session.resources(), func(r *resource) object { return r.entry(c.Revision) })
}

// find returns the resource that uri names, listed or made from a template.
func (s *Session) find(uri string) *resource {
	for _, r := range s.resources() {
		if r.uri == uri {
			return r
		}
	}
	for _, t := range s.templates() {
		if values, ok := t.match(uri); ok {
			if text, ok := t.read(values); ok {
				return &resource{uri: uri, name: t.name, mime: t.mime, text: text}
			}
		}
	}
	return nil
}

// target reads the uri parameter and returns the resource it names.
func (c *Call) target() (*resource, *Error) {
	uri, err := c.fields().text("uri")
	if err != nil {
		return nil, err
	}
	if !isURI(uri) {
		return nil, invalidParams("uri must be an absolute URI")
	}
	r := c.Session.find(uri)
	if r == nil {
		return nil, &Error{Code: spec.CodeResourceNotFound, Message: "Resource not found", Data: object{"uri": uri}}
	}
	return r, nil
}

// isURI asks net/url: the server must not share the opinions of what judges it.
func isURI(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != ""
}

func (c *Call) resourcesRead() (any, *Error) {
	r, err := c.target()
	if err != nil {
		return nil, err
	}
	return object{"contents": []object{r.contents()}}, nil
}

func (c *Call) resourcesSubscribe() (any, *Error)   { return c.subscription(true) }
func (c *Call) resourcesUnsubscribe() (any, *Error) { return c.subscription(false) }

func (c *Call) subscription(on bool) (any, *Error) {
	r, err := c.target()
	if err != nil {
		return nil, err
	}
	c.Session.mu.Lock()
	defer c.Session.mu.Unlock()
	if on {
		c.Session.subs[r.uri] = true
	} else {
		delete(c.Session.subs, r.uri)
	}
	return object{}, nil
}

// setNote changes the note and tells the client if it has subscribed to it.
func (c *Call) setNote(text string) {
	s := c.Session
	s.mu.Lock()
	s.note = text
	subscribed := s.subs[noteURI]
	s.mu.Unlock()
	if subscribed {
		c.Notify(spec.MethodResourcesUpdated, object{"uri": noteURI})
	}
}

// template is a family of resources; its URI template uses only level 1 of
// RFC 6570, one variable a path segment.
type template struct {
	uri, name, title, mime string
	values                 map[string][]string                                         // what the variables may be, for completion
	suits                  func(variable, value string, filled map[string]string) bool // whether a value goes with those filled in; nil where all do
	read                   func(values map[string]string) (string, bool)
	priority               float64 // in annotations; none where it is zero
}

// propose returns the values of a variable that go with what is filled in.
func (t *template) propose(variable string, filled map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(t.values[variable]), func(v string) bool {
		return t.suits != nil && !t.suits(variable, v, filled)
	})
}

// match returns the values of the variables for which t expands to uri.
func (t *template) match(uri string) (map[string]string, bool) {
	pattern, given := strings.Split(t.uri, "/"), strings.Split(uri, "/")
	if len(pattern) != len(given) {
		return nil, false
	}
	values := map[string]string{}
	for i, p := range pattern {
		name, isVariable := strings.CutPrefix(p, "{")
		if !isVariable {
			if p != given[i] {
				return nil, false
			}
			continue
		}
		v, err := url.PathUnescape(given[i])
		if err != nil || v == "" {
			return nil, false
		}
		values[strings.TrimSuffix(name, "}")] = v
	}
	return values, true
}

func (c *Call) templatesList() (any, *Error) {
	return page(c, "resourceTemplates", c.Session.templates(), func(t *template) object {
		o := object{"uriTemplate": t.uri, "name": t.name, "mimeType": t.mime, "description": t.title + ", for trying out templates."}
		decorate(o, c.Revision, t.title)
		if t.priority > 0 {
			o["annotations"] = annotations(c.Revision, t.priority)
		}
		return o
	})
}
