package started

import (
	"encoding/binary"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:0BB8":                         "127.0.0.1:3000",
		"00000000:0050":                         "0.0.0.0:80",
		"00000000000000000000000001000000:0BB8": "[::1]:3000",
		"00000000000000000000000000000000:FFFF": "[::]:65535",
		"0000000000000000FFFF00000100007F:0001": "127.0.0.1:1",
	} {
		if got, ok := parseAddress(inNativeOrder(text)); !ok || got.String() != want {
			t.Errorf("%s is read as %v", text, got)
		}
	}
	for _, text := range []string{"", ":", "0100007F", "0100007F:", "01007F:0BB8", "0100007G:0BB8", "0100007F:10000"} {
		if got, ok := parseAddress(text); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// inNativeOrder returns an address as the kernel of this machine writes it, from how a
// little-endian one does.
func inNativeOrder(text string) string {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return text
	}
	host, port, _ := strings.Cut(text, ":")
	var out string
	for word := range slices.Chunk([]byte(host), 8) {
		out += string(word[6:]) + string(word[4:6]) + string(word[2:4]) + string(word[:2])
	}
	return out + ":" + port
}

func TestListenersAt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	at := netip.MustParseAddrPort(l.Addr().String())
	for _, u := range []*url.URL{{Scheme: "http", Host: l.Addr().String()}, {Scheme: "http", Host: netip.AddrPortFrom(at.Addr(), at.Port()).String()}} {
		got := listenersAt(u, nil)
		if len(got) != 1 || got[0].at != at || !slices.Contains(got[0].pids, os.Getpid()) || got[0].command == "" {
			t.Errorf("at %s listen %+v", u.Host, got)
		}
	}
	if got := listenersAt(&url.URL{Scheme: "http", Host: l.Addr().String()}, []int{1 << 30}); len(got) != 1 || len(got[0].pids) > 0 {
		t.Errorf("no process listens, but got %+v", got)
	}
	if !slices.ContainsFunc(listeners([]int{os.Getpid()}), func(l listener) bool { return l.at == at }) {
		t.Error("our own listener is not among ours")
	}
}
