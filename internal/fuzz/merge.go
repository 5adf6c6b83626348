package fuzz

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Merged counts what Merge has read and what it has written.
type Merged struct {
	Sequences, ReadSequences int // sequences written to the merged corpus, and read from all corpora
	Findings, ReadFindings   int // replay files written, and read
}

// Merge merges the folders of several searches into the folder out. The merged corpus omits
// sequences that are the beginning of others in the same group (see seedPool). For each finding,
// Merge keeps the replay file with the most severe outcome and, among equally severe ones, the
// shortest script. The folders in dirs stay unchanged, unless one of them is out. A corpus in out is
// merged too, but a replay file in out that this merge would not write is an error.
func Merge(out string, dirs []string) (Merged, error) {
	var m Merged
	all := newNovelty()
	all.most = math.MaxInt
	findings := map[verdict.SearchKey]replayFile{}
	for _, dir := range dirs {
		if err := all.load(dir); err != nil {
			return m, fmt.Errorf("%s: %w", dir, err)
		}
		n, err := readReplayFiles(dir, findings)
		if err != nil {
			return m, err
		}
		m.ReadFindings += n
	}
	if err := all.load(out); err != nil { // the corpus of an earlier merge, if there is one
		return m, fmt.Errorf("%s: %w", out, err)
	}
	m.ReadSequences, m.Findings = len(all.lines), len(findings)
	files := nameFiles(findings)
	isRead := slices.ContainsFunc(dirs, func(dir string) bool { return filepath.Clean(dir) == filepath.Clean(out) })
	stale, err := staleFiles(out, files)
	if err != nil {
		return m, err
	}
	if len(stale) > 0 && !isRead {
		return m, fmt.Errorf("%w: %s", ErrOtherFindings, filepath.Join(out, stale[0]))
	}
	all.files = slices.DeleteFunc(all.files, func(name string) bool { return filepath.Dir(name) != filepath.Clean(out) })
	for _, s := range all.seedsBy {
		m.Sequences += s.minimize()
	}
	if m.Sequences > 0 {
		if err := all.save(out, nil); err != nil {
			return m, err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // for others to read
		return m, err
	}
	for name, f := range files {
		if err := os.WriteFile(filepath.Join(out, name), f.data, 0o600); err != nil {
			return m, err
		}
	}
	for _, name := range stale { // out is one of dirs, so the findings of these files are in the result
		if files[name].data != nil {
			continue // it was overwritten
		}
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			return m, err
		}
	}
	return m, nil
}

// ErrOtherFindings is returned by Merge if the folder for the result has a replay file that is not
// part of the result.
var ErrOtherFindings = errors.New("the folder for the result has a replay file that this merge would not write")

// nameFiles returns the files by the names under which they are written.
func nameFiles(findings map[verdict.SearchKey]replayFile) map[string]replayFile {
	out := map[string]replayFile{}
	for _, f := range sortedFiles(findings) {
		name := f.name
		for i := 2; out[name].data != nil; i++ {
			name = fmt.Sprintf("%s-%d.json", strings.TrimSuffix(f.name, ".json"), i)
		}
		out[name] = f
	}
	return out
}

// staleFiles returns the names of the replay files in a folder that differ from those to be written.
func staleFiles(dir string, files map[string]replayFile) (stale []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		if data, err := os.ReadFile(filepath.Join(dir, entry.Name())); err != nil || !bytes.Equal(data, files[entry.Name()].data) {
			stale = append(stale, entry.Name())
		}
	}
	return stale, err
}

// replayFile is a replay file that was read.
type replayFile struct {
	name       string
	data       []byte
	outcome    verdict.Outcome
	operations int // number of operations in the script
}

// compare orders replay files of one finding, the one to keep first.
func (f replayFile) compare(other replayFile) int {
	return cmp.Or(cmp.Compare(other.outcome, f.outcome), cmp.Compare(f.operations, other.operations), bytes.Compare(f.data, other.data))
}

// sortedFiles returns the files sorted by name, and files with the same name by their contents.
func sortedFiles(all map[verdict.SearchKey]replayFile) []replayFile {
	var out []replayFile
	for _, f := range all {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b replayFile) int {
		return strings.Compare(a.name+"\x00"+string(a.data), b.name+"\x00"+string(b.data))
	})
	return out
}

// readReplayFiles reads the replay files of a folder, keeps the best one for each finding in the
// map all, and returns how many it has read.
func readReplayFiles(dir string, all map[verdict.SearchKey]replayFile) (n int, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return n, err
		}
		file, err := script.ReadFile(data)
		if err != nil {
			return n, fmt.Errorf("%s: %w", filepath.Join(dir, f.Name()), err)
		}
		n++
		found := replayFile{name: f.Name(), data: data, operations: len(file.Script.Operations)}
		_ = found.outcome.UnmarshalText([]byte(file.Expect.Outcome)) // an unknown outcome is the least severe
		key := expectedKey(file.Expect)
		if known, ok := all[key]; !ok || found.compare(known) < 0 {
			all[key] = found
		}
	}
	return n, nil
}

// minimize drops the seeds that are the beginning of another seed in their group, and returns how
// many are left.
func (s *seedPool) minimize() int {
	n := 0
	for i, group := range s.groups {
		texts := make([][]string, len(group))
		for j, ops := range group {
			for _, op := range ops {
				texts[j] = append(texts[j], fmt.Sprintf("%+v", op))
			}
		}
		var left [][]script.Operation
		for j := range group {
			if !slices.ContainsFunc(texts, func(other []string) bool {
				return len(other) > len(texts[j]) && slices.Equal(other[:len(texts[j])], texts[j])
			}) {
				left = append(left, group[j])
			}
		}
		s.groups[i] = left
		n += len(left)
	}
	return n
}
