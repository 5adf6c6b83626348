package faults

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// boundaryFaults leave the roots.
func boundaryFaults() []Fault {
	return []Fault{
		breaks("roots.boundaries.respected/read", "files outside of the roots can be read", readsFiles(func(_ *refserver.Call, path string) bool { return filepath.Clean(path) == path })),
		breaks("roots.paths.validated/dots", "two dots in a path lead out of the roots", readsFiles(func(_ *refserver.Call, path string) bool { return filepath.Clean(path) != path })),
	}
}

// legalFiles are the variations of what reads files.
func legalFiles() []Fault {
	root := string(filepath.Separator) + "root" + string(filepath.Separator)
	return []Fault{
		legal("files-in-the-root", "files in a folder called root can be read, which is that of the harness, and no others", readsFiles(func(_ *refserver.Call, path string) bool {
			return strings.Contains(filepath.Clean(path), root)
		})),
		legal("prompts-of-files", "prompts say that their arguments name files, and show these", together(showsFiles(""), EditResult(spec.MethodPromptsList, func(r map[string]any) {
			for _, p := range items(r, "prompts") {
				p["description"] = "Shows the file that an argument names."
			}
		}))),
		legalAfresh("roots-remembered", "a tool asks for the roots once, and the server asks anew when they have changed", rememberedRoots),
	}
}

// readsFiles serves those files below the folder of temporary ones.
func readsFiles(when func(c *refserver.Call, path string) bool) refserver.Seams {
	return Handle(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		uri, _ := wire.Text(wire.At(c.Params, "/uri"))
		path, isFile := strings.CutPrefix(uri, "file://")
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
		if !isFile || !when(c, path) {
			return next(c)
		}
		text, ok := temporary(path)
		if !ok {
			return next(c)
		}
		return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": text}}}, nil
	})
}
