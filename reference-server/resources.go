package refserver

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A resource has contents: either text or blob (base64).
type resource struct {
	uri, name, title, mime string
	text, blob             string
	askForText             func(c *Call) string // requests the text from the client; nil if the text is known
	isVolatile             bool                 // clients should not cache it
	priority               float64              // in annotations; 0 omits it
}

// noteURI is the URI of the resource that the tool update-resource changes. rootsURI is the URI of
// the resource with the client's last result of roots/list.
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

// numberedResources returns n resources, for a long list.
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

// entry returns the object that describes the resource in lists and in resource links.
func (r *resource) entry(rev spec.Revision) object {
	o := object{"uri": r.uri, "name": r.name, "mimeType": r.mime, "description": r.title + ", for trying out resources."}
	if r.askForText == nil {
		o["size"] = len(r.raw())
	}
	addTitleAndIcons(o, rev, r.title)
	if r.priority > 0 {
		o["annotations"] = annotations(rev, r.priority)
	}
	if r == helloResource && rev.AtLeast(spec.V20250618) {
		withMeta(o)
	}
	return o
}

// contents returns the resource as resources/read returns it.
func (r *resource) contents() object {
	if r.blob != "" {
		return object{"uri": r.uri, "mimeType": r.mime, "blob": r.blob}
	}
	return object{"uri": r.uri, "mimeType": r.mime, "text": r.text}
}

// resources returns the resources that the server lists.
func (c *Call) resources() []*resource {
	all := slices.Concat(resources, []*resource{
		{uri: noteURI, name: "note", title: "A note that can be changed", mime: "text/plain", text: c.offer().noteText(), isVolatile: true},
		c.rootsResource(),
	})
	if c.Session.options.Fixtures {
		all = append(all, fixtureResources...)
	}
	if c.offer().showsExtraItem("resources") {
		all = append(all, extraResource)
	}
	return append(all, c.offer().numbered...)
}

// templates returns the resource templates.
func (c *Call) templates() []*template {
	if c.Session.options.Fixtures {
		return slices.Concat(templates, fixtureTemplates)
	}
	return templates
}

func (c *Call) resourcesList() (any, *Error) {
	return listPage(c, "resources", c.resources(), func(r *resource) object { return r.entry(c.Revision) })
}

// findResource returns the resource at uri, whether listed or from a template, or
// nil.
func (c *Call) findResource(uri string) *resource {
	for _, r := range c.resources() {
		if r.uri == uri {
			return r
		}
	}
	for _, t := range c.templates() {
		if values, ok := t.match(uri); ok {
			if text, ok := t.read(values); ok {
				return &resource{uri: uri, name: t.name, mime: t.mime, text: text}
			}
		}
	}
	return nil
}

// targetResource returns the resource that the uri parameter names, or the error for a uri
// that is invalid or names no resource.
func (c *Call) targetResource() (*resource, *Error) {
	uri, err := c.fields().requiredString("uri")
	if err != nil {
		return nil, err
	}
	if !isURI(uri) {
		return nil, invalidParams("uri must be an absolute URI")
	}
	r := c.findResource(uri)
	if r == nil {
		code := spec.CodeResourceNotFound
		if c.isStateless() {
			code = spec.CodeInvalidParams
		}
		return nil, &Error{Code: code, Message: "Resource not found", Data: object{"uri": uri}}
	}
	return r, nil
}

// isURI reports whether text is an absolute URI. It uses net/url, not the package with which the
// harness checks URIs, because a bug shared by both would go unnoticed.
func isURI(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != ""
}

func (c *Call) resourcesRead() (any, *Error) {
	r, err := c.targetResource()
	if err != nil {
		return nil, err
	}
	if r.askForText != nil {
		asked := *r
		asked.text = r.askForText(c)
		r = &asked
	}
	c.isVolatile = r.isVolatile
	return object{"contents": []object{r.contents()}}, nil
}

func (c *Call) resourcesSubscribe() (any, *Error)   { return c.setSubscribed(true) }
func (c *Call) resourcesUnsubscribe() (any, *Error) { return c.setSubscribed(false) }

func (c *Call) setSubscribed(on bool) (any, *Error) {
	r, err := c.targetResource()
	if err != nil {
		return nil, err
	}
	c.Session.mu.Lock()
	defer c.Session.mu.Unlock()
	if on {
		c.Session.subscriptions[r.uri] = true
	} else {
		delete(c.Session.subscriptions, r.uri)
	}
	return object{}, nil
}

// setNote changes the note and notifies its subscribers.
func (c *Call) setNote(text string) {
	c.offer().setNote(text)
	if c.isStateless() {
		c.offer().subscribers.publishUpdate(noteURI)
		return
	}
	s := c.Session
	s.mu.Lock()
	subscribed := s.subscriptions[noteURI]
	s.mu.Unlock()
	if subscribed {
		c.Notify(spec.MethodResourcesUpdated, object{"uri": noteURI})
	}
}

// A template is a resource template. Its URI template uses only level 1 of RFC 6570,
// and each variable is a whole path segment.
type template struct {
	uri, name, title, mime string
	values                 map[string][]string                                         // of the variables, for completion
	isCompatible           func(variable, value string, filled map[string]string) bool // reports whether a value is compatible with the filled-in ones; nil accepts all
	read                   func(values map[string]string) (string, bool)
	priority               float64 // in annotations; 0 omits it
}

// completions returns the values of a variable that are compatible with the filled-in
// values of the other variables.
func (t *template) completions(variable string, filled map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(t.values[variable]), func(v string) bool {
		return t.isCompatible != nil && !t.isCompatible(variable, v, filled)
	})
}

// match returns the values of the variables for which t expands to uri. It returns false if t does
// not match uri, or if a value is empty.
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
	return listPage(c, "resourceTemplates", c.templates(), func(t *template) object {
		o := object{"uriTemplate": t.uri, "name": t.name, "mimeType": t.mime, "description": t.title + ", for trying out templates."}
		addTitleAndIcons(o, c.Revision, t.title)
		if t.priority > 0 {
			o["annotations"] = annotations(c.Revision, t.priority)
		}
		return o
	})
}
