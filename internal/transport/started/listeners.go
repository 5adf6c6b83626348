package started

import "net/netip"

// A listener is a TCP socket that accepts connections.
type listener struct {
	at      netip.AddrPort
	pids    []int  // the processes that hold it, as far as we may read them
	command string // the program of the first process
}
