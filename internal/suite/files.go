package suite

import (
	"net/url"
	"path/filepath"
	"strings"
)

// FileURI returns the URI of the file or folder with this absolute path. What
// leads up in it stays.
func FileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}
