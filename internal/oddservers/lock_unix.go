//go:build unix

package oddservers

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock acquires the lock on a file, which lasts until release is called or the process ends. It
// returns an error at once if another process holds the lock.
func lock(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
