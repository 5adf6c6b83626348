package oddservers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// web runs a server over Streamable HTTP, as in
//
//	web ADDRESS [WHAT ARGUMENT]
//
// Environment variables in the address are expanded. The server is the reference server, except
// that WHAT changes one thing:
//
//	dies TEXT        exits when a posted message contains this JSON string, such as a method
//	ends TEXT        the same, without output on stderr
//	tires NUMBER     serves this many requests, and exits at the next one
//	late DURATION    waits this long before it listens
//	lingers -        does not exit on SIGTERM
//	parent COMMAND   also runs a command that outlives the server; its words are joined by _
//	refuses STATUS   responds to every request with this status
//	after FILE       listens once a file of this name exists
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
		words := strings.Split(argument, "_")
		if err := exec.Command(words[0], words[1:]...).Start(); err != nil {
			panic(err)
		}
	case "after":
		for _, err := os.Stat(argument); err != nil; _, err = os.Stat(argument) {
			<-time.After(5 * time.Millisecond)
		}
	case "lingers":
		signal.Ignore(syscall.SIGTERM)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		return 1
	}
	var requests atomic.Int64
	most := int64(math.MaxInt64)
	if what == "tires" {
		if most, err = strconv.ParseInt(argument, 10, 64); err != nil {
			panic(err)
		}
	}
	h := refserver.NewHTTPHandler(context.Background(), refserver.Options{})
	fmt.Fprintln(os.Stderr, "web: listening at", l.Addr())
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // the server lives only as long as a test
		body, _ := io.ReadAll(r.Body)
		if status, err := strconv.Atoi(argument); err == nil && what == "refuses" {
			w.WriteHeader(status)
			return
		}
		if requests.Add(1) > most {
			fmt.Fprintln(os.Stderr, "fatal: pool exhausted")
			os.Exit(7)
		}
		if (what == "dies" || what == "ends") && bytes.Contains(body, []byte(`"`+argument+`"`)) {
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
