package transport

import "net/netip"

// Local is a link to a server on this machine.
type Local interface {
	Web
	// Listens returns the addresses at which the server takes connections; none
	// where that can't be told.
	Listens() []netip.Addr
}
