package transport

import "net/netip"

// Local is a link to a server that runs on this machine.
type Local interface {
	Web
	// ListenAddresses returns the addresses at which the server accepts connections, or nil if they
	// are unknown.
	ListenAddresses() []netip.Addr
}
