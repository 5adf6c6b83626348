package started

import "net/netip"

// listener is a TCP socket that accepts connections.
type listener struct {
	at      netip.AddrPort
	pids    []int  // who holds it, as far as we may know
	command string // of the first of them
}
