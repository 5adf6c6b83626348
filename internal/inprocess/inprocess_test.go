package inprocess_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inprocess"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// TestEachServerIsItsOwn checks that each server has its own options or seams.
func TestEachServerIsItsOwn(t *testing.T) {
	made := 0
	for name, d := range map[string]transport.Dialer{
		"options": inprocess.Dialer(func() refserver.Options { made++; return refserver.Options{} }),
		"seams":   inprocess.MisbehavingDialer(func() refserver.Seams { made++; return refserver.Seams{} }),
		"neither": inprocess.MisbehavingDialer(nil),
		"nothing": inprocess.Dialer(nil),
	} {
		made = 0
		for range 2 {
			c, err := client.Open(t.Context(), d, client.Options{Revision: spec.V20251125})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Handshake(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			c.Close()
		}
		if want := map[string]int{"options": 2, "seams": 2}[name]; made != want {
			t.Errorf("%s: made %d times, not %d", name, made, want)
		}
	}
}
