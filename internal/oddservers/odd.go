package oddservers

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// hundredMB is the length of a line that a client should not have to buffer.
const hundredMB = 100_000_000

// oddServers maps names to servers that misbehave. Each function runs a server and returns the exit
// code of the process. The servers that serve MCP are the reference server with one change.
var oddServers = map[string]func(args []string) int{
	"dies": func([]string) int {
		fmt.Fprintln(os.Stderr, "fatal: DATABASE_URL is not set\x1b[2J")
		return 3
	},
	// mute [FILE] creates the file, if one is named, when it starts, and never sends anything.
	"mute": func(args []string) int {
		if len(args) > 0 {
			_ = os.WriteFile(args[0], nil, 0o600)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	},
	// echoes sends its input back, as cat does.
	"echoes": func([]string) int {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	},
	"banner": func([]string) int {
		fmt.Println("Welcome to odd-server v1.0!\x1b[2J")
		return serveOdd(refserver.Seams{})
	},
	"floods": func([]string) int {
		chunk := bytes.Repeat([]byte("flood "), 10_000)
		for {
			if _, err := os.Stdout.Write(chunk); err != nil {
				return 0
			}
		}
	},
	// lines floods until its stdin is closed.
	"lines": func([]string) int {
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
		chunk := bytes.Repeat([]byte("tick\n"), 10_000)
		for {
			if _, err := os.Stdout.Write(chunk); err != nil {
				return 0
			}
		}
	},
	// huge METHOD responds to requests of the method with 100 MB in one line.
	"huge": func(args []string) int {
		return serveOdd(onRequest(args[0], func(m *wire.Message) refserver.FrameAction {
			oddOut.Lock()
			defer oddOut.Unlock()
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"padding":"`, m.ID.Raw())
			for chunk, left := bytes.Repeat([]byte("x"), 50_000), hundredMB; left > 0; left -= len(chunk) {
				_, _ = os.Stdout.Write(chunk)
			}
			fmt.Println(`"}}`)
			return refserver.Drop()
		}))
	},
	// hangs-up METHOD closes stdout instead of responding, and keeps running.
	"hangs-up": func(args []string) int {
		return serveOdd(onRequest(args[0], func(*wire.Message) refserver.FrameAction {
			_ = os.Stdout.Close()
			return refserver.Drop()
		}))
	},
	"latin-1": func([]string) int {
		return serveOdd(*faults.EditBytes(faults.Results(spec.MethodToolsList), func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"description":"`), []byte("\"description\":\"d\xe9j\xe0 vu, "), 1)
		}))
	},
	"nul": func([]string) int {
		return serveOdd(*faults.EditBytes(faults.Responses(), func(b []byte) []byte { return append(b, 0) }))
	},
	"stays": func([]string) int {
		return serveOdd(refserver.Seams{End: func(*refserver.Process, refserver.EndReason) (int, bool) { return 0, false }})
	},
	"dies-on-second": func([]string) int {
		var requests atomic.Int32
		return serveOdd(onRequest("", func(m *wire.Message) refserver.FrameAction {
			if requests.Add(1) == 2 {
				fmt.Fprintln(os.Stderr, "panic: index out of range [1] with length 1")
				return refserver.ExitWith(7)
			}
			return refserver.Pass(m.Raw)
		}))
	},
	// refuses-all responds to all requests except initialize with the same
	// error.
	"refuses-all": func([]string) int {
		return serveOdd(refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			if c.Method != spec.MethodInitialize {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "no tenant is called acme"}
			}
			return next(c)
		}})
	},
	// slow DURATION delays every response except that to initialize.
	"slow": func(args []string) int {
		pause, err := time.ParseDuration(args[0])
		if err != nil {
			panic(err)
		}
		return serveOdd(refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
			if c.Method != spec.MethodInitialize {
				<-time.After(pause)
			}
			return next(c)
		}})
	},
	// tells TEXT sends TEXT as its version, with environment variables expanded. The variable cwd
	// stands for the name of the working directory.
	"tells": func(args []string) int {
		text := os.Expand(args[0], func(name string) string {
			if value, ok := os.LookupEnv(name); ok {
				return value
			}
			if dir, err := os.Getwd(); err == nil && name == "cwd" {
				return filepath.Base(dir)
			}
			return "unset"
		})
		return serveOdd(*faults.EditBytes(faults.Results(spec.MethodInitialize), func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"version":"1.0.0"`), []byte(`"version":"`+text+`"`), 1)
		}))
	},
	// renamed serves tools with other names and without a readOnlyHint.
	"renamed": func([]string) int {
		s := *faults.EditBytes(faults.Results(spec.MethodToolsList), func(b []byte) []byte {
			b = bytes.ReplaceAll(b, []byte(`"name":"`), []byte(`"name":"my-`))
			return bytes.ReplaceAll(b, []byte(`"readOnlyHint":true`), []byte(`"readOnlyHint":false`))
		})
		s.Incoming = onRequest(spec.MethodToolsCall, func(m *wire.Message) refserver.FrameAction {
			return refserver.Pass(bytes.Replace(m.Raw, []byte(`"name":"my-`), []byte(`"name":"`), 1))
		}).Incoming
		return serveOdd(s)
	},
	// spawns METHOD starts a process in a new session before it handles each request of the method.
	"spawns": func(args []string) int {
		return serveOdd(onRequest(args[0], func(m *wire.Message) refserver.FrameAction {
			if out, err := exec.Command("sh", "-c", "(setsid sleep 1000 >/dev/null 2>&1 &)").CombinedOutput(); err != nil {
				panic(fmt.Sprint(err, string(out)))
			}
			return refserver.Pass(m.Raw)
		}))
	},
	// stuck METHOD FILE creates the file when a request of the method arrives, and responds to no
	// such request.
	"stuck": func(args []string) int {
		return serveOdd(onRequest(args[0], func(*wire.Message) refserver.FrameAction {
			_ = os.WriteFile(args[1], nil, 0o600)
			return refserver.Drop()
		}))
	},
	// unflushed responds to initialize at once, and to all later requests only when stdin is
	// closed.
	"unflushed": func([]string) int {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			frame := wire.Parse(in.Bytes())
			if len(frame.Messages) != 1 || frame.Messages[0].Kind != wire.Request {
				continue
			}
			m := &frame.Messages[0]
			if m.Method == spec.MethodInitialize {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%s,"capabilities":{},"serverInfo":{"name":"unflushed","version":"1"}}}`+"\n", m.ID.Raw(), m.ParamAt("/protocolVersion"))
				continue
			}
			defer fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID.Raw())
		}
		return 0
	},
	// single FILE exits with an error if another process has locked the file.
	"single": func(args []string) int {
		release, err := lock(args[0])
		if err != nil {
			fmt.Fprintln(os.Stderr, "another odd-server is running:", err)
			return 1
		}
		defer release()
		return serveOdd(refserver.Seams{})
	},
}

// odd runs the server whose name is the first argument.
func odd(args []string) int {
	name := strings.Join(args[:min(1, len(args))], "")
	if shape := Shapes[name]; shape != nil {
		return serveOdd(shape())
	}
	serve := oddServers[name]
	if serve == nil {
		serve = floodingProcesses[name]
	}
	if serve == nil {
		fmt.Fprintf(os.Stderr, "there is no odd server %q\n", args)
		return 120
	}
	return serve(args[1:])
}

// oddOut is stdout. Lock it to write a line in several chunks.
var oddOut lockedStdout

type lockedStdout struct{ sync.Mutex }

func (l *lockedStdout) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return os.Stdout.Write(p)
}

// serveOdd runs the reference server over the stdio of the process, with the seams, and returns the
// exit code.
func serveOdd(s refserver.Seams) int {
	raw, names := make(chan os.Signal, 1), make(chan string)
	signal.Notify(raw, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range raw {
			names <- map[os.Signal]string{os.Interrupt: "INT", syscall.SIGTERM: "TERM"}[s]
		}
	}()
	return refserver.ServeStdio(context.Background(), os.Stdin, &oddOut, os.Stderr, names, refserver.Options{Seams: s})
}

// onRequest returns seams that call the function do for each request of the method, or for every
// request if method is empty. A batch of several messages passes unchanged.
func onRequest(method string, do func(m *wire.Message) refserver.FrameAction) refserver.Seams {
	return refserver.Seams{Incoming: func(_ *refserver.Session, raw []byte) refserver.FrameAction {
		if frame := wire.Parse(raw); len(frame.Messages) == 1 {
			m := &frame.Messages[0]
			if m.Kind == wire.Request && (method == "" || m.Method == method) {
				return do(m)
			}
		}
		return refserver.Pass(raw)
	}}
}
