package stdio_test

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
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
			Name: "one line a read", Case: "stdio.framing", Seams: input(func(r io.Reader) io.Reader { return &firstLine{r: r} }),
			Want: []string{"stdio.newline-delimited: The server does not answer all messages that arrive together. (warning)"},
		},
		{
			Name: "a read is a message", Case: "stdio.framing", Seams: input(func(r io.Reader) io.Reader { return &wholeReads{r: r} }),
			Want: []string{
				"stdio.newline-delimited: The server does not read a message that arrives in chunks. (warning)",
				"stdio.partial-utf8: The server misreads a character that arrives in chunks. (warning)",
			},
		},
		{
			Name: "each read decoded by itself", Case: "stdio.framing", Seams: input(func(r io.Reader) io.Reader { return &decoded{r: r} }),
			Want: []string{"stdio.partial-utf8: The server misreads a character that arrives in chunks. (warning)"},
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
		{
			Name: "stays without stdin", Case: "stdio.closed-stdin", Seams: ending(refserver.InputClosed),
			Want: []string{exit + ": The server does not exit when stdin closes. (warning)"}, Kept: []string{term},
		},
		{
			Name: "stays for ever", Case: "stdio.closed-stdin", Seams: ending(refserver.InputClosed, refserver.Terminated),
			Want: []string{
				exit + ": The server does not exit when stdin closes. (warning)",
				term + ": The server does not exit on SIGTERM after stdin closes. (warning)",
			},
		},
		{
			Name: "stays without stdin when busy", Case: "stdio.closed-stdin", Seams: staysBusy,
			Want: []string{exit + ": The server does not exit when stdin closes after requests. (warning)"},
		},
		{Name: "exit after work", Case: "stdio.closed-midwork", Kept: []string{exit}},
		{
			Name: "stays after any request of its own", Case: "stdio.closed-midwork", Seams: staysAfterAsking,
			Want: []string{exit + ": The server does not exit when stdin closes after it sent the client a request. (warning)"},
		},
		{Name: "stays even if idle", Case: "stdio.closed-midwork", Seams: ending(refserver.InputClosed)},
		{
			Name: "leaves without answers", Case: "stdio.closed-stdin", Seams: input(func(r io.Reader) io.Reader { return &hurried{r: r} }),
			Want: []string{flight + ": The server drops requests sent right before stdin closes. (note)"},
		},
		{
			Name: "fails when stdin is closed", Case: "stdio.closed-stdin", Seams: code(map[refserver.EndReason]int{refserver.InputClosed: 3}),
			Want: []string{exit + ": The server exits with a code other than 0 when stdin closes. (note)"},
		},
		{
			Name: "fails on SIGTERM", Case: "stdio.signals", Seams: code(map[refserver.EndReason]int{refserver.Terminated: 1}),
			Want: []string{term + ": The server exits with a code other than 0 on SIGTERM. (note)"},
		},
		{
			Name: "tells that a signal ended it", Case: "stdio.signals", Seams: code(map[refserver.EndReason]int{refserver.Terminated: 143, refserver.Interrupted: 130}),
			Kept: []string{term},
		},
		{Name: "exit on signals", Case: "stdio.signals", Kept: []string{term}},
		{
			Name: "SIGTERM ignored", Case: "stdio.signals", Seams: ending(refserver.Terminated),
			Want: []string{term + ": The server does not exit on SIGTERM. (warning)"},
		},
		{
			Name: "SIGINT ignored", Case: "stdio.signals", Seams: ending(refserver.Interrupted), Kept: nil,
			Want: []string{term + ": The server does not exit on SIGINT. (note)"},
		},
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

// ending returns a server that does not exit for the given reasons.
func ending(stays ...refserver.EndReason) func() refserver.Seams {
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

// code returns a server that exits with these codes.
func code(codes map[refserver.EndReason]int) func() refserver.Seams {
	return func() refserver.Seams {
		return refserver.Seams{End: func(_ *refserver.Process, why refserver.EndReason) (int, bool) { return codes[why], true }}
	}
}

// staysBusy does not exit at the end of stdin after more than a few requests.
func staysBusy() refserver.Seams {
	frames := 0 // read before the end of stdin
	return refserver.Seams{
		Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
			frames++
			return refserver.Pass(raw)
		},
		End: func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
			return 0, why != refserver.InputClosed || frames < 8
		},
	}
}

// staysAfterAsking does not exit at the end of stdin once it has sent the client a request.
func staysAfterAsking() refserver.Seams {
	var asked atomic.Bool
	return refserver.Seams{
		Outgoing: func(o *refserver.Out) {
			if o.Kind == refserver.OutRequest {
				asked.Store(true)
			}
		},
		End: func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
			return 0, why != refserver.InputClosed || !asked.Load()
		},
	}
}

// firstLine returns only the first line of each read.
type firstLine struct{ r io.Reader }

func (f *firstLine) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if at := bytes.IndexByte(p[:n], '\n'); at >= 0 {
		n = at + 1
	}
	return n, err
}

// wholeReads treats each read as a complete message.
type wholeReads struct{ r io.Reader }

func (w *wholeReads) Read(p []byte) (int, error) {
	n, err := w.r.Read(p[:len(p)-1])
	if n > 0 && p[n-1] != '\n' {
		p[n] = '\n'
		n++
	}
	return n, err
}

// decoded replaces an incomplete character at the end of a read.
type decoded struct{ r io.Reader }

func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.r.Read(p[:len(p)/4])
	return copy(p, bytes.ToValidUTF8(p[:n], []byte(string(utf8.RuneError)))), err
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
