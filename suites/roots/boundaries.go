package roots

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	withinRoots    = "roots.boundaries.respected"
	pathsValidated = "roots.paths.validated"
)

// rootFolders is a folder with two subfolders: one is the client's only root, the other is not a
// root. There is a file in each.
type rootFolders struct {
	folder, root                  string
	inside, outside               string // the files
	insideContent, outsideContent string // the contents of the files
}

// newRootFolders creates the folders in a temporary directory.
func newRootFolders() (*rootFolders, error) {
	folder, err := os.MkdirTemp("", "mcp-conform-")
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	g := &rootFolders{folder: folder, root: filepath.Join(folder, "root"), insideContent: "mcp-conform-" + rand.Text(), outsideContent: "mcp-conform-" + rand.Text()}
	g.inside, g.outside = filepath.Join(g.root, "inside.txt"), filepath.Join(folder, "beside", "outside.txt")
	err = errors.Join(os.Mkdir(g.root, 0o700), os.Mkdir(filepath.Dir(g.outside), 0o700),
		os.WriteFile(g.inside, []byte(g.insideContent), 0o600), os.WriteFile(g.outside, []byte(g.outsideContent), 0o600))
	if err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

func (g *rootFolders) remove() { _ = os.RemoveAll(g.folder) }

// roots returns the result of roots/list.
func (g *rootFolders) roots() object {
	return object{"roots": []any{object{"uri": suite.FileURI(g.root), "name": "mcp-conform"}}}
}

// pathWithDots returns an absolute path of the outside file that begins with the root, and leaves
// the root with "..".
func (g *rootFolders) pathWithDots() string {
	return g.root + "/../beside/" + filepath.Base(g.outside)
}

// fileReader requests a file by its path.
type fileReader struct {
	method string
	params func(path string) object
}

// fileReaders returns the ways to request files from this server: its resources, and tools that
// are known to read the file with a given path.
func fileReaders(t *suite.T) []fileReader {
	var out []fileReader
	if t.Inventory.Declares("resources") {
		out = append(out, fileReader{spec.MethodResourcesRead, func(path string) object { return object{"uri": suite.FileURI(path)} }})
	}
	for _, name := range []string{"read_text_file", "read_file"} {
		tool, ok := t.Inventory.Tool(name)
		if kind, _ := wire.Text(wire.At(tool.Raw, "/inputSchema/properties/path/type")); ok && kind == "string" {
			out = append(out, fileReader{spec.MethodToolsCall, func(path string) object {
				return object{"name": name, "arguments": object{"path": path}}
			}})
			break
		}
	}
	return out
}

// checkBoundaries requests files outside the roots from a server that has requested the roots. g
// is nil if the folders could not be created; then it does nothing.
func checkBoundaries(ctx context.Context, t *suite.T, c *client.Conversation, g *rootFolders) {
	ways := fileReaders(t)
	switch {
	case g == nil:
	case len(ways) == 0:
		reportNotApplicable(t, "mcp-conform knows no tool or resource of the server that reads files by name")
	case !suite.IsOnSameMachine(c):
		reportNotApplicable(t, "the server may run on another machine, where mcp-conform can't write files for it")
	case !awaitRootsRequest(ctx, c, 0, time.Millisecond):
		reportNotApplicable(t, "the server did not request the roots")
	case c.AwaitQuiet(ctx) == nil: // by now the server knows the roots
		for _, way := range ways {
			g.judge(ctx, t, c, way)
		}
	}
}

func reportNotApplicable(t *suite.T, reason string) {
	t.MarkNotApplicable(withinRoots, reason)
	t.MarkNotApplicable(pathsValidated, reason)
}

// judge requests files outside the root, and one file inside it for comparison. If that file can't
// be read, a refusal of the others shows nothing.
func (g *rootFolders) judge(ctx context.Context, t *suite.T, c *client.Conversation, way fileReader) {
	shows := func(path, content string) (*client.Reply, bool) {
		r := c.Do(ctx, way.method, way.params(path), client.Within(callTime))
		return r, r.Answered() && strings.Contains(string(r.Message.Raw), content)
	}
	_, reads := shows(g.inside, g.insideContent)
	for _, o := range []struct{ requirement, path, summary string }{
		{withinRoots, g.outside, "The server reads a file outside the client's roots."},
		{pathsValidated, g.pathWithDots(), "The server follows a path with .. out of the client's roots."},
	} {
		r, shown := shows(o.path, g.outsideContent)
		switch {
		case shown:
			t.Report(c, verdict.Deviation{
				Requirement: o.requirement, Summary: o.summary,
				Permitted: "an error, because the file is outside all roots",
				Seen:      suite.Describe(r),
				At:        transcript.Positions(r.Sent, r.Event),
			})
			if o.requirement == withinRoots {
				return // a path with .. would show nothing more
			}
		case reads && r.Answered():
			t.MarkKept(o.requirement)
		}
	}
}
