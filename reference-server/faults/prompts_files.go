package faults

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// fileFaults read files that nobody may have.
func fileFaults() []Fault {
	return []Fault{
		breaks("prompts.security.validate-inputs-and-outputs/path", "an argument of a prompt that is a path is replaced by the file", showsFiles("")),
		breaks("prompts.security.validate-inputs-and-outputs/uri", "an argument of a prompt that is the URI of a file is replaced by the file", showsFiles("file://")),
	}
}

// showsFiles replaces arguments that name files by the beginning of those. It
// reads those below the folder of temporary files, and no others.
func showsFiles(prefix string) refserver.Seams {
	return Handle(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		_, p := wire.Members(c.Params)
		_, given := wire.Members(p["arguments"])
		for name, value := range given {
			text, _ := wire.Text(value)
			path, named := strings.CutPrefix(text, prefix)
			if held, ok := temporary(path); named && ok {
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

// mostOfFile bounds what a fault reads of a file.
const mostOfFile = 4096

// temporary returns the beginning of a file below the folder of temporary
// files.
func temporary(path string) (string, bool) {
	if !strings.HasPrefix(filepath.Clean(path), filepath.Clean(os.TempDir())+string(filepath.Separator)) {
		return "", false
	}
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return "", false
	}
	return strings.ToValidUTF8(string(text[:min(len(text), mostOfFile)]), ""), true
}
