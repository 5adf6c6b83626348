package suite

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// WithoutMeta returns the _meta that c adds to its requests, without the given keys.
func WithoutMeta(c *client.Conversation, keys ...string) map[string]any {
	meta := c.Metadata()
	for _, key := range keys {
		delete(meta, key)
	}
	return meta
}

// WithMeta returns the _meta that c adds to its requests, with key set to value.
func WithMeta(c *client.Conversation, key string, value any) map[string]any {
	meta := c.Metadata()
	meta[key] = value
	return meta
}

// RequestWith returns a request whose params have only _meta, with the given value.
func RequestWith(id wire.ID, method string, meta any) []byte {
	return wire.NewRequest(id, method, map[string]any{"_meta": meta})
}

// SupportedVersions returns the versions in the server's response to server/discover that are
// published revisions of the era.
func (t *T) SupportedVersions(era spec.Era) []string {
	var out []string
	for _, v := range wire.Elements(wire.At(t.Inventory.Server.Result, "/supportedVersions")) {
		if version, ok := wire.Text(v); ok && spec.Revision(version).IsPublished() && spec.Revision(version).Era() == era {
			out = append(out, version)
		}
	}
	return out
}

// SpeaksHandshake reports whether the server is known to serve a handshake revision, too. If it
// returns false, the server may still serve one, because some servers list only the versions that
// can be used after server/discover.
func (t *T) SpeaksHandshake() bool {
	return len(t.SupportedVersions(spec.Handshake)) > 0 || slices.ContainsFunc(t.KnownRevisions, func(r spec.Revision) bool { return r.Era() == spec.Handshake })
}

// HandshakeRevision returns the newest handshake revision in the server's response to server/discover,
// or the newest one of all if there is none.
func (t *T) HandshakeRevision() spec.Revision {
	if listed := t.SupportedVersions(spec.Handshake); len(listed) > 0 {
		return spec.Revision(slices.Max(listed))
	}
	return spec.NewestHandshake
}

// DeclaredLists returns the list methods, such as tools/list, whose capability the server declares.
func (t *T) DeclaredLists() []string { return t.listMethods(true) }

// DeclaredListOr returns the first of DeclaredLists, or the given method if the server declares no
// list.
func (t *T) DeclaredListOr(method string) string {
	if lists := t.DeclaredLists(); len(lists) > 0 {
		return lists[0]
	}
	return method
}

// UndeclaredLists returns the list methods, such as tools/list, whose capability the server does
// not declare.
func (t *T) UndeclaredLists() []string { return t.listMethods(false) }

func (t *T) listMethods(declared bool) []string {
	var out []string
	for _, l := range []struct{ capability, method string }{
		{"tools", spec.MethodToolsList}, {"resources", spec.MethodResourcesList}, {"prompts", spec.MethodPromptsList},
	} {
		if t.Inventory.Declares(l.capability) == declared {
			out = append(out, l.method)
		}
	}
	return out
}
