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

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// corpusFile is the name of the file in the corpus folder. Each of its lines is
// one sequence of operations.
const corpusFile = "corpus.jsonl"

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
	data, err := os.ReadFile(filepath.Join(dir, corpusFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the corpus: %w", err)
	}
	if len(data) > mostRead {
		return fmt.Errorf("reading the corpus: %s is larger than %d MiB", corpusFile, mostRead>>20)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 4<<20)
	for line := 1; lines.Scan(); line++ {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("reading the corpus: line %d of %s: %w", line, corpusFile, err)
		}
		if len(e.Operations) > 0 {
			n.shelf(e.Mood).put(e.Operations, uint64(line)) //nolint:gosec // a count
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the corpus: %w", err)
	}
	return nil
}

// save writes the corpus, with secrets removed by redact.
func (n *novelty) save(dir string, redact func([]byte) []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the corpus: %w", err)
	}
	var out bytes.Buffer
	for _, mood := range []generate.Mood{generate.Lawful, generate.Odd, generate.Wild} {
		for _, group := range n.shelf(mood).groups {
			for _, ops := range group {
				if redact != nil {
					ops = script.Script{Operations: ops}.Map(redact).Operations
				}
				out.Write(append(wire.JSON(entry{mood, ops}), '\n'))
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, corpusFile), out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing the corpus: %w", err)
	}
	return nil
}
