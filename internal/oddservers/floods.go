package oddservers

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// floodLog returns the nth log notification of a flood.
func floodLog(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"tick %d"}}`, n)
}

func floodPing(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, n)
}

func floodRoots(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":"roots/list"}`, n)
}

func floodSampling(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"tick"}}],"maxTokens":9}}`, n)
}

func floodProgress(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none","progress":%d}}`, n)
}

func floodStray(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, 1_000_000+n)
}

func floodUnknown(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"odd/%d","x%d":1}`, n, n)
}

func floodLargeLog(n int) string {
	return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"` + strings.Repeat("x", 4<<20) + fmt.Sprintf(`%d"}}`, n)
}

func floodHugeID(n int) string {
	return `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 1<<20) + fmt.Sprintf(`%d","method":"ping"}`, n)
}

func floodDeep(n int) string {
	return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":` + nestedBrackets("[", "]", 100_000+n%7) + `}}`
}

func floodBlank(int) string { return "" }

// nestedBrackets returns n nested pairs of the brackets open and end.
func nestedBrackets(open, end string, n int) string {
	return strings.Repeat(open, n) + strings.Repeat(end, n)
}

// writeLines writes the lines line(0), line(1) and so on to w, until a write fails.
func writeLines(w io.Writer, line func(n int) string) {
	for n, b := 0, new(bytes.Buffer); ; b.Reset() {
		for b.Len() < 32<<10 {
			b.WriteString(line(n) + "\n")
			n++
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return
		}
	}
}

// floodsAtStart returns a server that floods stdout with line(0), line(1) and so on from its start.
func floodsAtStart(line func(int) string) func([]string) int {
	return func([]string) int {
		return serveOdd(refserver.Seams{Start: func(p *refserver.Process) { go writeLines(p.Out, line) }})
	}
}

// floodsAfterHandshake is like floodsAtStart, but the flood begins after the handshake.
func floodsAfterHandshake(line func(int) string) func([]string) int {
	return func([]string) int {
		return serveOdd(refserver.Seams{HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
			if n.Method == spec.MethodInitialized {
				go writeLines(&oddOut, line)
			}
			next(n)
		}})
	}
}

// floodsAt is like floodsAtStart, but the flood begins with the first request of the method.
func floodsAt(method string, line func(int) string) func([]string) int {
	return func([]string) int {
		var once sync.Once
		return serveOdd(onRequest(method, func(m *wire.Message) refserver.FrameAction {
			once.Do(func() { go writeLines(&oddOut, line) })
			return refserver.Pass(m.Raw)
		}))
	}
}

// floodsBeforeResponses returns a server that writes the lines line(0) to line(n-1) before each
// response, except the response to initialize.
func floodsBeforeResponses(n int, line func(int) string) func([]string) int {
	return func([]string) int {
		return serveOdd(refserver.Seams{Outgoing: func(o *refserver.Out) {
			if (o.Kind == refserver.OutResult || o.Kind == refserver.OutError) && o.Method != spec.MethodInitialize {
				var frames [][]byte
				for i := range n {
					frames = append(frames, []byte(line(i)))
				}
				o.Frames = append(frames, o.Frames...)
			}
		}})
	}
}

// floodingProcesses are stdio servers that send far too much or too little, or
// do not exit.
var floodingProcesses = map[string]func(args []string) int{
	"logs-first":         floodsAtStart(floodLog),
	"logs-next":          floodsAfterHandshake(floodLog),
	"logs-in-call":       floodsAt(spec.MethodToolsCall, floodLog),
	"logs-in-list":       floodsAt(spec.MethodToolsList, floodLog),
	"logs-before-answer": floodsBeforeResponses(2000, floodLog),
	"logs-large":         floodsAfterHandshake(floodLargeLog),
	"progress-next":      floodsAt(spec.MethodToolsCall, floodProgress),
	"pings":              floodsAfterHandshake(floodPing),
	"pings-first":        floodsAtStart(floodPing),
	"roots":              floodsAfterHandshake(floodRoots),
	"samplings":          floodsAt(spec.MethodToolsCall, floodSampling),
	"strays":             floodsAfterHandshake(floodStray),
	"unknown":            floodsAfterHandshake(floodUnknown),
	"huge-ids":           floodsAfterHandshake(floodHugeID),
	"deep-logs":          floodsAfterHandshake(floodDeep),
	"blank-lines":        floodsAfterHandshake(floodBlank),
	// asks-on sends one ping after another, each as soon as the client has responded to the
	// previous one or the previous one has timed out.
	"asks-on": func([]string) int {
		return serveOdd(refserver.Seams{HandleNotification: func(n *refserver.Notification, next func(*refserver.Notification)) {
			if n.Method == spec.MethodInitialized {
				go func() {
					for n.Session.Context().Err() == nil {
						_, _ = n.Session.SendRequest(n.Session.Context(), wire.ID{}, spec.MethodPing, nil)
					}
				}()
			}
			next(n)
		}})
	},
	"spaces": func([]string) int {
		return serveOdd(onRequest(spec.MethodToolsList, func(*wire.Message) refserver.FrameAction {
			oddOut.Lock()
			defer oddOut.Unlock()
			for chunk := bytes.Repeat([]byte(" "), 64<<10); ; {
				if _, err := os.Stdout.Write(chunk); err != nil {
					return refserver.Drop()
				}
			}
		}))
	},
	"stderr": func([]string) int {
		go func() {
			for chunk := bytes.Repeat([]byte("log "), 16<<10); ; {
				if _, err := os.Stderr.Write(chunk); err != nil {
					return
				}
			}
		}()
		return serveOdd(refserver.Seams{})
	},
	"stderr-bytes": func([]string) int {
		go func() {
			for {
				if _, err := os.Stderr.Write([]byte("x")); err != nil {
					return
				}
			}
		}()
		return serveOdd(refserver.Seams{})
	},
	// drips writes each message after the handshake at one byte per second.
	"drips": func([]string) int {
		return serveOdd(refserver.Seams{Outgoing: func(o *refserver.Out) {
			if o.Method == spec.MethodInitialize {
				return
			}
			oddOut.Lock()
			defer oddOut.Unlock()
			for _, frame := range o.Frames {
				for _, b := range append(frame, '\n') {
					<-time.After(time.Second)
					if _, err := os.Stdout.Write([]byte{b}); err != nil {
						return
					}
				}
			}
			o.Frames = nil
		}})
	},
	// deaf stops reading after the handshake.
	"deaf": func([]string) int {
		return serveOdd(refserver.Seams{HandleNotification: func(n *refserver.Notification, _ func(*refserver.Notification)) {
			if n.Method == spec.MethodInitialized {
				select {}
			}
		}})
	},
	"immortal": func([]string) int {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		_ = serveOdd(refserver.Seams{})
		select {}
	},
	// garbles sends its first twenty messages, and garbage instead of each later one.
	"garbles": func([]string) int {
		var mu sync.Mutex
		n := 0
		return serveOdd(refserver.Seams{Outgoing: func(o *refserver.Out) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n > 20 {
				o.Frames = [][]byte{bytes.Repeat([]byte("\x00\xff\x1b["), 250)}
			}
		}})
	},
	"same-id": func([]string) int {
		return serveOdd(alterResponses(func(frame []byte) []byte { return withID(frame, "1") }))
	},
	// repeats sends each result, except that of initialize, a thousand times.
	"repeats": func([]string) int {
		return serveOdd(refserver.Seams{Outgoing: func(o *refserver.Out) {
			if o.Kind == refserver.OutResult && o.Method != spec.MethodInitialize {
				o.Frames = bytes.Split(bytes.TrimSuffix(bytes.Repeat(append(o.Frames[0], '\n'), 1000), newlineByte), newlineByte)
			}
		}})
	},
	"slow-answers": func([]string) int { return oddServers["slow"]([]string{"5s"}) },
	"exits-often": func([]string) int {
		n := 0
		return serveOdd(onRequest("", func(m *wire.Message) refserver.FrameAction {
			if n++; n > 3 {
				return refserver.ExitWith(9)
			}
			return refserver.Pass(m.Raw)
		}))
	},
}

var newlineByte = []byte("\n")
