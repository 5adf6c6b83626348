package started

import "net/netip"

// A listener is a TCP socket that accepts connections.
type listener struct {
	at      netip.AddrPort
	pids    []int  // the processes that hold it and that we may inspect
	command string // the program of the first process
}
