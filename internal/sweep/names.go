package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
)

const (
	// maxName limits the length of a name: a folder's name has at most 255 bytes.
	maxName = 200
	// slash stands for / in the name of a folder. No server's name contains it.
	slash = "~"
)

// safeName matches names that are valid as a folder's name on every system after / is
// replaced.
var safeName = lazyregexp.New(`^[A-Za-z0-9@_][A-Za-z0-9@_.+ -]*(/[A-Za-z0-9@_][A-Za-z0-9@_.+ -]*)*$`)

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

// nameFolders gives each server its folder. No two names may differ in case alone:
// some file systems have one folder for both.
func nameFolders(entries []Entry) error {
	taken := make(map[string]string, len(entries))
	for i := range entries {
		e := &entries[i]
		folder, wrong := folderOf(e.Name)
		if wrong != "" {
			return usagef("give it another name; it is used for a folder and a row of the table", "the name of server %q can't be used: %s", shorten(e.Name, 80), wrong)
		}
		other, double := taken[strings.ToLower(folder)]
		switch {
		case double && other == e.Name:
			return usagef("give each its own name", "two servers have the name %q", e.Name)
		case double:
			return usagef("give one of them another name: some file systems have one folder for both", "servers %q and %q differ only in case", other, e.Name)
		}
		taken[strings.ToLower(folder)] = e.Name
		e.Folder = folder
	}
	return nil
}

// shorten returns text if it has at most size bytes, otherwise its first size bytes with an
// ellipsis.
func shorten(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}
