package sweep

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// exceedsDisk returns a sentence about the files in the folder of a server if they exceed the limit,
// or "". On Linux, deleted files that one of its processes holds open count, too.
func exceedsDisk(work string, limit int64, service *stdio.Service) string {
	size, err := sizeOf(work, limit)
	if err == nil && size <= limit {
		size += sizeOfDeleted(work, limit-size, service)
	}
	switch {
	case err != nil:
		return "it made a path that is too long to be measured"
	case size > limit:
		return "it wrote more files than its limit of " + Bytes(limit)
	}
	return ""
}

// minSize is the least size, in bytes, that sizeOf counts for a file or a folder.
const minSize = 4 << 10

// sizeOf returns the size, in bytes, of a folder with everything in it. Above the limit it stops
// counting, and returns the sum so far. It returns an error if a path is longer than the system can
// open, because files could hide below it; no useful server makes such a path.
func sizeOf(folder string, limit int64) (total int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			size := int64(minSize)
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil && info.Mode().IsRegular() {
				size = max(size, info.Size())
			}
			total += size
		}
		switch {
		case errors.Is(err, syscall.ENAMETOOLONG):
			return err
		case total > limit:
			return fs.SkipAll
		}
		return nil // another error: files come and go
	})
	return total, err
}
