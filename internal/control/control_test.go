package control_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/control"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func response(t *testing.T, text string) *wire.Message {
	t.Helper()
	if text == "" {
		return nil
	}
	return &wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + text + `}`)).Messages[0]
}

// TestUnclear checks which refusals of an odd request can't be interpreted because of the response to its
// control.
func TestUnclear(t *testing.T) {
	t.Parallel()
	const (
		served  = `"result":{"content":[]}`
		panics  = `"error":{"code":-32603,"message":"panic at 0x12 after 3 ms"}`
		invalid = `"error":{"code":-32602,"message":"b is missing"}`
		isError = `"result":{"isError":true,"content":[{"type":"text","text":"ENOTFOUND"}]}`
		noTool  = `"error":{"code":-32000,"message":"can't run NAME"}`
	)
	for _, test := range []struct {
		name, control, odd string
		byName             bool
		want               string // part of the reason; "" if the refusal may be interpreted
	}{
		{name: "the control is served", control: served, odd: invalid},
		{name: "both panic, at different times", control: panics, odd: `"error":{"code":-32603,"message":"panic at 0x99 after 12 ms"}`, want: "the same response to a call: error -32603"},
		{name: "both fail as tools", control: isError, odd: isError, want: `the same response to a call: a result with isError "ENOTFOUND"`},
		{name: "the control fails otherwise", control: isError, odd: invalid, want: "also refuses a call: a result with isError"},
		{name: "the control fails otherwise, and what is odd is a name", control: isError, odd: invalid, byName: true},
		{name: "both names are refused alike", control: strings.ReplaceAll(noTool, "NAME", "real"), odd: strings.ReplaceAll(noTool, "NAME", "made-up"), byName: true, want: "the same response to a call: "},
		{name: "there is no control", odd: invalid, want: "there is no response to"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := control.New("a call", jsontext.Value(`{"name":"real"}`), response(t, test.control))
			got := c.WhyUnclear(control.ResponseTo(jsontext.Value(`{"name":"made-up"}`), response(t, test.odd)), test.byName)
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("%q; want %q", got, test.want)
			}
		})
	}
}
