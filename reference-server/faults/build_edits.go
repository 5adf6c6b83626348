package faults

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// An edit changes a decoded object, such as a result or a member of it.
type edit = func(m map[string]any)

// setValue sets a member to a value. A value of type jsontext.Value is raw JSON.
//
//go:noinline
func setValue(name string, value any) edit { return func(m map[string]any) { m[name] = value } }

// omitMembers removes members.
func omitMembers(names ...string) edit {
	return func(m map[string]any) {
		for _, name := range names {
			delete(m, name)
		}
	}
}

// renameMember moves a member to another name.
func renameMember(from, to string) edit {
	return func(m map[string]any) {
		m[to] = m[from]
		delete(m, from)
	}
}

// editMember edits the object in a member. If the member is absent or not an object, editMember
// first sets it to an empty object.
//
//go:noinline
func editMember(name string, e edit) edit {
	return func(m map[string]any) {
		inner, ok := m[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[name] = inner
		}
		e(inner)
	}
}

// editItems edits the objects in an array member.
func editItems(name string, e edit) edit {
	return func(m map[string]any) {
		for _, inner := range objectsIn(m, name) {
			e(inner)
		}
	}
}

// ifHas edits objects that have a member.
func ifHas(name string, e edit) edit {
	return func(m map[string]any) {
		if _, ok := m[name]; ok {
			e(m)
		}
	}
}

func rawJSON(text string) jsontext.Value { return jsontext.Value(text) }

// listMembers maps each list method, and resources/read, to the member of its result that holds the
// items.
var listMembers = map[string]string{
	spec.MethodToolsList:          "tools",
	spec.MethodResourcesList:      "resources",
	spec.MethodResourcesTemplates: "resourceTemplates",
	spec.MethodPromptsList:        "prompts",
	spec.MethodResourcesRead:      "contents",
}

// editListItems edits every item of a list, or all contents of resources/read.
//
//go:noinline
func editListItems(method string, e edit) *refserver.Seams {
	return EditResult(method, editItems(listMembers[method], e))
}

// editBlocks edits the content blocks of a kind, or of every kind if kind is empty, in
// results of tools/call or prompts/get.
//
//go:noinline
func editBlocks(method, kind string, e edit) *refserver.Seams {
	return EditResult(method, func(r map[string]any) {
		found := objectsIn(r, "content")
		for _, message := range objectsIn(r, "messages") {
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

func editPromptBlocks(kind string, e edit) *refserver.Seams {
	return editBlocks(spec.MethodPromptsGet, kind, e)
}

// editToolBlocks is editBlocks for tools/call and tasks/result.
func editToolBlocks(kind string, e edit) *refserver.Seams {
	return combineSeams(editBlocks(spec.MethodToolsCall, kind, e), editBlocks(spec.MethodTasksResult, kind, e))
}

// setAnnotation sets a member of the annotations of every item of a list.
func setAnnotation(method, name string, value any) *refserver.Seams {
	return editListItems(method, editMember("annotations", setValue(name, value)))
}

// editIcons edits the icons of every item of a list or, for initialize, the icons in serverInfo.
func editIcons(method string, e edit) *refserver.Seams {
	if method == spec.MethodInitialize {
		return EditResult(method, editMember("serverInfo", editItems("icons", e)))
	}
	return editListItems(method, editItems("icons", e))
}

// replaceObject replaces an object with raw JSON.
func replaceObject(text string) edit {
	return func(m map[string]any) {
		clear(m)
		for name, v := range decodeObject(rawJSON(text)) {
			m[name] = v
		}
	}
}

// editSentParams edits the params of the server's requests or notifications of a
// method.
func editSentParams(method string, e edit) *refserver.Seams {
	when := func(o *refserver.Out) bool {
		return (o.Kind == refserver.OutRequest || o.Kind == refserver.OutNotification) && o.Method == method
	}
	return EditMessage(when, func(m Members) {
		params := map[string]any{}
		if m["params"] != nil {
			params = decodeObject(m["params"])
		}
		e(params)
		m["params"] = wire.JSON(params)
	})
}

// notifyOnInitialized sends a notification after notifications/initialized. The
// params are raw JSON, or "" for none.
func notifyOnInitialized(method, params string) *refserver.Seams {
	return onInitialized(func(s *refserver.Session) {
		if params == "" {
			s.SendRaw(wire.NewNotification(method, nil))
			return
		}
		s.SendRaw(wire.NewNotification(method, rawJSON(params)))
	})
}

// editResultOfAdd edits the results of the tool add, which has structured content.
func editResultOfAdd(e edit) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if name, _ := wire.Text(wire.At(c.Params, "/name")); err != nil || name != "add" {
			return result, err
		}
		r := decodeObject(result)
		e(r)
		return r, nil
	})
}

// revisionsWithReadOnlyHint returns the revisions that define readOnlyHint. In the other revisions
// the harness calls no tool unless the user allows it.
func revisionsWithReadOnlyHint() []spec.Revision { return sinceRevision(spec.V20250326) }

// sinceRevision returns revision r and the later handshake revisions.
func sinceRevision(r spec.Revision) []spec.Revision {
	return slices.DeleteFunc(spec.HandshakeRevisions(), func(x spec.Revision) bool { return !x.AtLeast(r) })
}

// olderRevisions returns the handshake revisions except the newest.
func olderRevisions() []spec.Revision {
	all := spec.HandshakeRevisions()
	return all[:len(all)-1]
}
