package exchange

import (
	"net/netip"
	"testing"
)

func TestAreInside(t *testing.T) {
	for name, c := range map[string]struct {
		all  []string
		want bool
	}{
		"loopback, both kinds":         {[]string{"127.0.0.1", "::1"}, true},
		"private":                      {[]string{"10.0.0.7"}, true},
		"public":                       {[]string{"192.0.2.1"}, false},
		"public, with a private added": {[]string{"192.0.2.1", "10.0.0.7"}, false},
		"none":                         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var all []netip.Addr
			for _, text := range c.all {
				all = append(all, netip.MustParseAddr(text))
			}
			if got := areAllPrivate(all); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
