package faults

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// fileFaults returns the faults that put the content of a file in place of an argument.
func fileFaults() []*Fault {
	return []*Fault{
		newFault("prompts.security.validate-inputs-and-outputs/path", "prompts/get replaces an argument that is a path with the file", replaceByFiles("")),
		newFault("prompts.security.validate-inputs-and-outputs/uri", "prompts/get replaces an argument that is a file: URI with the file", replaceByFiles("file://")),
	}
}

// replaceByFiles replaces each argument that consists of the prefix and the path of a file with
// the beginning of that file. It reads only files in the temporary folder.
func replaceByFiles(prefix string) *refserver.Seams {
	return WrapHandler(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		_, p := wire.Members(c.Params)
		_, given := wire.Members(p["arguments"])
		for name, value := range given {
			text, _ := wire.Text(value)
			path, named := strings.CutPrefix(text, prefix)
			if held, ok := readTemporary(path); named && ok {
				given[name] = wire.Quote(held)
			}
		}
		if given != nil {
			p["arguments"] = wire.JSON(given)
			c.Params = wire.JSON(p)
		}
		return next(c)
	})
}

// maxFileBytes limits how much of a file a fault returns.
const maxFileBytes = 4096

// readTemporary returns the beginning of a file in the temporary folder, and reports
// whether it could read it. It refuses all other files.
func readTemporary(path string) (string, bool) {
	if !strings.HasPrefix(filepath.Clean(path), filepath.Clean(os.TempDir())+string(filepath.Separator)) {
		return "", false
	}
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return "", false
	}
	return strings.ToValidUTF8(string(text[:min(len(text), maxFileBytes)]), ""), true
}
