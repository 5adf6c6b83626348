package fuzz

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A corpus is a folder of files that begin and end so. Each line of a file is one sequence of
// operations. A search writes a new file, and then removes those whose sequences are in it: so
// processes need no locks, and nothing is lost.
const (
	corpusPrefix = "corpus"
	corpusSuffix = ".jsonl"
)

// mostRead limits how many bytes of a corpus are read.
const mostRead = 64 << 20

// entry is one line of the corpus file.
type entry struct {
	Mood       generate.Mood      `json:"mood"`
	Operations []script.Operation `json:"operations"`
}

// CheckCorpus returns an error if the corpus in the folder cannot be read.
func CheckCorpus(dir string) error { return newNovelty().load(dir) }

// load reads a corpus. An unreadable line is an error.
func (n *novelty) load(dir string) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the corpus: %w", err)
	}
	size := 0
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), corpusPrefix) || !strings.HasSuffix(f.Name(), corpusSuffix) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has just put its sequences into a file of its own
		}
		if err != nil {
			return fmt.Errorf("reading the corpus: %w", err)
		}
		if size += len(data); size > mostRead {
			return fmt.Errorf("reading the corpus: the files %s*%s are larger than %d MiB", corpusPrefix, corpusSuffix, mostRead>>20)
		}
		if err := n.read(f.Name(), data); err != nil {
			return err
		}
		n.loaded = append(n.loaded, filepath.Join(dir, f.Name()))
	}
	return nil
}

// read takes the sequences of a file.
func (n *novelty) read(name string, data []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 4<<20)
	for line := 1; lines.Scan(); line++ {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("reading the corpus: line %d of %s: %w", line, name, err)
		}
		if key := string(lines.Bytes()); len(e.Operations) > 0 && !n.known[key] {
			n.known[key] = true
			n.shelf(e.Mood).put(e.Operations, uint64(len(n.known)))
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the corpus: %s: %w", name, err)
	}
	return nil
}

// save writes the corpus, with secrets removed by redact.
func (n *novelty) save(dir string, redact func([]byte) []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the corpus: %w", err)
	}
	var out bytes.Buffer
	written := map[string]bool{}
	for _, mood := range []generate.Mood{generate.Lawful, generate.Odd, generate.Wild} {
		for _, group := range n.shelf(mood).groups {
			for _, ops := range group {
				if redact != nil {
					ops = script.Script{Operations: ops}.Map(redact).Operations
				}
				line := wire.JSON(entry{mood, ops})
				if !written[string(line)] {
					written[string(line)] = true
					out.Write(append(line, '\n'))
				}
			}
		}
	}
	if err := n.replace(dir, out.Bytes()); err != nil {
		return fmt.Errorf("writing the corpus: %w", err)
	}
	return nil
}

// replace writes a file into the corpus, in place of those that were read.
func (n *novelty) replace(dir string, data []byte) error {
	f, err := os.CreateTemp(dir, "."+corpusPrefix+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // where it was not renamed
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	own := strings.TrimPrefix(filepath.Base(f.Name()), ".") + corpusSuffix
	if err := os.Rename(f.Name(), filepath.Join(dir, own)); err != nil {
		return err
	}
	for _, name := range n.loaded {
		_ = os.Remove(name) // another process may have done so
	}
	return nil
}
