package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A hostile server must not make judging expensive. The bound is generous: quadratic work in the
// number of lines takes minutes. A slow machine can exceed it too, so the time is then compared
// with the time for a quarter of the lines.
func TestJudgingIsBounded(t *testing.T) {
	skip.Slowest(t)
	const lines = 5_000
	ask := new(strings.Builder)
	ask.WriteString(handshake(spec.V20251125))
	for i := range 200 {
		fmt.Fprintf(ask, "> {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}\n", i)
	}
	for name, line := range map[string]string{
		"strays":       `{"jsonrpc":"2.0","id":"nobody","result":{}}`,
		"null ids":     `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
		"repetitions":  `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"pings":        `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"open values":  `{"a":[`,
		"open strings": `{"a`,
		"braces":       strings.Repeat("{", 300),
		"deep":         `{"jsonrpc":"2.0","method":"x","params":` + strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 301),
		"too deep":     `{"jsonrpc":"2.0","x":` + strings.Repeat("[", 9_100),
		"brackets":     strings.Repeat("[", 1_001),
	} {
		t.Run(name, func(t *testing.T) {
			judge := func(lines int) time.Duration {
				script := ask.String() + strings.Repeat("< "+line+"\n", lines) + "! gave-up 7\n! gave-up 8\n! exit 1"
				events := read(t, script)
				began := time.Now()
				rules.Judge(rules.Base(), events, spec.V20251125, spec.Stdio)
				return time.Since(began)
			}
			took := judge(lines)
			t.Logf("%v", took)
			if took < 20*time.Second {
				return
			}
			if quarter := judge(lines / 4); took > 10*quarter {
				t.Errorf("judging %d lines took %v, a quarter of them %v", lines, took, quarter)
			}
		})
	}
}
