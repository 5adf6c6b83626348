package resources

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const sizeRaw = "resources.read.size-is-raw-bytes"

// resizings are the numbers for successive calls of the tool that changes the resource. If the
// arguments have a placeholder for the number, the changed contents are likely to differ in length.
var resizings = []int{1, 10, 100}

// resizeResource changes a resource until its contents have another length, and compares this
// length with the size in the list. The reads before and after show that nothing else changes the
// resource.
func resizeResource(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.ChangesResource)
	_, uri, _ := t.Inventory.ResourceChangeCall()
	c := t.Conversation(ctx)
	before := listAndRead(ctx, t, c, uri)
	for _, n := range resizings {
		change, _, _ := t.Inventory.NumberedResourceChangeCall(n)
		if !c.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(0)).Succeeded() {
			t.GiveUp("the call that should change the resource fails")
		}
		t.AwaitQuiet(ctx, c)
		if _, now := readContents(ctx, t, c, uri); now.bytes != before.contents.bytes {
			first := listAndRead(ctx, t, c, uri)
			t.AwaitQuiet(ctx, c) // the list may be updated a little later
			judgeResized(t, c, before, first, listAndRead(ctx, t, c, uri))
			return
		}
	}
	t.GiveUp("the call does not change the length of the resource")
}

// judgeResized judges the sizes in two lists after a change. A new size that is not the number of
// bytes read may be that of another encoding.
func judgeResized(t *suite.T, c *client.Conversation, before, first, second sizedContents) {
	switch {
	case second.size == second.contents.bytes:
		t.MarkKept(sizeRaw)
	case first.contents != second.contents || first.size != second.size || second.size != before.size:
		t.GiveUp("the resource changes by itself, or the server counts its size in another way")
	default:
		t.Report(c, verdict.Deviation{
			Requirement: sizeRaw,
			Summary:     "The server lists the old size of a resource that has changed.",
			Permitted:   "the number of bytes of the contents as they are now, or no size",
			Seen:        fmt.Sprintf("size %d before and after the change, and %d bytes read before, %d after", second.size, before.contents.bytes, second.contents.bytes),
			At:          slices.Concat(before.list.Positions(), second.list.Positions(), second.read.Positions()),
		})
	}
}

// sizedContents is the size of a resource in the list, and its contents.
type sizedContents struct {
	list, read *client.Reply
	size       int64
	contents   contents
}

// contents is the only item in the contents of a resource: its text or base64, and the number of
// raw bytes.
type contents struct {
	text  string
	bytes int64
}

// listAndRead returns the size of a resource in the list, and its contents. It ends the case if
// there is no size, if clients may use a cached list, or if the contents change meanwhile.
func listAndRead(ctx context.Context, t *suite.T, c *client.Conversation, uri string) sizedContents {
	_, earlier := readContents(ctx, t, c, uri)
	s := sizedContents{size: -1}
	walkPages(ctx, c, spec.MethodResourcesList, func(r *client.Reply) (more bool) {
		for _, item := range wire.Elements(wire.At(r.Message.Result(), "/resources")) {
			if of, _ := wire.Text(wire.At(item, "/uri")); of != uri {
				continue
			}
			lifetime, _ := wire.Integer(wire.At(r.Message.Result(), "/ttlMs"))
			if n, ok := wire.Integer(wire.At(item, "/size")); ok && lifetime <= 0 {
				s.list, s.size = r, n
			}
			return false
		}
		return true
	})
	if s.list == nil {
		t.GiveUp("the list gives no size for the resource that changes, or may be out of date")
	}
	if s.read, s.contents = readContents(ctx, t, c, uri); s.contents != earlier {
		t.GiveUp("the resource changes by itself")
	}
	return s
}

// readContents reads a resource. It ends the case if the contents are not those of this resource
// alone.
func readContents(ctx context.Context, t *suite.T, c *client.Conversation, uri string) (*client.Reply, contents) {
	r := readResource(ctx, c, uri)
	if r.Succeeded() {
		if items := wire.Elements(wire.At(r.Message.Result(), "/contents")); len(items) == 1 {
			of, _ := wire.Text(wire.At(items[0], "/uri"))
			text, isText := wire.Text(wire.At(items[0], "/text"))
			if isText && of == uri {
				return r, contents{text, int64(len(text))}
			}
			blob, isBlob := wire.Text(wire.At(items[0], "/blob"))
			if raw, err := base64.StdEncoding.DecodeString(blob); isBlob && err == nil && of == uri {
				return r, contents{blob, int64(len(raw))}
			}
		}
	}
	t.GiveUp("the server does not return the resource that changes as one text or blob")
	return nil, contents{}
}
