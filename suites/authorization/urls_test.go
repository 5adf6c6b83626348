package authorization

import (
	"net/netip"
	"net/url"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

func TestHasScriptScheme(t *testing.T) {
	blank := " "
	for text, want := range map[string]bool{
		"javascript:alert(1)": true, "JavaScript:x": true, blank + "java\nscript:x": true, "data:text/html,x": true, "file:///etc/passwd": true, "vbscript:x": true,
		"https://auth.example/javascript:x": false, "http://localhost:3000/data": false, "javascript.example": false, "javascripts:x": false, "": false,
	} {
		if got := hasScriptScheme(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestTheAddressShowsWhetherTheServerIsPublic(t *testing.T) {
	private, err := url.Parse("http://10.0.0.1/keys")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		server, peer string
		want         bool
	}{
		{"https://mcp.example/mcp", "93.184.215.14", true},
		{"https://mcp.example/mcp", "2606:2800:21f::1", true},
		{"https://mcp.example/mcp", "192.168.1.1", false},
		{"https://mcp.example/mcp", "fd00::1", false},
		{"https://mcp.example/mcp", "127.0.0.1", false}, // of a proxy, for example
		{"https://mcp.example/mcp", "", true},
		{"http://127.0.0.1:3000/mcp", "127.0.0.1", false},
	} {
		server, err := url.Parse(c.server)
		if err != nil {
			t.Fatal(err)
		}
		peer, _ := netip.ParseAddr(c.peer)
		p := &prober{OutsideClient: &suite.OutsideClient{Access: transport.Access{URL: server}}, refused: &suite.OutsideResponse{Peer: peer}}
		if got := oauth.LeadsIntoPrivateNetwork(p.peerURL(), private); got != c.want {
			t.Errorf("%s at %q: %t", c.server, c.peer, got)
		}
	}
}
