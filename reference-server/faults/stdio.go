package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func stdioFaults() []Fault {
	return []Fault{
		breaks("stdio.newline-delimited/content-length", "messages are framed by Content-Length headers", Outgoing(Everything, func(o *refserver.Out) {
			o.Frames = [][]byte{fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(o.Frames[0]), o.Frames[0])}
			o.Terminator = ""
		})).unreachable(),
		breaks("stdio.newline-delimited/two-on-a-line", "a log message shares its line with an answer", AlterBytes(opened, func(b []byte) []byte {
			return append([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"answering"}}`), b...)
		})),
		breaks("stdio.newline-delimited/no-newline", "answers after initialize do not end in a newline", Outgoing(afterInitialize, func(o *refserver.Out) { o.Terminator = "" })),
		breaks("stdio.stdout-only-messages/comma", "answers are followed by a comma", Outgoing(Answers(), func(o *refserver.Out) { o.Terminator = ",\n" })),
		breaks("stdio.newline-delimited/first-of-a-write", "of several messages in one write only the first is read", input(func(chunk []byte) []byte {
			if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
				return chunk[:i+1]
			}
			return chunk
		})),
		breaks("stdio.newline-delimited/read-by-write", "every write is taken for a whole message", input(func(chunk []byte) []byte {
			if bytes.HasSuffix(chunk, []byte("\n")) {
				return chunk
			}
			return append(chunk, '\n')
		})),

		breaks("stdio.no-embedded-newlines/indented", "answers after initialize are spread over several lines", AlterBytes(afterInitialize, indented)),
		breaks("stdio.no-embedded-newlines/long-indented", "an answer of more than 16,000 bytes is spread over several lines", AlterBytes(Answers(spec.MethodToolsCall), func(b []byte) []byte {
			if len(b) <= 16_000 {
				return b
			}
			return indented(b)
		})).in(callable()...),
		breaks("stdio.no-embedded-newlines/initialize-indented", "the answer to initialize is spread over several lines",
			AlterBytes(Answers(spec.MethodInitialize), indented)).unreachable(),
		breaks("stdio.no-embedded-newlines/in-strings", "descriptions in lists hold newlines that are not escaped",
			AlterBytes(lists, func(b []byte) []byte { return inDescription(b, "First line.\n") })),

		breaks("stdio.stdout-only-messages/banner", "a banner comes first", early("Reference server v1.0 is listening on stdio")),
		breaks("stdio.stdout-only-messages/blank-first", "a blank line comes first", early("")),
		breaks("stdio.stdout-only-messages/json-log", "a log line in JSON that is no message comes first", early(`{"level":"info","msg":"starting"}`)),
		breaks("stdio.stdout-only-messages/debug", "a debug line comes before each answer", before(Answers(), "DEBUG: answering")),
		breaks("stdio.stdout-only-messages/debug-ready", "a debug line comes when the session is open", sendsWhenReady("Client connected")),
		breaks("stdio.stdout-only-messages/blank", "a blank line comes after each answer", after(Answers(), "")),
		breaks("stdio.stdout-only-messages/on-errors", "a stack trace comes with each error",
			before(Errors(), "Traceback (most recent call last):", `  File "server.py", line 10, in handle`, "ValueError")),
		breaks("stdio.stdout-only-messages/farewell", "a farewell comes when the input ends", ends(func(p *refserver.Process, _ refserver.EndReason) (int, bool) {
			fmt.Fprintln(p.Out, "Shutting down")
			return 0, true
		})),
		breaks("stdio.stdout-only-messages/colour", "answers are dressed in terminal colours", AlterBytes(Answers(), func(b []byte) []byte {
			return fmt.Appendf(nil, "\x1b[32m%s\x1b[0m", b)
		})),
		breaks("stdio.stdout-only-messages/nul", "a NUL byte follows each answer", Outgoing(Answers(), func(o *refserver.Out) { o.Terminator = "\x00\n" })),

		breaks("stdio.exit-on-stdin-close-2024-11-05/stays", "the server stays when its input ends, until it is told to go", ends(func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
			return 0, why != refserver.InputClosed
		})),
		breaksAfresh("stdio.exit-on-stdin-close-2024-11-05/after-work", "once a resource was subscribed to the server stays when its input ends", func() refserver.Seams {
			var subscribed atomic.Bool
			return together(Handle(spec.MethodResourcesSubscribe, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				subscribed.Store(true)
				return next(c)
			}), ends(func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
				return 0, why != refserver.InputClosed || !subscribed.Load()
			}))
		}),
		process(breaks("stdio.exit-on-sigterm/ignored", "neither the end of the input nor SIGTERM ends the server", ends(func(*refserver.Process, refserver.EndReason) (int, bool) {
			return 0, false
		}))),

		breaks("stdio.partial-utf8/each-read-decoded", "characters that are split over two reads are lost", input(func(chunk []byte) []byte {
			return []byte(strings.ToValidUTF8(string(chunk), string(utf8.RuneError)))
		})),
		breaksAfresh("stdio.stdout-only-messages/torn", "long answers are written in two pieces, between which others come", torn),
		breaksAfresh("stdio.exit-on-stdin-close-2024-11-05/cancelled", "once a request was cancelled that was at work, the server stays when its input ends", func() refserver.Seams {
			var stays atomic.Bool
			t := newCalls()
			seams := together(lingering(while), t.seams(), cancelling(func(n *refserver.Notification, next func(*refserver.Notification)) {
				if t.cancel(n) {
					stays.Store(true)
				}
				next(n)
			}))
			seams.End = func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
				return 0, why != refserver.InputClosed || !stays.Load()
			}
			return seams
		}).over(spec.Stdio),
	}
}

// process marks a fault that only a process of its own can show.
func process(f Fault) Fault {
	f.NeedsProcess = true
	return f
}

func indented(frame []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, frame, "", "  ") != nil {
		return frame
	}
	return b.Bytes()
}

// input alters what each read of stdin brings.
func input(alter func(chunk []byte) []byte) refserver.Seams {
	return refserver.Seams{Input: func(r io.Reader) io.Reader { return &altered{r: r, alter: alter} }}
}

type altered struct {
	r     io.Reader
	alter func(chunk []byte) []byte
	ready []byte
}

func (a *altered) Read(p []byte) (int, error) {
	var err error
	if len(a.ready) == 0 {
		chunk := make([]byte, 64<<10)
		var n int
		if n, err = a.r.Read(chunk); n > 0 {
			a.ready = a.alter(chunk[:n])
		}
	}
	n := copy(p, a.ready)
	a.ready = a.ready[n:]
	if len(a.ready) > 0 {
		err = nil // it comes again after the rest
	}
	return n, err
}

// longAnswer is what no longer goes out in one piece, and tearTime what passes
// between two pieces.
const (
	longAnswer = 1000
	tearTime   = 3 * time.Millisecond
)

// torn writes long answers in two pieces.
func torn() refserver.Seams {
	var out *refserver.Process
	return together(refserver.Seams{Start: func(p *refserver.Process) { out = p }}, Outgoing(Results(), func(o *refserver.Out) {
		frame := o.Frames[0]
		if out == nil || len(frame) < longAnswer || len(o.Frames) > 1 {
			return
		}
		o.Frames = nil
		half := len(frame) / 2
		_, _ = out.Out.Write(frame[:half])
		pause(o.Session.Context(), tearTime)
		_, _ = out.Out.Write(append(bytes.Clone(frame[half:]), '\n'))
	}))
}
