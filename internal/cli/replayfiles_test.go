package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestNoticesOfReplayFiles checks that a run names each finding without a replay file once, and why
// it has none.
func TestNoticesOfReplayFiles(t *testing.T) {
	w := &replayFiles{f: &runFlags{}, written: make([]replayFile, 1)}
	w.f.out = "found"
	var wanted []verdict.Key
	missing := map[verdict.Key]string{}
	for _, of := range []struct{ requirement, summary, why string }{
		{"ping.responds", "a", ""},
		{"base.parse-error", "b", onlyByCase},
		{"base.response-once", "c", notReproduced},
		{"base.parse-error", "d", onlyByCase},
		{"base.batch-receive", "e", onlyByCase},
	} {
		key := verdict.Key{Place: verdict.Place{Requirement: of.requirement}, Summary: of.summary}
		wanted, missing[key] = append(wanted, key), of.why
	}
	want := []string{
		"--replay-files: wrote 1 file to found, for 1 of 5 findings.",
		"--replay-files: no file for base.parse-error, base.batch-receive: only a case can judge it, not a replay of messages.",
		"--replay-files: no file for base.response-once: sending the messages again did not show it again.",
	}
	if diff := cmp.Diff(want, w.notices(wanted, missing)); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if got := w.notices(nil, nil); got != nil {
		t.Errorf("without findings, the notices are %q", got)
	}
}
