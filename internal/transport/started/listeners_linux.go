package started

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// listeners returns the sockets that accept TCP connections on this machine,
// and who holds them.
func listeners() []listener { return held(sockets()) }

// listenersAt returns those that a connection to u reaches: the ones bound to
// its very address, else those bound to all addresses.
func listenersAt(u *url.URL) []listener {
	host, port, err := net.SplitHostPort(address(u))
	if err != nil {
		return nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil
	}
	addresses, err := net.LookupHost(host)
	if err != nil {
		return nil
	}
	var exact, wide []socket
	for _, s := range sockets() {
		switch {
		case s.at.Port() != uint16(number):
		case s.at.Addr().IsUnspecified():
			wide = append(wide, s)
		case slices.Contains(addresses, s.at.Addr().String()):
			exact = append(exact, s)
		}
	}
	if len(exact) > 0 {
		return held(exact)
	}
	return held(wide)
}

type socket struct {
	at    netip.AddrPort
	inode string
}

const listening = "0A" // the state TCP_LISTEN in /proc/net/tcp

// sockets reads /proc/net/tcp and tcp6.
func sockets() []socket {
	var out []socket
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line) // sl local remote state queues timer retransmits uid timeout inode
			if len(fields) < 10 || fields[3] != listening {
				continue
			}
			if at, ok := parseAddress(fields[1]); ok {
				out = append(out, socket{at, fields[9]})
			}
		}
	}
	return out
}

// parseAddress reads an address of these tables: hexadecimal, each group of
// four bytes in the order of the processor.
func parseAddress(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	number, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil {
		return netip.AddrPort{}, false
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.BigEndian.PutUint32(raw[i:], binary.NativeEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}

// held looks up who holds the sockets.
func held(sockets []socket) []listener {
	holders := map[string][]int{}
	for _, s := range sockets {
		holders["socket:["+s.inode+"]"] = nil
	}
	if len(holders) == 0 {
		return nil
	}
	processes, _ := os.ReadDir("/proc") // what can't be read belongs to nobody we know
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		files, _ := os.ReadDir("/proc/" + p.Name() + "/fd")
		for _, f := range files {
			link, _ := os.Readlink("/proc/" + p.Name() + "/fd/" + f.Name())
			if pids, wanted := holders[link]; wanted && !slices.Contains(pids, pid) {
				holders[link] = append(pids, pid)
			}
		}
	}
	out := make([]listener, 0, len(sockets))
	for _, s := range sockets {
		l := listener{at: s.at, pids: holders["socket:["+s.inode+"]"]}
		slices.Sort(l.pids)
		if len(l.pids) > 0 {
			l.command = commandOf(l.pids[0])
		}
		out = append(out, l)
	}
	return out
}

// commandOf returns the name of the program that the process runs: its
// arguments may hold secrets of others.
func commandOf(pid int) string {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(name))
}
