package faults

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// rootBoundaryFaults returns the faults that read files outside the roots.
func rootBoundaryFaults() []*Fault {
	return []*Fault{
		newFault("roots.boundaries.respected/read", "files outside the roots can be read", serveFiles(func(_ *refserver.Call, path string) bool { return filepath.Clean(path) == path })),
		newFault("roots.paths.validated/dots", "a path with two dots leads out of the roots", serveFiles(func(_ *refserver.Call, path string) bool { return filepath.Clean(path) != path })),
	}
}

// legalFiles returns the legal variations of servers that read files or keep the client's roots.
func legalFiles() []*Fault {
	root := string(filepath.Separator) + "root" + string(filepath.Separator)
	return []*Fault{
		newVariation("files-in-the-root", "only files in the client's root folder can be read", serveFiles(func(_ *refserver.Call, path string) bool {
			return strings.Contains(filepath.Clean(path), root)
		})),
		newVariation("prompts-of-files", "prompts declare arguments that are file names, and return the files", combineSeams(replaceByFiles(""), EditResult(spec.MethodPromptsList, func(r map[string]any) {
			for _, p := range objectsIn(r, "prompts") {
				p["description"] = "Shows the file that an argument names."
			}
		}))),
		newVariationWithState("roots-remembered", "a tool keeps the first roots, but the server requests changed ones", memoizeRoots),
	}
}

// serveFiles serves resources/read of file: URIs that match. It reads only files in
// the temporary folder.
func serveFiles(when func(c *refserver.Call, path string) bool) *refserver.Seams {
	return WrapHandler(spec.MethodResourcesRead, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		uri, _ := wire.Text(wire.At(c.Params, "/uri"))
		path, isFile := strings.CutPrefix(uri, "file://")
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
		if !isFile || !when(c, path) {
			return next(c)
		}
		text, ok := readTemporary(path)
		if !ok {
			return next(c)
		}
		return map[string]any{"contents": []any{map[string]any{"uri": uri, "text": text}}}, nil
	})
}
