package started

import (
	"bufio"
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

// listeners returns the sockets that accept TCP connections and that one of the processes in the
// list among holds. If among is nil, it considers all processes.
func listeners(among []int) []listener {
	return slices.DeleteFunc(holdersOf(listeningSockets(), among), func(l listener) bool { return len(l.pids) == 0 })
}

// listenersAt returns the sockets that a connection to u reaches: those bound to its address or, if
// there are none, those bound to all addresses. It looks up which processes of the list among hold
// each socket, see holdersOf.
func listenersAt(u *url.URL, among []int) []listener {
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
	for _, s := range listeningSockets() {
		switch {
		case s.at.Port() != uint16(number):
		case s.at.Addr().IsUnspecified():
			wide = append(wide, s)
		case slices.Contains(addresses, s.at.Addr().String()):
			exact = append(exact, s)
		}
	}
	if len(exact) > 0 {
		return holdersOf(exact, among)
	}
	return holdersOf(wide, among)
}

type socket struct {
	at    netip.AddrPort
	inode string
}

const listening = "0A" // TCP_LISTEN in /proc/net/tcp

// listeningSockets reads /proc/net/tcp and tcp6.
func listeningSockets() []socket {
	return slices.Concat(listeningSocketsIn("/proc/net/tcp"), listeningSocketsIn("/proc/net/tcp6"))
}

// listeningSocketsIn returns the listening sockets in one of these files. It stops at the first
// connection, because the kernel lists the listening sockets first, and there may be tens of
// thousands of connections.
func listeningSocketsIn(name string) []socket {
	table, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = table.Close() }() // opened for reading only
	var out []socket
	lines := bufio.NewScanner(table)
	for first := true; lines.Scan(); first = false {
		fields := strings.Fields(lines.Text()) // sl local remote state queues timer retransmits uid timeout inode
		switch {
		case first:
			continue // the column names
		case len(fields) < 10 || fields[3] != listening:
			return out
		}
		if at, ok := parseAddress(fields[1]); ok {
			out = append(out, socket{at, fields[9]})
		}
	}
	return out
}

// parseAddress parses an address in /proc/net/tcp or tcp6. It is hexadecimal, each group of four
// bytes in the byte order of the processor.
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

// holdersOf looks up which processes hold the sockets. It looks only at the processes in the list
// among, or at all processes if that is nil.
func holdersOf(sockets []socket, among []int) []listener {
	holders := map[string][]int{}
	for _, s := range sockets {
		holders["socket:["+s.inode+"]"] = nil
	}
	if len(holders) == 0 {
		return nil
	}
	if among == nil {
		among = allPIDs()
	}
	for _, pid := range among {
		folder := "/proc/" + strconv.Itoa(pid) + "/fd/"
		files, _ := os.ReadDir(folder) // on an error the process counts as holding no socket
		for _, f := range files {
			link, _ := os.Readlink(folder + f.Name())
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

func allPIDs() []int {
	entries, _ := os.ReadDir("/proc")
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// commandOf returns the name of the program that the process runs. It omits the
// arguments, which may contain secrets of other users.
func commandOf(pid int) string {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(name))
}
