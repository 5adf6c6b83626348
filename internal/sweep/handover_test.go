package sweep

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHandover checks that a sweep reads what its run wrote, and nothing from any other file that a
// server may have left in its place.
func TestHandover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, handoverFile)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := Handover{PauseEnd: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Quote: "the server's stderr says: Error: \u00e9 \"x\""}
	write("of the server")
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readHandover(dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{
		"not JSON": "Quote: x", "cut off": `{"quote": "x"`, "large": `{"quote": "` + strings.Repeat("x", maxHandover) + `"}`, "no time": `{"quote": "x", "pauseEnd": "soon"}`,
	} {
		write(text)
		if got := readHandover(dir); got != (Handover{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := (&Handover{}).Write(path); err != nil || exists(path) {
		t.Errorf("a handover of nothing is written, %v", err)
	}
	if exec.Command("mkfifo", path).Run() == nil {
		if got := readHandover(dir); got != (Handover{}) {
			t.Errorf("a pipe: %+v", got)
		}
		if err := want.Write(path); err != nil || readHandover(dir) != want {
			t.Errorf("instead of a pipe: %+v, %v", readHandover(dir), err)
		}
	}
	_ = os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := readHandover(dir); got != (Handover{}) {
		t.Errorf("a folder: %+v", got)
	}
}
