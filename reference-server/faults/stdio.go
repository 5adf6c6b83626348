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

func stdioFaults() []*Fault {
	return []*Fault{
		newFault("stdio.newline-delimited/content-length", "messages are framed by Content-Length headers", EditOutgoing(AnyMessage, func(o *refserver.Out) {
			o.Frames = [][]byte{fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(o.Frames[0]), o.Frames[0])}
			o.Terminator = ""
		})).unreachable(),
		newFault("stdio.newline-delimited/two-on-a-line", "a log message is on the same line as a response", EditBytes(isSessionResponse, func(b []byte) []byte {
			return append([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"answering"}}`), b...)
		})),
		newFault("stdio.newline-delimited/no-newline", "messages after initialize do not end in a newline", EditOutgoing(isAfterInitialize, func(o *refserver.Out) { o.Terminator = "" })),
		newFault("stdio.newline-delimited/first-of-a-write", "the server reads only the first of several messages in one write", editInput(func(chunk []byte) []byte {
			if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
				return chunk[:i+1]
			}
			return chunk
		})),
		newFault("stdio.newline-delimited/read-by-write", "the server treats every write as a whole message", editInput(func(chunk []byte) []byte {
			if bytes.HasSuffix(chunk, []byte("\n")) {
				return chunk
			}
			return append(chunk, '\n')
		})),

		newFault("stdio.no-embedded-newlines/indented", "messages after initialize are spread over several lines", EditBytes(isAfterInitialize, indentFrame)),
		newFault("stdio.no-embedded-newlines/long-indented", "responses to tools/call of more than 16,000 bytes are spread over several lines", EditBytes(Responses(spec.MethodToolsCall), func(b []byte) []byte {
			if len(b) <= 16_000 {
				return b
			}
			return indentFrame(b)
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("stdio.no-embedded-newlines/initialize-indented", "the response to initialize is spread over several lines",
			EditBytes(Responses(spec.MethodInitialize), indentFrame)).unreachable(),
		newFault("stdio.no-embedded-newlines/in-strings", "the first description in a list contains an unescaped newline",
			EditBytes(isListResult, func(b []byte) []byte { return insertIntoDescription(b, "First line.\n") })),

		newFault("stdio.stdout-only-messages/banner", "the server prints a banner at start", writeAtStart("Reference server v1.0 is listening on stdio")),
		newFault("stdio.stdout-only-messages/blank-first", "the server prints a blank line at start", writeAtStart("")),
		newFault("stdio.stdout-only-messages/json-log", "the server prints a JSON log line at start", writeAtStart(`{"level":"info","msg":"starting"}`)),
		newFault("stdio.stdout-only-messages/debug", "the server prints a debug line before each response", prependLines(Responses(), "DEBUG: answering")),
		newFault("stdio.stdout-only-messages/debug-ready", "the server prints a debug line after the handshake", sendLineOnInitialized("Client connected")),
		newFault("stdio.stdout-only-messages/blank", "the server prints a blank line after each response", appendLines(Responses(), "")),
		newFault("stdio.stdout-only-messages/on-errors", "the server prints a stack trace with each error",
			prependLines(Errors(), "Traceback (most recent call last):", `  File "server.py", line 10, in handle`, "ValueError")),
		newFault("stdio.stdout-only-messages/farewell", "the server prints a farewell when stdin is closed", onEnd(func(p *refserver.Process, _ refserver.EndReason) (int, bool) {
			fmt.Fprintln(p.Out, "Shutting down")
			return 0, true
		})),
		newFault("stdio.stdout-only-messages/colour", "responses contain terminal colours", EditBytes(Responses(), func(b []byte) []byte {
			return fmt.Appendf(nil, "\x1b[32m%s\x1b[0m", b)
		})),
		newFault("stdio.stdout-only-messages/nul", "a NUL byte follows each response", EditOutgoing(Responses(), func(o *refserver.Out) { o.Terminator = "\x00\n" })),
		newFault("stdio.stdout-only-messages/comma", "responses are followed by a comma", EditOutgoing(Responses(), func(o *refserver.Out) { o.Terminator = ",\n" })),

		newFault("stdio.exit-on-stdin-close-2024-11-05/stays", "the server does not exit when stdin is closed, only after SIGTERM", onEnd(func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
			return 0, why != refserver.InputClosed
		})),
		newFaultWithState("stdio.exit-on-stdin-close-2024-11-05/after-work", "after resources/subscribe the server does not exit when stdin is closed", func() *refserver.Seams {
			var subscribed atomic.Bool
			return combineSeams(WrapHandler(spec.MethodResourcesSubscribe, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				subscribed.Store(true)
				return next(c)
			}), onEnd(func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
				return 0, why != refserver.InputClosed || !subscribed.Load()
			}))
		}),
		newFaultWithState("stdio.exit-on-stdin-close-2024-11-05/after-asking", "after a request to the client the server does not exit when stdin is closed", func() *refserver.Seams {
			var asked atomic.Bool
			return combineSeams(EditOutgoing(func(o *refserver.Out) bool { return o.Kind == refserver.OutRequest }, func(*refserver.Out) { asked.Store(true) }),
				onEnd(func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
					return 0, why != refserver.InputClosed || !asked.Load()
				}))
		}).inRevisions(revisionsWithReadOnlyHint()...),
		newFaultWithState("stdio.exit-on-stdin-close-2024-11-05/during-call", "during a tools/call the server does not exit when stdin is closed", func() *refserver.Seams {
			var running atomic.Int32
			return combineSeams(WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				running.Add(1)
				defer running.Add(-1)
				return next(c)
			}), onEnd(func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
				return 0, why != refserver.InputClosed || running.Load() == 0
			}))
		}).inRevisions(revisionsWithReadOnlyHint()...),
		inOwnProcess(newFault("stdio.exit-on-sigterm/ignored", "the server exits neither when stdin is closed nor after SIGTERM", onEnd(func(*refserver.Process, refserver.EndReason) (int, bool) {
			return 0, false
		}))),

		newFault("stdio.partial-utf8/each-read-decoded", "a character split over two reads is lost", editInput(func(chunk []byte) []byte {
			return []byte(strings.ToValidUTF8(string(chunk), string(utf8.RuneError)))
		})),
		newFaultWithState("stdio.stdout-only-messages/torn", "long responses are written in two chunks, and other messages get between them", splitLongWrites),
		newFaultWithState("stdio.exit-on-stdin-close-2024-11-05/cancelled", "after the cancellation of a request in flight the server does not exit when stdin is closed", func() *refserver.Seams {
			var stays atomic.Bool
			t := newCallTracker()
			seams := combineSeams(delayRequests(longDelay), t.seams(), onCancellation(func(n *refserver.Notification, next func(*refserver.Notification)) {
				if t.cancel(n) {
					stays.Store(true)
				}
				next(n)
			}))
			seams.End = func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
				return 0, why != refserver.InputClosed || !stays.Load()
			}
			return seams
		}).overTransports(spec.Stdio),
	}
}

// inOwnProcess marks a fault that shows only if the server has its own process.
func inOwnProcess(f *Fault) *Fault {
	f.NeedsProcess = true
	return f
}

func indentFrame(frame []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, frame, "", "  ") != nil {
		return frame
	}
	return b.Bytes()
}

// editInput edits the bytes of each read of stdin.
func editInput(alter func(chunk []byte) []byte) *refserver.Seams {
	return &refserver.Seams{Input: func(r io.Reader) io.Reader { return &inputEditor{r: r, alter: alter} }}
}

type inputEditor struct {
	r     io.Reader
	alter func(chunk []byte) []byte
	ready []byte
}

func (a *inputEditor) Read(p []byte) (int, error) {
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
		err = nil // the read after the ready bytes reports the error again
	}
	return n, err
}

// Results of at least longAnswer bytes are split, with tearTime between the two
// writes.
const (
	longAnswer = 1000
	tearTime   = 3 * time.Millisecond
)

// splitLongWrites writes long results in two halves.
func splitLongWrites() *refserver.Seams {
	var out *refserver.Process
	return combineSeams(&refserver.Seams{Start: func(p *refserver.Process) { out = p }}, EditOutgoing(Results(), func(o *refserver.Out) {
		frame := o.Frames[0]
		if out == nil || len(frame) < longAnswer || len(o.Frames) > 1 {
			return
		}
		o.Frames = nil
		half := len(frame) / 2
		_, _ = out.Out.Write(frame[:half])
		sleep(o.Session.Context(), tearTime)
		_, _ = out.Out.Write(append(bytes.Clone(frame[half:]), '\n'))
	}))
}
