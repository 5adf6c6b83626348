package ping_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/ping"
)

func TestFaults(t *testing.T) {
	const (
		partly    = "ping.responds: A ping is not answered, though others are. (broken)"
		silent    = "ping.responds: A ping is not answered. (broken)"
		refused   = "ping.responds: A ping is answered with an error. (broken)"
		notEmpty  = "ping.empty-result: The result of a ping is not empty. (broken)"
		early     = "ping.before-initialized: A ping before initialize is answered with an error. (warning)"
		earlyMute = "ping.before-initialized: A ping before initialize is not answered. (warning)"
		strong    = "ping.before-initialized: A ping is answered with an error. (warning)"
	)
	no := &refserver.Error{Code: spec.CodeInternal, Message: "no"}
	for _, f := range []fault{
		{"all is well: shapes", "ping.shapes", handles(onPing(nil)), nil},
		{"all is well: burst", "ping.burst", handles(onPing(nil)), nil},
		{"all is well: busy", "ping.while-busy", handles(onPing(nil)), nil},
		{"all is well: handshake", "ping.during-handshake", handles(onPing(nil)), nil},
		{"a lone _meta is permitted", "ping.shapes", handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
			return map[string]any{"_meta": map[string]any{"com.example/x": 1}}, nil
		})), nil},
		{"a result with members", "ping.shapes", handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
			return map[string]any{"pong": true}, nil
		})), []string{notEmpty}},
		{"metadata refused", "ping.shapes", handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if len(c.Params) > len("{}") {
				return nil, no
			}
			return map[string]any{}, nil
		})), []string{refused}},
		{"string ids refused", "ping.shapes", handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.ID.IsString() {
				return nil, no
			}
			return map[string]any{}, nil
		})), []string{refused}},
		{"never answered", "ping.shapes", handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
			return nil, refserver.Unanswered
		})), []string{silent}},
		{"one of many is lost", "ping.burst", func() refserver.Seams {
			var n atomic.Int32
			return handles(onPing(func(*refserver.Call) (any, *refserver.Error) {
				if n.Add(1) == 7 {
					return nil, refserver.Unanswered
				}
				return map[string]any{}, nil
			}))()
		}, []string{partly}},
		{"refused while a tool runs", "ping.while-busy", func() refserver.Seams {
			var busy atomic.Bool
			return refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
				if c.Method == spec.MethodToolsCall {
					busy.Store(true)
					defer busy.Store(false)
				} else if c.Method == spec.MethodPing && busy.Load() {
					return nil, no
				}
				return next(c)
			}}
		}, []string{refused}},
		{"refused before initialize", "ping.during-handshake", handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.Revision == "" {
				return nil, no
			}
			return map[string]any{}, nil
		})), []string{early}},
		{"unanswered before initialize", "ping.during-handshake", handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.Revision == "" {
				return nil, refserver.Unanswered
			}
			return map[string]any{}, nil
		})), []string{earlyMute}},
		{"the end before initialize hides nothing", "ping.during-handshake", handles(onPing(func(c *refserver.Call) (any, *refserver.Error) {
			if c.Revision == "" {
				c.Session.Exit(1)
				return nil, refserver.Unanswered
			}
			return nil, no
		})), []string{earlyMute, strong, refused}},
	} {
		f.run(t, spec.V20250618)
	}
}

func onPing(answer func(*refserver.Call) (any, *refserver.Error)) func(*refserver.Call, func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
	return func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		if c.Method == spec.MethodPing && answer != nil {
			return answer(c)
		}
		return next(c)
	}
}

// findings runs the case alone against a reference server with the fault.
func findings(t *testing.T, id string, rev spec.Revision, seams refserver.Seams) []verdict.Finding {
	t.Helper()
	cases := slices.DeleteFunc(ping.Cases(), func(c suite.Case) bool { return c.ID != id })
	if len(cases) != 1 {
		t.Fatalf("there is no case %s", id)
	}
	report, err := engine.Run(t.Context(), engine.Options{
		Dialer:       suitetest.Reference(refserver.Options{Seams: seams}),
		Cases:        cases,
		Rules:        rules.All(),
		Revisions:    []spec.Revision{rev},
		Policy:       inventory.CallAll,
		Timeout:      time.Second,
		StartTimeout: time.Second,
		Unconfirmed:  true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Verdicts {
		if v.Outcome == verdict.HarnessError {
			t.Errorf("%s: %s", v.Requirement, v.Reason)
		}
	}
	return report.Findings
}

// fault is a way to misbehave, and what is to be said of it: nothing where it
// is permitted, and no more than that.
type fault struct {
	name, judge string
	seams       func() refserver.Seams
	want        []string // requirement: summary (outcome)
}

func (f fault) run(t *testing.T, rev spec.Revision) {
	t.Run(f.name, func(t *testing.T) {
		t.Parallel()
		var got []string
		for _, d := range findings(t, f.judge, rev, f.seams()) {
			if area, _, _ := strings.Cut(d.Requirement, "."); f.want != nil && area == "base" {
				continue // what goes wrong here may break the general rules, too
			}
			t.Logf("%s: seen %s", d.Requirement, d.Seen)
			got = append(got, d.Requirement+": "+d.Summary+" ("+d.Outcome.String()+")")
		}
		slices.Sort(got)
		if diff := cmp.Diff(f.want, got); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	})
}

// handles returns seams that wrap the handling of requests.
func handles(f func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error)) func() refserver.Seams {
	return func() refserver.Seams { return refserver.Seams{Handle: f} }
}
