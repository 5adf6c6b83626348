package versioning_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/suites/versioning"
)

const (
	noInitialize = "versioning.initialize-known-version: The server answers initialize with a revision that has no initialize. (warning)"
	notNewest    = "versioning.initialize-latest-version: The server answers an unknown version with one that is not its newest. (warning)"
	noHand       = "versioning.initialize-latest-version: The server offers a revision that has no handshake. (warning)"
	asExample    = "versioning.initialize-unsupported-error: The server refuses an unknown version with the example error. (note)"
)

func TestFaults(t *testing.T) {
	example := map[string]any{"supported": []string{"2025-11-25"}, "requested": "1900-01-01"}
	for _, f := range []fault{
		{"all is well", "versioning.unknown-version", onUnknown(nil), nil},
		{"a revision without a handshake", "versioning.unknown-version", onUnknown(func(*refserver.Call, string) (string, *refserver.Error) {
			return "2026-07-28", nil
		}), []string{noInitialize, noHand}},
		{"the example's error", "versioning.unknown-version", onUnknown(func(*refserver.Call, string) (string, *refserver.Error) {
			return "", &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unsupported protocol version", Data: example}
		}), []string{asExample}},
	} {
		f.run(t, spec.V20251125)
	}
	// The run judges an older revision only, and the server speaks a newer one.
	fault{"an older version offered", "versioning.unknown-version", onUnknown(func(*refserver.Call, string) (string, *refserver.Error) {
		return string(spec.V20250618), nil
	}), []string{notNewest}}.run(t, spec.V20250618)
	fault{"the newest version offered", "versioning.unknown-version", onUnknown(nil), nil}.run(t, spec.V20250618)
}

// TestTheSameVersionTwice requests each older version in two sessions of one process.
func TestTheSameVersionTwice(t *testing.T) {
	for _, f := range []struct {
		name   string
		serves func(sessions int) bool // the older version that is requested
	}{
		{"all is well", func(int) bool { return true }},
		{"the newest version alone is supported", func(int) bool { return false }},
		{"older versions are supported from the second session on", func(sessions int) bool { return sessions > 1 }},
	} {
		var older atomic.Int32
		suitetest.TryWithRulesOver(t, spec.StreamableHTTP, versioning.Cases(), f.name, "versioning.repeated", spec.V20251125,
			suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
				asked, _ := wire.Text(wire.At(c.Params, "/protocolVersion"))
				if c.Method == spec.MethodInitialize && asked != string(spec.V20251125) && !f.serves(int(older.Add(1))) {
					_, members := wire.Members(c.Params)
					members["protocolVersion"] = wire.Quote(string(spec.V20251125))
					c.Params = wire.JSON(members)
				}
				return next(c)
			}), nil)
	}
}

// TestOnceForAllRevisions checks that an older revision costs no servers.
func TestOnceForAllRevisions(t *testing.T) {
	report, err := engine.Run(t.Context(), engine.Options{Dialer: suitetest.Reference(refserver.Options{}), Cases: versioning.Cases()})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Verdicts {
		if v.Requirement != "versioning.initialize-other-version" {
			continue
		}
		want := verdict.NotObserved
		if v.Revision == spec.V20251125 {
			want = verdict.Kept
		}
		if v.Outcome != want {
			t.Errorf("%s in %s is %s (%s), want %s", v.Requirement, v.Revision, v.Outcome, v.Reason, want)
		}
	}
}

// onUnknown returns seams for an initialize with an unknown version; f returns the version to
// offer.
func onUnknown(f func(c *refserver.Call, asked string) (string, *refserver.Error)) func() refserver.Seams {
	return suitetest.HandleSeams(func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
		result, err := next(c)
		asked, _ := wire.Text(wire.At(c.Params, "/protocolVersion"))
		if f == nil || err != nil || c.Method != spec.MethodInitialize || slices.Contains(spec.HandshakeRevisions(), spec.Revision(asked)) {
			return result, err
		}
		offer, err := f(c, asked)
		if err != nil {
			return nil, err
		}
		_, members := wire.Members(wire.JSON(result))
		members["protocolVersion"] = wire.Quote(offer)
		return members, nil
	})
}

// fault is a misbehavior with its exact findings; none if it is permitted.
type fault struct {
	name, judge string
	seams       func() refserver.Seams
	want        []string // requirement: summary (outcome)
}

func (f fault) run(t *testing.T, rev spec.Revision) {
	suitetest.TryWithRules(t, versioning.Cases(), f.name, f.judge, rev, f.seams, f.want)
}
