//go:build unix

package exchange

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// isQuiet reports whether a connection is open and has nothing to read.
func isQuiet(conn net.Conn) bool {
	for {
		secured, ok := conn.(*tls.Conn)
		if !ok {
			break
		}
		conn = secured.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var peeked error
	err = raw.Read(func(fd uintptr) bool {
		_, _, peeked = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return true
	})
	return err == nil && errors.Is(peeked, unix.EAGAIN)
}
