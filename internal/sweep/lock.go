package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// lockFile is the file in the folder of a sweep that is locked while the sweep runs. It is removed
// when the sweep ends.
const lockFile = ".lock"

// lockFolder makes the folder of a sweep and locks it, because a second sweep would remove what
// the first is writing. The lock ends with the process. On a file system that does not support
// locks, lockFolder takes none.
func lockFolder(folder string) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // the results are for others to read
		return nil, unwritableError(folder, err)
	}
	path := filepath.Join(folder, lockFile)
	lock := flock.New(path, flock.SetPermissions(0o644))
	locked, err := lock.TryLock()
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
		return func() {}, nil
	case err != nil:
		return nil, unwritableError(folder, err)
	case !locked || !isLockedFile(lock, path):
		_ = lock.Close()
		return nil, usagef("wait for it, or name another folder", "--out %s: another sweep is writing to this folder", folder)
	}
	return func() {
		_ = os.Remove(path) // before unlocking: otherwise another sweep could lock a file that is then removed
		_ = lock.Close()
	}, nil
}

// isLockedFile reports whether the file at path is the one that lock holds. They differ if another
// sweep, at its end, removed the locked file just before this process locked it.
func isLockedFile(lock *flock.Flock, path string) bool {
	held, err := lock.Stat()
	now, missing := os.Stat(path)
	return err == nil && missing == nil && os.SameFile(held, now)
}
