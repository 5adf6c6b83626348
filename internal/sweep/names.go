package sweep

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/target"
)

const (
	// maxName limits the length of a name, because a folder's name has at most 255 bytes.
	maxName = 200
	// slash stands for / in the name of a folder. No name that safeName matches contains it.
	slash = "~"
)

// safeName matches names that are valid as a folder's name on every system after / is
// replaced.
var safeName = lazyregexp.New(`^[A-Za-z0-9@_][A-Za-z0-9@_.+ -]*(/[A-Za-z0-9@_][A-Za-z0-9@_.+ -]*)*$`)

// unsafeInName matches each character that derivedFolder replaces: all but letters, digits, @, _, +
// and -.
var unsafeInName = lazyregexp.New(`[^A-Za-z0-9@_+-]`)

// reservedNames are names that Windows gives to devices.
var reservedNames = []string{
	"con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// folderOf returns the name of the folder of a server, or what is wrong with the
// server's name.
func folderOf(name string) (folder, wrong string) {
	stem, _, _ := strings.Cut(name, ".")
	switch {
	case len(name) > maxName:
		return "", fmt.Sprintf("it has %d characters; at most %d are allowed", len(name), maxName)
	case !safeName.MatchString(name):
		return "", "a name may contain only letters, digits, and . _ - + @ / or spaces between them"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "", "it ends with a dot or a space"
	case slices.Contains(reservedNames, strings.ToLower(stem)):
		return "", "it is the name of a device on Windows"
	}
	return strings.ReplaceAll(name, "/", slash), ""
}

// derivedFolder returns the folder of a server whose name can't be the name of a folder, or differs
// from the name of another server only in case.
func derivedFolder(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("_%.*s-%x", maxName/2, unsafeInName.ReplaceAllString(name, "_"), sum[:8])
}

// printableName returns a name from a registry with each character that a table can't show replaced
// with _. It shortens the name to maxName bytes.
func printableName(name string) string {
	return shorten(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name), maxName)
}

// isFolderOf reports whether the folder is one that nameFolders gives a server of that name.
func isFolderOf(folder, name string) bool {
	own, wrong := folderOf(name)
	return wrong == "" && folder == own || folder == derivedFolder(name)
}

// nameFolders gives each server its folder. No two folders differ in case alone, because some file
// systems have one folder for both. If a name can't be the name of a folder, or differs from
// another only in case, a foreign server (see Entry.isForeign) gets a derived folder, and any other
// server is an error. Two servers with the same name are an error too, except that the result omits
// foreign entries that exactly repeat an earlier one, as in pages of a registry. The errors are of
// type *target.UsageError.
func nameFolders(entries []Entry) (out []Entry, errs []error) {
	taken := make(map[string]*Entry, len(entries))
	for i := range entries {
		e := &entries[i]
		complain := func(advice, format string, args ...any) {
			errs = append(errs, &target.UsageError{Where: e.place, What: fmt.Sprintf(format, args...), Advice: advice})
		}
		folder, wrong := folderOf(e.Name)
		other := taken[strings.ToLower(folder)]
		if e.isForeign && (wrong != "" || other != nil && other.Name != e.Name) {
			folder, wrong = derivedFolder(e.Name), ""
			other = taken[strings.ToLower(folder)]
		}
		if e.isForeign && other != nil && other.Name == e.Name && bytes.Equal(other.text, e.text) {
			continue
		}
		switch {
		case wrong != "":
			complain("give it another name; it is used for a folder and a row of the table", "the name of server %q can't be used: %s", shorten(e.Name, 80), wrong)
		case other != nil && other.Name == e.Name:
			complain("give each its own name (the other one: "+other.place+")", "two servers have the name %q", e.Name)
		case other != nil:
			complain("give one of them another name: some file systems have one folder for both", "servers %q and %q differ only in case", other.Name, e.Name)
		default:
			e.Folder = folder
			taken[strings.ToLower(folder)] = e
			out = append(out, *e)
		}
	}
	return out, errs
}

// shorten returns text if it has at most size bytes, otherwise at most its first size bytes, cut at
// a character boundary, with an ellipsis.
func shorten(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}
