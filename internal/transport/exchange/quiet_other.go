//go:build !unix

package exchange

import "net"

// isQuiet returns true, because this system can't check whether an idle connection is still open. A
// request on a closed connection is sent again.
func isQuiet(net.Conn) bool { return true }
