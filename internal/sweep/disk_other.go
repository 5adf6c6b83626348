//go:build !linux

package sweep

import "github.com/mcp-conform/mcp-conform/internal/transport/stdio"

// sizeOfDeleted returns 0, because this system does not list the files that a process holds open.
func sizeOfDeleted(string, int64, *stdio.Service) int64 { return 0 }
