package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// sizeOfDeleted returns the size, in bytes, of the deleted files of a folder that the processes of a
// service hold open, each once. Above the limit it stops counting, and returns the sum so far.
func sizeOfDeleted(folder string, limit int64, service *stdio.Service) (total int64) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return 0
	}
	type file struct{ device, inode uint64 }
	counted := map[file]bool{}
	for _, pid := range service.Members() {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		entries, _ := os.ReadDir(dir) // processes come and go
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			target, _ := os.Readlink(path)
			if !strings.HasPrefix(target, folder+"/") || !strings.HasSuffix(target, " (deleted)") {
				continue
			}
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			state, ok := info.Sys().(*syscall.Stat_t)
			if !ok || state.Nlink > 0 || counted[file{state.Dev, state.Ino}] { // a linked file is counted where it is
				continue
			}
			counted[file{state.Dev, state.Ino}] = true
			if total += max(minSize, info.Size()); total > limit {
				return total
			}
		}
	}
	return total
}
