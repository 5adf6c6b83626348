package thirdparty_test

import (
	"fmt"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/thirdparty"
)

// ending records how a test would end.
type ending struct {
	testing.TB
	how string
}

func (e *ending) Helper() {}

func (e *ending) Fatalf(format string, args ...any) { e.how = "fails: " + fmt.Sprintf(format, args...) }

func (e *ending) Skipf(format string, args ...any) { e.how = "skips: " + fmt.Sprintf(format, args...) }

func TestMissing(t *testing.T) {
	for value, want := range map[string]string{
		"":         "skips: real server skipped, npm or network missing: it is not installed",
		"required": "fails: real server: it is not installed",
	} {
		t.Setenv(thirdparty.Required, value)
		e := &ending{TB: t}
		if thirdparty.Missing(e, "real server", "it is not installed"); e.how != want {
			t.Errorf("with %q it %s; want: it %s", value, e.how, want)
		}
	}
}
