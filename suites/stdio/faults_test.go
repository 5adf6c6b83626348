package stdio_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/stdio"
)

func TestMisbehaviour(t *testing.T) {
	const (
		exit   = "stdio.exit-on-stdin-close-2024-11-05"
		term   = "stdio.exit-on-sigterm"
		flight = "stdio.responses-before-exit"
	)
	for _, m := range []suitetest.Misbehaviour{
		{
			Name: "lines read as lines", Case: "stdio.framing",
			Kept: []string{"stdio.newline-delimited", "stdio.interleaving", "stdio.partial-utf8"},
		},
		{
			Name: "carriage return not taken", Case: "stdio.framing",
			Seams: incoming(func(raw []byte) refserver.FrameAction {
				if bytes.HasSuffix(raw, []byte("\r")) {
					return refserver.Drop()
				}
				return refserver.Pass(raw)
			}),
			Want: []string{"stdio.newline-delimited: The server does not serve a line that ends with CR LF. (note)"},
		},
		{Name: "exit with stdin", Case: "stdio.closed-stdin", Kept: []string{exit, flight}},
		{Name: "exit after work", Case: "stdio.closed-midwork", Kept: []string{exit}},
		{Name: "stays even if idle", Case: "stdio.closed-midwork", Seams: staysAfter(refserver.InputClosed)},
		{
			Name: "leaves without answers", Case: "stdio.closed-stdin", Seams: input(func(r io.Reader) io.Reader { return &hurried{r: r} }),
			Want: []string{flight + ": The server drops requests sent right before stdin closes. (note)"},
		},
		{
			Name: "fails when stdin is closed", Case: "stdio.closed-stdin", Seams: exitsWith(map[refserver.EndReason]int{refserver.InputClosed: 3}),
			Want: []string{exit + ": The server exits with a code other than 0 when stdin closes. (note)"},
		},
		{
			Name: "fails on SIGTERM", Case: "stdio.signals", Seams: exitsWith(map[refserver.EndReason]int{refserver.Terminated: 1}),
			Want: []string{term + ": The server exits with a code other than 0 on SIGTERM. (note)"},
		},
		{
			Name: "tells that a signal ended it", Case: "stdio.signals", Seams: exitsWith(map[refserver.EndReason]int{refserver.Terminated: 143}),
			Kept: []string{term},
		},
		{
			Name: "stays on SIGINT", Case: "stdio.interrupt", Seams: staysAfter(refserver.Interrupted),
			Want: []string{term + ": The server does not exit on SIGINT. (note)"},
		},
		{Name: "tells that an interrupt ended it", Case: "stdio.interrupt", Seams: exitsWith(map[refserver.EndReason]int{refserver.Interrupted: 130})},
		{Name: "exit on signals", Case: "stdio.signals", Kept: []string{term}},
	} {
		m.Try(t, stdio.Cases())
	}
}

func input(wrap func(io.Reader) io.Reader) func() refserver.Seams {
	return func() refserver.Seams { return refserver.Seams{Input: wrap} }
}

func incoming(f func([]byte) refserver.FrameAction) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction { return f(raw) }}
	}
}

// staysAfter returns the seams of a server that does not exit for the given reasons.
func staysAfter(stays ...refserver.EndReason) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{End: func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
			for _, s := range stays {
				if s == why {
					return 0, false
				}
			}
			return 0, true
		}}
	}
}

// exitsWith returns the seams of a server that exits with these codes.
func exitsWith(codes map[refserver.EndReason]int) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{End: func(_ *refserver.Process, why refserver.EndReason) (int, bool) { return codes[why], true }}
	}
}

// hurried reports the end of the input in place of the last lines.
type hurried struct{ r io.Reader }

func (h *hurried) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if lines := bytes.Count(p[:n], []byte("\n")); lines > 4 {
		return 0, io.EOF
	}
	return n, err
}

// TestSubscribesToListedResources checks that the subscription that is open while stdin closes is valid
// if the server lists no resources.
func TestSubscribesToListedResources(t *testing.T) {
	suitetest.UnclearServer{
		Name: "no resources", Case: "stdio.closed-stdin", Revision: spec.V20260728,
		Seams: func() refserver.Seams {
			return *faults.EditResult(spec.MethodResourcesList, func(r map[string]any) {
				r["resources"] = []any{}
				delete(r, "nextCursor")
			})
		},
	}.Try(t, stdio.Cases())
}
