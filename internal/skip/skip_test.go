package skip_test

import (
	"fmt"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/skip"
)

// ending records how a test would end.
type ending struct {
	testing.TB
	how string
}

func (e *ending) Helper() {}

func (e *ending) Fatalf(format string, args ...any) { e.how = "fails: " + fmt.Sprintf(format, args...) }

func (e *ending) Skipf(format string, args ...any) { e.how = "skips: " + fmt.Sprintf(format, args...) }

func TestRequired(t *testing.T) {
	missing := func(e *ending) { skip.Missing(e, "real server", "it is not installed") }
	minutes := func(e *ending) { skip.UnlessRequired(e, "real server") }
	nightly := func(e *ending) { skip.UnlessNightly(e, "real server") }
	for _, test := range []struct {
		value string
		call  func(*ending)
		want  string
	}{
		{"", missing, "skips: real server skipped, npm or network missing: it is not installed"},
		{"required", missing, "fails: real server: it is not installed"},
		{"", minutes, "skips: real server skipped, it takes minutes: it runs where MCP_CONFORM_REAL_SERVERS=required"},
		{"required", minutes, ""},
		{"all", minutes, ""},
		{"all", missing, "fails: real server: it is not installed"},
		{"required", nightly, "skips: real server skipped, it takes minutes and resembles others: it runs where MCP_CONFORM_REAL_SERVERS=all, as in .ci/nightly"},
		{"all", nightly, ""},
	} {
		t.Setenv(skip.Required, test.value)
		e := &ending{TB: t}
		if test.call(e); e.how != test.want {
			t.Errorf("with %q the test ends with %q, want %q", test.value, e.how, test.want)
		}
	}
}

func TestSlow(t *testing.T) {
	const (
		slow    = "skips: takes long: it runs where MCP_CONFORM_SLOW_TESTS=run, as in .ci/run"
		slowest = "skips: takes very long: it runs where MCP_CONFORM_SLOW_TESTS=all, as in .ci/nightly"
	)
	for _, test := range []struct{ value, slow, slowest string }{
		{"", slow, slowest},
		{"run", "", slowest},
		{"all", "", ""},
	} {
		t.Setenv(skip.SlowTests, test.value)
		ofSlow, ofSlowest := &ending{TB: t}, &ending{TB: t}
		skip.Slow(ofSlow)
		skip.Slowest(ofSlowest)
		if ofSlow.how != test.slow || ofSlowest.how != test.slowest {
			t.Errorf("with %q a slow test ends with %q, the slowest with %q", test.value, ofSlow.how, ofSlowest.how)
		}
	}
}
