package started

import (
	"net/netip"
	"slices"
	"strconv"
)

// ListenAddresses implements transport.Local. It returns the addresses at which the
// server's processes listen on the port of its URL, as far as they are known.
func (l *link) ListenAddresses() []netip.Addr {
	var at []netip.Addr
	for _, found := range listeners(l.server.service.Members()) {
		if strconv.Itoa(int(found.at.Port())) == l.server.url.Port() && !slices.Contains(at, found.at.Addr()) {
			at = append(at, found.at.Addr())
		}
	}
	return at
}
