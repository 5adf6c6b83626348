package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestFirstStart checks that the first start, which may include a download of
// the server, has its own timeout.
func TestFirstStart(t *testing.T) {
	const usual = 3 * time.Second
	for name, first := range map[string]time.Duration{"there is time": time.Minute, "there is none": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				y := &toy{answer: func(start int64, m *wire.Message) []byte {
					if start == 1 && m.Method == spec.MethodInitialize {
						time.Sleep(usual + usual/3)
					}
					return nil
				}}
				p, err := judge(t, y, engine.Options{
					Cases: []suite.Case{pinging(false)}, Revisions: []spec.Revision{spec.V20250618}, StartTimeout: usual, FirstStart: first,
				})
				if first == 0 {
					if err == nil {
						t.Error("it was judged")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(allOutcomes("kept", spec.V20250618), summary(p)); diff != "" {
					t.Errorf("verdicts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestInitializeResponseWithAnotherID checks that a server that responds to
// initialize with another id is judged, with exactly one finding, although the
// handshake fails.
func TestInitializeResponseWithAnotherID(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]func(wire.ID) wire.ID{
		"another":                 func(wire.ID) wire.ID { return wire.IntID(777) },
		"the same, made a string": func(id wire.ID) wire.ID { return wire.StringID(id.Raw()) },
		"null":                    func(wire.ID) wire.ID { return wire.RawID("null") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := &toy{}
				y.answer = func(_ int64, m *wire.Message) []byte {
					m.ID = id(m.ID)
					return nil
				}
				p, err := judge(t, y, engine.Options{Cases: []suite.Case{pinging(false)}, Rules: rules.Base(), Revisions: []spec.Revision{spec.V20250618}})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, f := range p.Findings {
					got = append(got, f.Requirement+" "+f.Outcome.String())
				}
				if diff := cmp.Diff([]string{"base.response-id-echo broken"}, got); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
				if p.Incomplete == "" {
					t.Error("the report does not say that the handshake failed")
				}
			})
		})
	}
}

// TestInvalidDiscovery checks that a server is judged in the stateless revision if a message lists
// that revision but is not a valid response to server/discover. A server that also speaks handshake
// revisions is judged in these, too.
func TestInvalidDiscovery(t *testing.T) {
	t.Parallel()
	const listed = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`
	for name, test := range map[string]struct{ response, want string }{
		"another id":      {`{"jsonrpc":"2.0","id":777,` + listed + `}`, "base.response-id-echo"},
		"the id null":     {`{"jsonrpc":"2.0","id":null,` + listed + `}`, "base.response-id-echo"},
		"an error, too":   {`{"jsonrpc":"2.0","id":%s,` + listed + `,"error":null}`, "base.response-not-both"},
		"no such method":  {`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, ""},
		"no version":      {`{"jsonrpc":"2.0","id":777,"result":{}}`, ""},
		"a valid result":  {`{"jsonrpc":"2.0","id":%s,` + listed + `}`, ""},
		"another version": {`{"jsonrpc":"2.0","id":777,"result":{"supportedVersions":["2099-01-01"]}}`, ""},
	} {
		for _, handshake := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, handshake %v", name, handshake), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					y := &toy{}
					y.answer = func(_ int64, m *wire.Message) []byte {
						switch {
						case m.Method == spec.MethodDiscover:
							return []byte(strings.ReplaceAll(test.response, "%s", m.ID.Raw()))
						case m.Method == spec.MethodInitialize && !handshake:
							return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID.Raw())
						}
						return nil
					}
					p, err := judge(t, y, engine.Options{Cases: []suite.Case{pinging(false)}, Rules: rules.Base()})
					if err != nil {
						t.Fatal(err)
					}
					var got string
					for _, f := range p.Findings {
						if f.Outcome == verdict.Broken {
							got += f.Requirement
						}
					}
					if got != test.want {
						t.Errorf("broken: %q, not %q", got, test.want)
					}
					isListed := test.want != "" || name == "a valid result"
					if judged := slices.Contains(p.Revisions, spec.V20260728); judged != isListed {
						t.Errorf("judged revisions: %v", p.Revisions)
					}
					if judged := slices.Contains(p.Revisions, spec.V20251125); judged != (handshake || !isListed) {
						t.Errorf("judged revisions: %v", p.Revisions)
					}
				})
			})
		}
	}
}

// TestASecondCopyThatFailsByChance checks that the notice that no second copy
// can run appears only if two concurrent copies failed again, not if one failed
// by chance or if a revision makes the server exit.
func TestASecondCopyThatFailsByChance(t *testing.T) {
	old, newer := spec.V20241105, spec.HandshakeRevisions()[1:]
	for name, test := range map[string]struct {
		exits func(start int64, m *wire.Message) bool
		want  []string
	}{
		"one that fails once": {func(start int64, _ *wire.Message) bool { return start == 3 }, allOutcomes("kept", spec.HandshakeRevisions()...)},
		"a revision that ends the server": {func(_ int64, m *wire.Message) bool {
			asked, _ := wire.Text(wire.At(m.Params(), "/protocolVersion"))
			return m.Method == spec.MethodInitialize && asked == string(old)
		}, allOutcomes("kept", newer...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := &toy{exits: test.exits}
			p, err := judge(t, y, engine.Options{Cases: []suite.Case{pinging(true)}, StartTimeout: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, summary(p)); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if len(p.Notices) > 0 {
				t.Errorf("notices: %q", p.Notices)
			}
		})
	}
}

// TestVersionsThatAnErrorExcludes checks that the probe requests no version that the error for an
// unsupported version does not list, and each other one.
func TestVersionsThatAnErrorExcludes(t *testing.T) {
	const newest, older, oldest = spec.V20251125, spec.V20250618, spec.V20241105
	for name, c := range map[string]struct {
		code  spec.Code
		lists []spec.Revision
		want  []string // the requested versions after the newest
	}{
		"one is listed":      {spec.CodeUnsupported, []spec.Revision{older}, []string{string(older)}},
		"two are":            {spec.CodeUnsupported, []spec.Revision{oldest, older, spec.V20260728}, []string{string(oldest), string(older)}},
		"none is":            {spec.CodeUnsupported, []spec.Revision{}, []string{string(oldest), string(spec.V20250326), string(older)}},
		"it is another code": {spec.CodeInvalidParams, []spec.Revision{older}, []string{string(oldest), string(spec.V20250326), string(older)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			requested := map[string]bool{}
			y := &toy{answer: func(_ int64, m *wire.Message) []byte {
				version, _ := wire.Text(wire.At(m.Params(), "/protocolVersion"))
				if m.Method != spec.MethodInitialize {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				requested[version] = true
				if version == string(older) {
					return nil
				}
				return wire.NewError(m.ID, int64(c.code), "Unsupported protocol version", map[string]any{"supported": c.lists})
			}}
			p, err := judge(t, y, engine.Options{Cases: []suite.Case{pinging(true)}})
			if err != nil {
				t.Fatal(err)
			}
			delete(requested, string(newest))
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(requested))); diff != "" {
				t.Errorf("requested versions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]spec.Revision{older}, p.Revisions); diff != "" {
				t.Errorf("judged revisions (-want +got):\n%s", diff)
			}
			if len(p.NotSpoken) != 3 {
				t.Errorf("revisions that are not judged: %v, not 3", p.NotSpoken)
			}
		})
	}
}
