package started

import (
	"net/netip"
	"slices"
	"strconv"
)

// Listens implements transport.Local: where the processes of the server listen
// at the port of its URL, as far as the system tells.
func (l *link) Listens() []netip.Addr {
	var at []netip.Addr
	for _, found := range listeners(l.server.service.Members()) {
		if strconv.Itoa(int(found.at.Port())) == l.server.url.Port() && !slices.Contains(at, found.at.Addr()) {
			at = append(at, found.at.Addr())
		}
	}
	return at
}
