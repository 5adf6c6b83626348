package cli

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/oddservers"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// fewHostile are the servers that every test run uses, and slowHostile those that a run with the
// slowest tests adds. With MCP_CONFORM_HOSTILE=all it uses every server.
var (
	fewHostile  = []string{"gzip bomb", "a huge header", "redirect without end"}
	slowHostile = []string{"escape sequences"}
)

func isSampled(name string) bool {
	return os.Getenv("MCP_CONFORM_HOSTILE") == "all" || slices.Contains(fewHostile, name) || slices.Contains(slowHostile, name)
}

// A run with a server that floods, or whose responses are expensive, must end
// within five seconds after its time limit.
const (
	hostileLimit  = 15 * time.Second
	hostileWithin = hostileLimit + 5*time.Second
)

// Each of these represents several acceptable exit codes, because how far a run
// gets within its limit depends on the machine.
const (
	startsOrNot    = -1 // 3 or 4
	brokenOrCut    = -2 // 0, 1 or 4
	startsOrBroken = -3 // 1, 3 or 4
)

// codes returns the acceptable exit codes.
func (s *hostileServer) codes() string {
	switch s.code {
	case startsOrNot:
		return "3|4"
	case brokenOrCut:
		return "0|1|4"
	case startsOrBroken:
		return "1|3|4"
	}
	return strconv.Itoa(s.code)
}

// process makes the run start the odd server with this name over stdio.
func process(name string) func(*testing.T, *hostileRun) string {
	return func(_ *testing.T, r *hostileRun) string {
		r.flags = append(r.flags, "--start-timeout", "10s", "--max-time", hostileLimit.String())
		r.command = []string{"--", "odd", name}
		return ""
	}
}

// seamed returns the reference server with these seams over Streamable HTTP or, if older is set,
// over the older transport.
func seamed(shape func() refserver.Seams, older bool) func(*testing.T, *hostileRun) string {
	serve := func(t *testing.T, r *hostileRun) string {
		r.flags = append(r.flags, "--start-timeout", "10s", "--max-time", hostileLimit.String())
		o := refserver.Options{Seams: shape()}
		if older {
			return handled(refserver.NewSSEHandler(context.Background(), o).ServeHTTP)(t, r)
		}
		return handled(refserver.NewHTTPHandler(t.Context(), o).ServeHTTP)(t, r)
	}
	if older {
		return over("sse", serve)
	}
	return serve
}

// flooding returns processes that send too much or too little, or do not exit.
func flooding() []hostileServer {
	var out []hostileServer
	for _, f := range []struct {
		names string // names, separated by commas
		code  int
		says  string
	}{
		{"logs-next,pings,roots,unknown,blank-lines", startsOrNot, `more than \d+ messages|--max-time|no response|did not answer`},
		// The stateless revision permits no log message and no request before the
		// first response.
		{"logs-first,pings-first,strays", startsOrBroken, `more than \d+ messages|--max-time|no response|did not answer`},
		{"logs-in-call,logs-in-list,logs-before-answer,progress-next,samplings,repeats", brokenOrCut, `more than \d+ messages|--max-time|BROKEN|WARNING`},
		{"logs-large,huge-ids,deep-logs,spaces", startsOrNot, `more than \d+ |--max-time|no response|did not answer`},
		{"stderr,stderr-bytes,asks-on,immortal", brokenOrCut, `--max-time|no requirement broken|WARNING|BROKEN`},
		{"drips,deaf,slow-answers,garbles,same-id,exits-often", brokenOrCut, `BROKEN|FLAKY|--max-time`},
	} {
		for name := range strings.SplitSeq(f.names, ",") {
			out = append(out, hostileServer{name, process(name), f.code, []string{f.says}, hostileWithin})
		}
	}
	return out
}

// misshaping returns servers whose responses are meant to break the client,
// over every transport.
func misshaping() []hostileServer {
	var out []hostileServer
	for name, shape := range oddservers.Shapes {
		says := []string{`BROKEN|WARNING|FLAKY|--max-time|no requirement broken|did not answer|is incomplete`}
		out = append(out,
			hostileServer{name, process(name), brokenOrCut, says, hostileWithin},
			hostileServer{name + ", http", seamed(shape, false), brokenOrCut, says, hostileWithin},
			hostileServer{name + ", sse", seamed(shape, true), brokenOrCut, says, hostileWithin})
	}
	slices.SortFunc(out, func(a, b hostileServer) int { return strings.Compare(a.name, b.name) })
	return out
}
