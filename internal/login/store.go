package login

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Store is a folder that contains a file for each login. Only the owner of a file can read it.
type Store struct{ Folder string }

// Save writes the login. It replaces a stored login with the same server and name.
func (s Store) Save(l *Login) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.Folder, ".new-*") // CreateTemp sets mode 600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path(l.Server, l.Name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Get returns the login that is stored for the server under the given name, which may be "". It
// returns nil if there is none.
func (s Store) Get(server, name string) (*Login, error) {
	return readLogin(s.path(server, name))
}

// Delete deletes the login.
func (s Store) Delete(l *Login) error { return os.Remove(s.path(l.Server, l.Name)) }

// All returns all logins, sorted by server and name, and the paths of files that are not logins.
func (s Store) All() (all []*Login, broken []string, err error) {
	paths, err := filepath.Glob(filepath.Join(s.Folder, "*.json"))
	if err != nil {
		return nil, nil, err
	}
	for _, p := range paths {
		l, err := readLogin(p)
		if notOne := (*BrokenError)(nil); errors.As(err, &notOne) {
			broken = append(broken, p)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if l != nil {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *Login) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Name, b.Name))
	})
	return all, broken, nil
}

// A BrokenError is the error for a file that is not a login.
type BrokenError struct{ Path string }

func (e *BrokenError) Error() string { return e.Path + " is not a login" }

// readLogin returns the login in a file, or nil if there is no file. It makes the file unreadable
// for other users.
func readLogin(path string) (*Login, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &Login{}
	if err := json.Unmarshal(text, l); err != nil || l.Token == nil {
		return nil, &BrokenError{path}
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // on Windows, that has no effect
	}
	return l, nil
}

// path returns the file of a login. The name of the file contains the host of the server, for
// humans.
func (s Store) path(server, name string) string {
	host := "server"
	if u, err := url.Parse(server); err == nil {
		host = strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
				return c
			}
			return '-'
		}, strings.ToLower(u.Hostname()))
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", server, name))
	return filepath.Join(s.Folder, host+"-"+hex.EncodeToString(sum[:6])+".json")
}

// ServerName returns the URL of a server as logins store it: with scheme and host in lower case, at
// least "/" as its path, and without user information and fragment.
func ServerName(u *url.URL) string {
	out := url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: cmp.Or(u.Path, "/"), RawQuery: u.RawQuery}
	return out.String()
}
