package suite

import (
	"net/url"
	"path/filepath"
	"strings"
)

// FileURI returns the URI of the file or folder with this absolute path. It does not resolve
// elements such as "..".
func FileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}
