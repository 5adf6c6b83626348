//go:build !linux

package started

import "net/url"

// listeners returns nil, because listening sockets are only looked up on Linux.
func listeners([]int) []listener { return nil }

func listenersAt(*url.URL, []int) []listener { return nil }

func watchExits([]int) (<-chan struct{}, func()) { return nil, func() {} }
