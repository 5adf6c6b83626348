package faults

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// What the faults of shape are made of: edits of the objects that results,
// requests and notifications hold.

// edit alters a decoded object.
type edit = func(m map[string]any)

// put sets a member; raw JSON is a jsontext.Value.
func put(name string, value any) edit { return func(m map[string]any) { m[name] = value } }

// leaveOut drops members.
func leaveOut(names ...string) edit {
	return func(m map[string]any) {
		for _, name := range names {
			delete(m, name)
		}
	}
}

// rename moves a member to another name.
func rename(from, to string) edit {
	return func(m map[string]any) {
		m[to] = m[from]
		delete(m, from)
	}
}

// inside edits the object that a member holds, or makes it.
func inside(name string, e edit) edit {
	return func(m map[string]any) {
		inner, ok := m[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[name] = inner
		}
		e(inner)
	}
}

// inEach edits the objects in an array that a member holds.
func inEach(name string, e edit) edit {
	return func(m map[string]any) {
		for _, inner := range items(m, name) {
			e(inner)
		}
	}
}

// having edits the objects that have a member.
func having(name string, e edit) edit {
	return func(m map[string]any) {
		if _, ok := m[name]; ok {
			e(m)
		}
	}
}

func raw(text string) jsontext.Value { return jsontext.Value(text) }

// listMembers are the members that hold the items of the lists.
var listMembers = map[string]string{
	spec.MethodToolsList:          "tools",
	spec.MethodResourcesList:      "resources",
	spec.MethodResourcesTemplates: "resourceTemplates",
	spec.MethodPromptsList:        "prompts",
	spec.MethodResourcesRead:      "contents",
}

// listed edits every item of a list, or what is read of every resource.
func listed(method string, e edit) refserver.Seams {
	return EditResult(method, inEach(listMembers[method], e))
}

// blocks edits the content blocks of a kind, or of every kind where it is
// empty, in results of tools/call or prompts/get.
func blocks(method, kind string, e edit) refserver.Seams {
	return EditResult(method, func(r map[string]any) {
		found := items(r, "content")
		for _, message := range items(r, "messages") {
			if block, ok := message["content"].(map[string]any); ok {
				found = append(found, block)
			}
		}
		for _, block := range found {
			if kind == "" || block["type"] == kind {
				e(block)
			}
		}
	})
}

func inPrompts(kind string, e edit) refserver.Seams { return blocks(spec.MethodPromptsGet, kind, e) }

// inTools edits what tools return, at once or later.
func inTools(kind string, e edit) refserver.Seams {
	return together(blocks(spec.MethodToolsCall, kind, e), blocks(spec.MethodTasksResult, kind, e))
}

// annotated sets a member of the annotations of every item of a list.
func annotated(method, name string, value any) refserver.Seams {
	return listed(method, inside("annotations", put(name, value)))
}

// iconed edits the icons of every item of a list, or of the server itself.
func iconed(method string, e edit) refserver.Seams {
	if method == spec.MethodInitialize {
		return EditResult(method, inside("serverInfo", inEach("icons", e)))
	}
	return listed(method, inEach("icons", e))
}

// becomes makes an object another one, raw JSON.
func becomes(text string) edit {
	return func(m map[string]any) {
		clear(m)
		for name, v := range plain(raw(text)) {
			m[name] = v
		}
	}
}

// sent edits the params of the server's own requests or notifications of a method.
func sent(method string, e edit) refserver.Seams {
	when := func(o *refserver.Out) bool {
		return (o.Kind == refserver.OutRequest || o.Kind == refserver.OutNotification) && o.Method == method
	}
	return EditMessage(when, func(m Members) {
		params := map[string]any{}
		if m["params"] != nil {
			params = plain(m["params"])
		}
		e(params)
		m["params"] = wire.JSON(params)
	})
}

// tells sends the client a notification when it has said initialized; the
// params are raw JSON, none where they are empty.
func tells(method, params string) refserver.Seams {
	return onceReady(func(s *refserver.Session) {
		if params == "" {
			s.SendRaw(wire.NewNotification(method, nil))
			return
		}
		s.SendRaw(wire.NewNotification(method, raw(params)))
	})
}

// summed edits the results of the tool add, which has structured content.
func summed(e edit) refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if name, _ := wire.Text(wire.At(c.Params, "/name")); err != nil || name != "add" {
			return result, err
		}
		r := plain(result)
		e(r)
		return r, nil
	})
}

// callable returns the revisions in which a tool can say that it only reads, so
// that it gets called: in others none is, unless the user allows it.
func callable() []spec.Revision { return from(spec.V20250326) }

// from is all handshake revisions from r on.
func from(r spec.Revision) []spec.Revision {
	return slices.DeleteFunc(spec.HandshakeRevisions(), func(x spec.Revision) bool { return !x.AtLeast(r) })
}

// beforeNewest is all handshake revisions but the newest.
func beforeNewest() []spec.Revision {
	all := spec.HandshakeRevisions()
	return all[:len(all)-1]
}
