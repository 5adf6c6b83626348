package fuzz

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/script"
)

// Merged says what Merge has written.
type Merged struct {
	Sequences, ReadSequences int // of the corpora
	Findings, ReadFindings   int // replay files
}

// Merge makes one folder of several that searches wrote: one corpus without sequences that are the
// beginning of others with the same last operation, and of equal findings the replay file with the shortest script. The folders
// stay as they are.
func Merge(out string, dirs []string) (Merged, error) {
	var m Merged
	all := newNovelty()
	findings := map[script.Expected]finding{}
	for _, dir := range dirs {
		if err := all.load(dir); err != nil {
			return m, fmt.Errorf("%s: %w", dir, err)
		}
		n, err := readFindings(dir, findings)
		if err != nil {
			return m, err
		}
		m.ReadFindings += n
	}
	m.ReadSequences, m.Findings = len(all.known), len(findings)
	all.loaded = nil // they stay
	for _, s := range all.corpus {
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
	names := map[string]bool{}
	for _, f := range sorted(findings) {
		name := f.name
		for i := 2; names[name]; i++ {
			name = fmt.Sprintf("%s-%d.json", strings.TrimSuffix(f.name, ".json"), i)
		}
		names[name] = true
		if err := os.WriteFile(filepath.Join(out, name), f.data, 0o600); err != nil {
			return m, err
		}
	}
	return m, nil
}

// finding is a replay file.
type finding struct {
	name string
	data []byte
	size int // of the script
}

// sorted returns the findings by name, and those with equal names by their text.
func sorted(all map[script.Expected]finding) []finding {
	var out []finding
	for _, f := range all {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b finding) int {
		return strings.Compare(a.name+"\x00"+string(a.data), b.name+"\x00"+string(b.data))
	})
	return out
}

// readFindings adds the replay files of a folder, and returns how many there are.
func readFindings(dir string, all map[script.Expected]finding) (n int, err error) {
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
		key := file.Expect
		key.Permitted, key.Seen = "", "" // they quote one conversation
		one := finding{f.Name(), data, len(file.Script.Operations)}
		if known, ok := all[key]; !ok || one.size < known.size || one.size == known.size && string(data) < string(known.data) {
			all[key] = one
		}
	}
	return n, nil
}

// minimize drops the sequences that are the beginning of others of their group, and returns how many are left.
func (s *shelf) minimize() int {
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
