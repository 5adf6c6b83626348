package fuzz

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// requestsOf is a sequence of a request with each method.
func requestsOf(methods ...string) []script.Operation {
	var ops []script.Operation
	for _, m := range methods {
		ops = append(ops, script.Operation{Do: script.Send, Method: m, Message: script.Bytes(`{"jsonrpc":"2.0","id":1,"method":"` + m + `"}`)})
	}
	return ops
}

// methodsIn returns the methods of the sequences of a corpus.
func methodsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	n := newNovelty()
	if err := n.load(dir); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, s := range n.seedsBy {
		for _, group := range s.groups {
			for _, ops := range group {
				var all []string
				for _, op := range ops {
					all = append(all, op.Method)
				}
				out[strings.Join(all, " ")] = true
			}
		}
	}
	return out
}

// TestSeedsAreSmall checks that a sequence with a large message does not become a seed.
func TestSeedsAreSmall(t *testing.T) {
	for _, c := range []struct {
		size, want int
	}{{100, 1}, {maxSeedSize, 0}} {
		n, small := newNovelty(), requestsOf("tools/list")
		large := requestsOf(strings.Repeat("m", c.size))
		x := &Execution{Playback: &script.Playback{Script: script.Script{Operations: append(large, small...)}}}
		n.addSeed(x, 1, 0, generate.ValidOnly)
		if got := len(n.seeds(generate.ValidOnly)); got != c.want {
			t.Errorf("%d bytes: %d groups of seeds, want %d", c.size, got, c.want)
		}
	}
}

// TestSharedCorpusKeepsAll checks that searches that use a corpus at the same time keep the
// sequences of all.
func TestSharedCorpusKeepsAll(t *testing.T) {
	dir := t.TempDir()
	want := map[string]bool{}
	var all sync.WaitGroup
	for i := range 8 {
		for j := range 5 {
			want["m"+strconv.Itoa(i)+"-"+strconv.Itoa(j)] = true
		}
		all.Go(func() {
			for j := range 5 {
				n := newNovelty()
				if err := n.load(dir); err != nil {
					t.Error(err)
				}
				n.poolOf(generate.ValidOnly).add(requestsOf("m"+strconv.Itoa(i)+"-"+strconv.Itoa(j)), 0)
				if err := n.save(dir, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(want, methodsIn(t, dir)); diff != "" {
		t.Errorf("sequences (-want +got):\n%s", diff)
	}
	n := newNovelty()
	if err := n.load(dir); err != nil {
		t.Fatal(err)
	}
	if err := n.save(dir, nil); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

func TestMerge(t *testing.T) {
	a, b, out := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "all")
	for dir, sequences := range map[string][][]script.Operation{a: {requestsOf("x"), requestsOf("x", "x"), requestsOf("z")}, b: {requestsOf("x"), requestsOf("y", "x")}} {
		n := newNovelty()
		for _, ops := range sequences {
			n.poolOf(generate.ValidOnly).add(ops, 0)
		}
		if err := n.save(dir, nil); err != nil {
			t.Fatal(err)
		}
	}
	found := func(dir, name, summary, outcome, seen string, methods ...string) {
		f := script.File{
			Version: script.FileVersion, Transport: spec.Stdio, Reproduced: [2]int{1, 1}, Script: script.Script{Revision: spec.V20251125, Operations: requestsOf(methods...)},
			Expect: script.Expected{Law: "rules", Requirement: "ping.responds", Summary: summary, Outcome: outcome, Seen: seen},
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), f.Encode(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found(a, "found", "one", "broken", "1", "ping", "ping")
	found(b, "found", "one", "broken", "2", "ping")
	found(b, "found-2", "another", "broken", "3", "ping")
	found(a, "found-3", "a third", "warning", "4", "ping")
	found(b, "found-3", "a third", "broken", "5", "ping", "ping")
	m, err := Merge(out, []string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Merged{Sequences: 3, ReadSequences: 4, Findings: 3, ReadFindings: 5}, m); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]bool{"x x": true, "z": true, "y x": true}, methodsIn(t, out)); diff != "" {
		t.Errorf("sequences (-want +got):\n%s", diff)
	}
	for name, seen := range map[string]string{"found": "2", "found-3": "5"} { // the shorter one, the more severe one
		data, err := os.ReadFile(filepath.Join(out, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if f, err := script.ReadFile(data); err != nil || f.Expect.Seen != seen {
			t.Errorf("%s: another of two equal findings is kept, or %v", name, err)
		}
	}
	if n, err := Merge(out, []string{a, b}); err != nil || n != m {
		t.Errorf("merged into the same folder again: %+v, %v", n, err)
	}
	if files, err := filepath.Glob(filepath.Join(out, "*.jsonl")); err != nil || len(files) != 1 {
		t.Errorf("the corpus has the files %v, %v", files, err)
	}
	if _, err := Merge(out, []string{a}); !errors.Is(err, ErrOtherFindings) || !strings.Contains(err.Error(), "found-2.json") {
		t.Errorf("findings of an earlier merge stay: %v", err)
	}
	if n, err := Merge(out, []string{a, out}); err != nil || n.Findings != 3 || n.ReadFindings != 5 {
		t.Errorf("merged with the result: %+v, %v", n, err)
	}
	found(out, "found-9", "another", "broken", "9", "ping", "ping")
	if _, err := Merge(out, []string{out}); err != nil {
		t.Error(err)
	}
	if files, err := filepath.Glob(filepath.Join(out, "*.json")); err != nil || len(files) != 3 {
		t.Errorf("the result has the files %v, %v", files, err)
	}
	again := filepath.Join(t.TempDir(), "again")
	if n, err := Merge(again, []string{out}); err != nil || n.Sequences != m.Sequences || n.Findings != m.Findings {
		t.Errorf("merged again: %+v, %v", n, err)
	}
	if err := os.WriteFile(filepath.Join(a, "other.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(again, []string{a}); err == nil || !strings.Contains(err.Error(), "other.json") {
		t.Errorf("the error is %v", err)
	}
}

// TestSizeOfACorpus checks that a corpus is limited by its distinct sequences, not by their copies in
// the files of several searches.
func TestSizeOfACorpus(t *testing.T) {
	line := func(i int) string {
		return `{"mood":0,"operations":[{"do":"send","method":"ping","message":{"id":` + strconv.Itoa(i) + `,"text":"` + strings.Repeat("x", 3<<20) + `"}}]}` + "\n"
	}
	dir := t.TempDir()
	write := func(name string, sequences int) {
		var corpus strings.Builder
		for i := range sequences {
			corpus.WriteString(line(i))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(corpus.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		write("corpus-"+strconv.Itoa(i)+".jsonl", 10) // 30 MiB each
	}
	if err := CheckCorpus(dir); err != nil {
		t.Errorf("4 files with the same 30 MiB: %v", err)
	}
	write("corpus-5.jsonl", 22)
	if err := CheckCorpus(dir); err == nil || !strings.Contains(err.Error(), "are larger than 64 MiB") {
		t.Errorf("66 MiB: %v", err)
	}
}

// TestMergeDropsNoSequence checks that a merge keeps more sequences than a search would.
func TestMergeDropsNoSequence(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "all")
	var corpus strings.Builder
	for i := range maxSeeds + 50 {
		corpus.WriteString(`{"mood":0,"operations":[{"do":"send","method":"ping","message":{"jsonrpc":"2.0","id":` + strconv.Itoa(i) + `,"method":"ping"}}]}` + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "corpus-1.jsonl"), []byte(corpus.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := Merge(out, []string{dir}); err != nil || m.Sequences != maxSeeds+50 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestCorpusIsSavedDuringTheSearch checks that a long search saves its corpus now and then, into one
// file, so that a search that is killed loses little.
func TestCorpusIsSavedDuringTheSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &search{Options: Options{Corpus: t.TempDir()}, novelty: newNovelty()}
		s.novelty.poolOf(generate.ValidOnly).add(requestsOf("first"), 0)
		over, done := make(chan struct{}), make(chan struct{})
		go s.tick(over, done)
		time.Sleep(saveEvery + time.Second)
		if diff := cmp.Diff(map[string]bool{"first": true}, methodsIn(t, s.Corpus)); diff != "" {
			t.Errorf("after the first save (-want +got):\n%s", diff)
		}
		s.novelty.mu.Lock()
		s.novelty.poolOf(generate.ValidOnly).add(requestsOf("second"), 0)
		s.novelty.mu.Unlock()
		time.Sleep(saveEvery)
		close(over)
		<-done
		if diff := cmp.Diff(map[string]bool{"first": true, "second": true}, methodsIn(t, s.Corpus)); diff != "" {
			t.Errorf("after the second (-want +got):\n%s", diff)
		}
		if files, err := os.ReadDir(s.Corpus); len(files) != 1 || err != nil {
			t.Errorf("%d files, not 1 (%v)", len(files), err)
		}
	})
}
