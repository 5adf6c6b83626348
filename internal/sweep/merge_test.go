package sweep

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// sweepInto runs a sweep with stub results that depend only on the names.
func sweepInto(out string, names []string, shard Shard) (*Sweep, error) {
	s := &supervisor{Options: Options{Version: "1.0.0", Out: out, Shard: shard, Whole: entriesOf(names), Jobs: 2}}
	s.judgeServer = func(_ context.Context, e *Entry) (*Result, error) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(e.Name))
		r := &Result{Name: e.Name, Folder: e.Folder, Asked: e.asked, Outcome: outcomes[h.Sum32()%3], SDK: fmt.Sprint("sdk ", h.Sum32()%2)}
		if r.Outcome == Broken {
			r.Findings = []Finding{{Requirement: "ping.responds", Level: "MUST", Outcome: verdict.Broken, Summary: "of " + e.Name}}
		}
		var err error
		if r.partial, err = s.newPartialFolder(e); err != nil {
			return nil, err
		}
		r.Reports = []string{"report.html"}
		return r, os.WriteFile(filepath.Join(r.partial, "report.html"), []byte(e.Name), 0o600)
	}
	return s.run(context.Background())
}

// readFolder returns the files of a folder.
func readFolder(t *rapid.T, folder string) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMergeIsLikeOneMachine is a law: the merged shards have the bytes of one machine, in
// whatever order they are merged, and merged again.
func TestMergeIsLikeOneMachine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		if n++; n > 25 {
			return // each check writes some hundred files
		}
		dir := filepath.Join(root, fmt.Sprint(n))
		name := rapid.StringMatching(`[a-z]{1,3}(/[a-z]{1,3})?`).Filter(func(name string) bool { return !slices.Contains(reservedNames, name) })
		names := rapid.SliceOfNDistinct(name, 1, 5, rapid.ID[string]).Draw(t, "names")
		count := rapid.IntRange(2, 3).Draw(t, "count")
		if _, err := sweepInto(filepath.Join(dir, "one"), names, Shard{}); err != nil {
			t.Fatal(err)
		}
		var folders []string
		for index := 1; index <= count; index++ {
			shard := Shard{index, count}
			folders = append(folders, filepath.Join(dir, "shards", shard.Folder()))
			if _, err := sweepInto(folders[index-1], names, shard); err != nil {
				t.Fatal(err)
			}
		}
		folders = rapid.Permutation(folders).Draw(t, "folders")
		if rapid.Bool().Draw(t, "by the folder above") {
			folders = []string{filepath.Join(dir, "shards")}
		}
		want := readFolder(t, filepath.Join(dir, "one"))
		if rapid.Bool().Draw(t, "a used folder") {
			if _, err := sweepInto(filepath.Join(dir, "merged"), append(names, "left", "left/too"), Shard{}); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"servers/" + partialPrefix + "left", "work/1"} {
				if err := os.MkdirAll(filepath.Join(dir, "merged", path), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "merged", "servers", partialPrefix+"left", "report.html"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for i, from := range [][]string{folders, append(folders, folders[0]), {filepath.Join(dir, "merged")}} {
			w, err := Merge(filepath.Join(dir, "merged"), from)
			if err != nil {
				t.Fatal(err)
			}
			if shards := []int{count, count, 0}[i]; w.Merged != shards {
				t.Errorf("%d shards were merged, not %d", w.Merged, shards)
			}
			if diff := cmp.Diff(want, readFolder(t, filepath.Join(dir, "merged"))); diff != "" {
				t.Fatalf("(-one machine +merged):\n%s", diff)
			}
		}
		_ = os.RemoveAll(dir)
	})
}

// TestMergeRefuses checks that an error says what is missing, double or different.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e", "f"}
	for name, c := range map[string]struct {
		spoil func(dir string) ([]string, error)
		want  string
	}{
		"a missing shard": {func(dir string) ([]string, error) {
			return []string{dir + "/shard-1-of-3", dir + "/shard-3-of-3"}, nil
		}, "a part of the list is missing: shard 2/3"},
		"two missing shards": {func(dir string) ([]string, error) { return []string{dir + "/shard-3-of-3"}, nil }, "missing: shards 1/3, 2/3"},
		"a shard twice": {func(dir string) ([]string, error) {
			return []string{dir, dir + "/copy"}, os.CopyFS(dir+"/copy", os.DirFS(dir+"/shard-2-of-3"))
		}, "shard 2/3 is in "},
		"the whole list, too": {func(dir string) ([]string, error) {
			_, err := sweepInto(dir+"/whole", names, Shard{})
			return []string{dir, dir + "/whole"}, err
		}, "overlaps with all shards"},
		"other shards": {func(dir string) ([]string, error) {
			_, err := sweepInto(dir+"/other", names, Shard{1, 2})
			return []string{dir, dir + "/other"}, err
		}, "belong to different numbers of shards"},
		"another list": {func(dir string) ([]string, error) {
			_, err := sweepInto(dir+"/shard-2-of-3", append([]string{"g"}, names...), Shard{2, 3})
			return []string{dir}, err
		}, "are shards of different lists"},
		"a server that is pending": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"outcome": "`, `"outcome": "pending", "before": "`)
		}, "(shard 1/3) is not finished: server"},
		"another version": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-2-of-3/sweep.json", `"version": "1.0.0"`, `"version": "2.0.0"`)
		}, "was judged by mcp-conform 1.0.0"},
		"a folder outside": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"folder": "`, `"folder": "../`)
		}, "can't be used"},
		"other weights": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"all": 6`, `"all": 7`)
		}, "the shards have only 6 of the 7 servers"},
		"a server that is null": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"servers": [`, `"servers": [null, `)
		}, "has a server without a known outcome"},
		"an unknown outcome": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"outcome": "`, `"outcome": "un`)
		}, "has a server without a known outcome"},
		"too many shards": {func(dir string) ([]string, error) {
			return []string{dir + "/shard-1-of-3"}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"count": 3`, `"count": 2000000000`)
		}, "is of shard 1/2000000000, which can't be"},
		"another time limit": {func(dir string) ([]string, error) {
			return []string{dir}, sweepWith(dir, names, func(o *Options) { o.Limits.Time = time.Minute })
		}, "were judged with different flags"},
		"another opt-out list": {func(dir string) ([]string, error) {
			return []string{dir}, sweepWith(dir, names, func(o *Options) { o.OptOut = &OptOut{rules: []string{"other"}} })
		}, "were judged with different flags"},
		"a missing report": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"report.html"`, `"report.tap"`)
		}, "a report of server "},
		"a report above": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"report.html"`, `".."`)
		}, `the report ".." of server`},
		"a result that has changed": {func(dir string) ([]string, error) {
			return []string{dir}, replaceInFile(dir+"/shard-1-of-3/sweep.json", `"seconds": 0`, `"seconds": 1`)
		}, "differs from its entry in sweep.json"},
		"missing results": {func(dir string) ([]string, error) {
			return []string{dir}, os.RemoveAll(dir + "/shard-1-of-3/servers")
		}, "the results of server "},
		"no sweep": {func(dir string) ([]string, error) { return []string{dir + "/nothing"}, nil }, "can't be read: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for index := 1; index <= 3; index++ {
				shard := Shard{index, 3}
				if w, err := sweepInto(filepath.Join(dir, shard.Folder()), names, shard); err != nil || len(w.Servers) == 0 {
					t.Fatal("each shard needs a server", w, err)
				}
			}
			folders, err := c.spoil(dir)
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			if _, err := Merge(out, folders); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, without %s", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(out, "servers", ".*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// sweepWith judges the second of three shards with other options than the rest.
func sweepWith(dir string, names []string, change func(o *Options)) error {
	s := &supervisor{Options: Options{Version: "1.0.0", Out: dir + "/shard-2-of-3", Shard: Shard{2, 3}, Whole: entriesOf(names)}}
	change(&s.Options)
	s.judgeServer = func(_ context.Context, e *Entry) (*Result, error) {
		return &Result{Name: e.Name, Folder: e.Folder, Asked: e.asked, Outcome: Kept}, nil
	}
	_, err := s.run(context.Background())
	return err
}

// replaceInFile replaces text in a file. It returns an error if the file does not have the text.
func replaceInFile(path, old, with string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(old)) {
		return fmt.Errorf("%s has no %s", path, old)
	}
	return os.WriteFile(path, bytes.ReplaceAll(text, []byte(old), []byte(with)), 0o600)
}

// TestBySeverity checks that servers without a verdict come after broken ones, and kept ones last.
func TestBySeverity(t *testing.T) {
	t.Parallel()
	w := &Sweep{Servers: []*Result{{Name: "a", Outcome: Kept}, {Name: "b", Outcome: Unreachable}, {Name: "c", Outcome: Broken}, {Name: "d", Outcome: Broken}}}
	got := ""
	for _, r := range w.BySeverity() {
		got += r.Name
	}
	if got != "cdba" {
		t.Error(got)
	}
}

// TestPageEscapesServerText checks that text from servers can't become markup.
func TestPageEscapesServerText(t *testing.T) {
	t.Parallel()
	const hostile = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m"
	r := &Result{Name: "a/b c", Folder: "a~b c", Outcome: Incomplete, Problem: hostile, Server: verdict.Server{Name: hostile, Version: hostile}, SDK: hostile, Reports: []string{"output.txt"}}
	r.Findings = []Finding{{Requirement: hostile, Outcome: verdict.Broken, Summary: hostile}}
	w := &Sweep{Version: hostile, Servers: []*Result{r}}
	w.summarise()
	var b strings.Builder
	if err := w.writePage(&b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<img", "\u202e", "\x1b"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(b.String(), "</script>"); n != 1 {
		t.Errorf("the page has %d ends of scripts", n)
	}
	if link := `href="servers/a~b%20c/output.txt"`; !strings.Contains(b.String(), link) {
		t.Errorf("the page has no %s", link)
	}
}
