//go:build unix

package oddservers

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file until release is called or the process ends. If another process has locked the
// file, lock returns an error at once.
func lock(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
