package ruleset_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestNamedPlaces checks what the deviations of some broken transcripts name for reports to mark: a
// value of the offending message, a value of an earlier one, or a header.
func TestNamedPlaces(t *testing.T) {
	type script struct{ requirement, name string }
	want := map[script]string{
		{"base.meta-key-name", "a-malformed-name"}:                                                  `1`,
		{"elicitation.form.no-credentials-2025-11-25", "a-key"}:                                     `{"type":"string"}`,
		{"logging.per-request.invalid-level", "served"}:                                             `earlier "verbose"`,
		{"stateless.meta-malformed", "capabilities-that-are-an-array"}:                              `earlier []`,
		{"stateless.meta-malformed", "metadata-that-are-a-string"}:                                  `earlier "x"`,
		{"streamable-http.mcp-name-base64", "an-encoded-name-refused"}:                              `header Mcp-Name`,
		{"streamable-http.origin-validated", "served"}:                                              `header Origin`,
		{"versioning.unsupported-version-error", "a-subscription-is-acknowledged"}:                  `earlier "1900-01-01"`,
		{"versioning.unsupported-version-error", "a-version-that-does-not-exist-is-served"}:         `earlier "1900-01-01"`,
		{"stateless.result-type", "a-result-of-a-handshake-revision-after-a-cancellation"}:          `shown server/discover, notifications/cancelled, tools/list`,
		{"stateless.result-type", "a-result-without-a-type"}:                                        `shown tools/list`,
		{"sampling.include-context.requires-capability", "context-that-was-not-declared"}:           `"allServers"`,
		{"versioning.unsupported-version-error", "a-version-that-does-not-exist-gets-another-code"}: `earlier "1900-01-01"`,
	}
	for _, g := range goldens(t, "broken") {
		key, text := script{}, ""
		for k, v := range want {
			if g.file == k.requirement+"."+k.name+".txt" {
				key, text = k, v
			}
		}
		if text == "" {
			continue
		}
		var got []string
		for _, r := range g.judge(g.Events) {
			for _, d := range r.Deviations {
				switch last := g.Events[d.At[len(d.At)-1]]; {
				case d.Header != "":
					got = append(got, "header "+d.Header)
				case d.Pointer != "":
					got = append(got, string(wire.At(last.Raw, d.Pointer)))
				case d.Earlier != "":
					for _, at := range d.At {
						if v := wire.At(g.Events[at].Raw, d.Earlier); v != nil {
							got = append(got, "earlier "+string(v))
						}
					}
				default:
					shown := ""
					for _, at := range d.At {
						if e := g.Events[at]; e.Kind == transcript.Sent {
							shown += ", " + e.Messages()[0].Method
						}
					}
					got = append(got, fmt.Sprint("shown ", shown[min(2, len(shown)):]))
				}
			}
		}
		if diff := cmp.Diff([]string{text}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", g.file, diff)
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("there is no transcript %v", key)
	}
}
