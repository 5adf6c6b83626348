package login

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Limits of a lock.
const (
	lockTime = answerTime + 5*time.Second // after this time, the process that holds the lock has ended or given up
	lockPoll = 50 * time.Millisecond
)

// lock prevents two processes from renewing a login concurrently, because an authorization server
// may treat the second use of a refresh token as a theft, and revoke the grant (OAuth 2.1, section
// 4.3.1). It waits for another process at most lockTime, and then returns without a lock. It does
// not wait if the lock file does not exist and can't be created. The result release is never nil;
// it removes the lock file if this call created it.
func (s Store) lock(ctx context.Context, l *Login) (release func()) {
	path := s.path(l.Server, l.Name) + ".lock"
	for begin := time.Now(); time.Since(begin) < lockTime && ctx.Err() == nil; {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(path) }
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
		if about, err := os.Stat(path); err == nil && time.Since(about.ModTime()) > lockTime {
			_ = os.Remove(path) // its process was killed
			continue
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
		}
	}
	return func() {}
}
