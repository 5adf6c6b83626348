package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// mostFolders bounds the folders that are watched.
const mostFolders = 4096

// unwatched are the names of folders that hold what others made.
var unwatched = []string{"node_modules", "__pycache__", "venv", "target", "dist", "vendor"}

// files watches the files below some folders.
type files struct {
	watcher *fsnotify.Watcher
	changes chan string
	roots   []string
	// without are paths that are not looked at, with all below them.
	without []string
	folders map[string]bool // that are watched with all that is in them
	single  map[string]bool // files that are watched by themselves
	// cut: there were more folders than are watched.
	cut   bool
	stop  chan struct{}
	ended chan struct{}
}

// watchFiles begins to watch; what is below roots and not below without.
func watchFiles(roots, without []string) (*files, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	f := &files{
		watcher: w, changes: make(chan string), stop: make(chan struct{}), ended: make(chan struct{}),
		folders: map[string]bool{}, single: map[string]bool{},
	}
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{roots, &f.roots}, {without, &f.without}} {
		for _, path := range list.from {
			whole, err := filepath.Abs(path)
			if err != nil {
				return nil, errors.Join(err, w.Close())
			}
			*list.to = append(*list.to, whole)
		}
	}
	for _, root := range f.roots {
		if err := f.add(root); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	go f.follow()
	return f, nil
}

// Close ends the watch.
func (f *files) Close() error {
	close(f.stop)
	err := f.watcher.Close()
	<-f.ended
	return err
}

// add watches a folder and those below it, or the folder of a file.
func (f *files) add(root string) error {
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	if !info.IsDir() { // a file that is replaced is another one, so its folder is watched
		f.single[root] = true
		return f.watcher.Add(filepath.Dir(root))
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil || !d.IsDir():
			return nil //nolint:nilerr // what can't be read can't be watched
		case path != root && !f.wants(path):
			return filepath.SkipDir
		case len(f.folders) >= mostFolders:
			f.cut = true
			return filepath.SkipAll
		}
		f.folders[path] = true
		return f.watcher.Add(path)
	})
}

// wants reports whether a path below a root is looked at: hidden ones are not,
// nor what editors put beside a file.
func (f *files) wants(path string) bool {
	if slices.ContainsFunc(f.without, func(other string) bool {
		return path == other || strings.HasPrefix(path, other+string(filepath.Separator))
	}) {
		return false
	}
	name := filepath.Base(path)
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".swp") || strings.HasPrefix(name, "#") || name == "4913" {
		return false
	}
	return !slices.Contains(unwatched, name)
}

// follow hands on what changes.
func (f *files) follow() {
	defer close(f.ended)
	defer close(f.changes)
	for {
		select {
		case <-f.stop:
			return
		case event, open := <-f.watcher.Events:
			if !open {
				return
			}
			if event.Op == fsnotify.Chmod || !f.single[event.Name] && (!f.folders[filepath.Dir(event.Name)] || !f.wants(event.Name)) {
				continue
			}
			if info, err := os.Stat(event.Name); err == nil && info.IsDir() {
				if event.Has(fsnotify.Create) {
					_ = f.add(event.Name) // one that is gone again needs no watch
				} else {
					continue
				}
			}
			f.tell(event.Name)
		case _, open := <-f.watcher.Errors: // too much at once: something has changed
			if !open {
				return
			}
			f.tell(f.roots[0])
		}
	}
}

// tell hands on that a path has changed, unless the watch ends.
func (f *files) tell(path string) {
	select {
	case f.changes <- path:
	case <-f.stop:
	}
}
