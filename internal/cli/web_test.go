package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// web is a server over Streamable HTTP, as in
//
//	web ADDRESS [WHAT ARGUMENT]
//
// whose address may have variables in it. It is the reference server, but
//
//	dies METHOD      ends when a message with this method is posted
//	ends METHOD      the same, and says nothing on stderr
//	late DURATION    takes its time before it listens
//	lingers -        does not end on SIGTERM
//	parent COMMAND   runs a command beside it that outlives it
func web(args []string) int {
	address, what, argument := os.ExpandEnv(args[0]), "", ""
	if len(args) > 2 {
		what, argument = args[1], args[2]
	}
	switch what {
	case "late":
		pause, err := time.ParseDuration(argument)
		if err != nil {
			panic(err)
		}
		<-time.After(pause)
	case "parent":
		words := strings.Fields(argument)
		if err := exec.Command(words[0], words[1:]...).Start(); err != nil {
			panic(err)
		}
	case "lingers":
		signal.Ignore(syscall.SIGTERM)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		return 1
	}
	h := refserver.NewHTTPHandler(context.Background(), refserver.Options{})
	fmt.Fprintln(os.Stderr, "web: listening at", l.Addr())
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // it lives for a test
		body, _ := io.ReadAll(r.Body)
		if (what == "dies" || what == "ends") && bytes.Contains(body, []byte(`"method":"`+argument+`"`)) {
			if what == "dies" {
				fmt.Fprintln(os.Stderr, "panic: no method is called", argument)
			}
			os.Exit(7)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	fmt.Fprintln(os.Stderr, "web:", err)
	return 1
}
