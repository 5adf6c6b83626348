//go:build !linux

package started

import (
	"net/url"

	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

// listeners returns nothing: who listens is not told here.
func listeners() []listener { return nil }

func listenersAt(*url.URL) []listener { return nil }

func gone(*stdio.Service, []listener) (<-chan struct{}, func()) { return nil, func() {} }
