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

// maxFolders limits the number of watched folders.
const maxFolders = 4096

// unwatched are the names of folders that contain dependencies or build output.
var unwatched = []string{"node_modules", "__pycache__", "venv", "target", "dist", "vendor"}

// fileWatcher watches files and folders for changes.
type fileWatcher struct {
	watcher *fsnotify.Watcher
	changes chan string
	roots   []string
	// ignored are paths to ignore, together with everything below them.
	ignored []string
	folders map[string]bool // watched folders; isWatched selects the files in them
	single  map[string]bool // files that are watched individually
	// isIncomplete is set if maxFolders was reached, so that some folders are not watched.
	isIncomplete bool
	stop         chan struct{}
	ended        chan struct{}
}

// watchFiles watches the paths in roots and everything below them, except what isWatched rejects.
// The second argument, without, lists paths to ignore.
func watchFiles(roots, without []string) (*fileWatcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	f := &fileWatcher{
		watcher: w, changes: make(chan string), stop: make(chan struct{}), ended: make(chan struct{}),
		folders: map[string]bool{}, single: map[string]bool{},
	}
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{roots, &f.roots}, {without, &f.ignored}} {
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

// Close stops watching.
func (f *fileWatcher) Close() error {
	close(f.stop)
	err := f.watcher.Close()
	<-f.ended
	return err
}

// add watches a folder and its subfolders, or a single file.
func (f *fileWatcher) add(root string) error {
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	if !info.IsDir() { // replacing a file creates a new one, so watch its folder
		f.single[root] = true
		return f.watcher.Add(filepath.Dir(root))
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil || !d.IsDir():
			return nil //nolint:nilerr // a folder that can't be read can't be watched
		case path != root && !f.isWatched(path):
			return filepath.SkipDir
		case len(f.folders) >= maxFolders:
			f.isIncomplete = true
			return filepath.SkipAll
		}
		f.folders[path] = true
		return f.watcher.Add(path)
	})
}

// isWatched reports whether a path below a root is watched. Hidden files, the temporary files of
// editors, folders of dependencies and build output, and the ignored paths are not.
func (f *fileWatcher) isWatched(path string) bool {
	if slices.ContainsFunc(f.ignored, func(other string) bool {
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

// follow sends the changes until the watch is closed.
func (f *fileWatcher) follow() {
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
			if event.Op == fsnotify.Chmod || !f.single[event.Name] && (!f.folders[filepath.Dir(event.Name)] || !f.isWatched(event.Name)) {
				continue
			}
			if info, err := os.Stat(event.Name); err == nil && info.IsDir() {
				if event.Has(fsnotify.Create) {
					_ = f.add(event.Name) // a folder that was removed again needs no watch
				} else {
					continue
				}
			}
			f.notify(event.Name)
		case _, open := <-f.watcher.Errors: // the event queue overflowed, so something has changed
			if !open {
				return
			}
			f.notify(f.roots[0])
		}
	}
}

// notify sends the path of a change, unless the watch is closed.
func (f *fileWatcher) notify(path string) {
	select {
	case f.changes <- path:
	case <-f.stop:
	}
}
