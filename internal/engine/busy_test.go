package engine_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestOverloadErrorsMustRecur checks that an error that overload may cause
// has to recur in every retry, whatever its message.
func TestOverloadErrorsMustRecur(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		code int64
		when func(start int64) bool
		want string
	}{
		{"now and then", -32000, func(start int64) bool { return start <= 2 }, pinged + " 2025-06-18 flaky"},
		{"each time", -32000, func(int64) bool { return true }, pinged + " 2025-06-18 broken"},
		{"now and then, by the method", -32601, func(start int64) bool { return start <= 2 }, pinged + " 2025-06-18 broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := &toy{answer: func(start int64, m *wire.Message) []byte {
					if m.Method == spec.MethodPing && c.when(start) {
						return wire.NewError(m.ID, c.code, "Serveur occupé", nil)
					}
					return nil
				}}
				p, err := judge(t, y, engine.Options{Cases: []suite.Case{pinging(true)}, Revisions: []spec.Revision{spec.V20250618}})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{c.want}, summary(p)); diff != "" {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
			})
		})
	}
}
