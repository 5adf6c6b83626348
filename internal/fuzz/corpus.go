package fuzz

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A corpus is a folder of files whose names have this prefix and suffix. Each line of a file is one
// sequence of operations. A search first writes a new file, which also contains the sequences that
// it has read, and then removes the files that it has read. So several processes need no locks, and
// no sequence is lost.
const (
	corpusPrefix = "corpus"
	corpusSuffix = ".jsonl"
)

// maxCorpus limits the bytes of the sequences in a corpus. Each sequence counts once, although
// searches that share a corpus each have a file with all sequences.
const maxCorpus = 64 << 20

// corpusEntry is one line of a corpus file.
type corpusEntry struct {
	Validity   generate.Validity  `json:"mood"` // the name mood is kept, so that existing corpora can be read
	Operations []script.Operation `json:"operations"`
}

// CheckCorpus returns an error if the corpus in the folder cannot be read.
func CheckCorpus(dir string) error { return newNovelty().load(dir) }

// load adds the sequences of a corpus. It returns an error if a line is unreadable, but not if the
// folder does not exist.
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
		data, err := os.Open(filepath.Join(dir, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has just moved its sequences to a file of its own
		}
		if err == nil {
			err = n.addFile(f.Name(), data, &size)
			_ = data.Close() // opened for reading only
		}
		if err != nil {
			return fmt.Errorf("reading the corpus: %w", err)
		}
		n.files = append(n.files, filepath.Join(dir, f.Name()))
	}
	return nil
}

// addFile adds the sequences in data, the contents of the file with the given name. It adds the
// bytes of those that are new to size.
func (n *novelty) addFile(name string, data io.Reader, size *int) error {
	lines := bufio.NewScanner(data)
	lines.Buffer(nil, 4<<20)
	for line := 1; lines.Scan(); line++ {
		if n.lines[string(lines.Bytes())] {
			continue
		}
		var e corpusEntry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("line %d of %s: %w", line, name, err)
		}
		if len(e.Operations) == 0 {
			continue
		}
		if *size += len(lines.Bytes()); *size > maxCorpus {
			return fmt.Errorf("the sequences in the files %s*%s are larger than %d MiB", corpusPrefix, corpusSuffix, maxCorpus>>20)
		}
		n.lines[lines.Text()] = true
		n.poolOf(e.Validity).add(e.Operations, uint64(len(n.lines)))
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// save writes the corpus. The function redact removes secrets from the sequences, unless it is nil.
func (n *novelty) save(dir string, redact func([]byte) []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the corpus: %w", err)
	}
	if err := n.replace(dir, n.content(redact)); err != nil {
		return fmt.Errorf("writing the corpus: %w", err)
	}
	return nil
}

// content returns what a corpus file with all sequences contains, each sequence once.
func (n *novelty) content(redact func([]byte) []byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out bytes.Buffer
	written := map[string]bool{}
	for _, validity := range []generate.Validity{generate.ValidOnly, generate.InvalidParams, generate.Malformed} {
		for _, group := range n.poolOf(validity).groups {
			for _, ops := range group {
				if redact != nil {
					ops = script.Script{Operations: ops}.Map(redact).Operations
				}
				line := wire.JSON(corpusEntry{validity, ops})
				if !written[string(line)] {
					written[string(line)] = true
					out.Write(append(line, '\n'))
				}
			}
		}
	}
	return out.Bytes()
}

// replace writes a file with the data into the corpus, and then removes the files that were read or
// written before.
func (n *novelty) replace(dir string, data []byte) error {
	f, err := os.CreateTemp(dir, "."+corpusPrefix+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // in case the file was not renamed
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	own := filepath.Join(dir, strings.TrimPrefix(filepath.Base(f.Name()), ".")+corpusSuffix)
	if err := os.Rename(f.Name(), own); err != nil {
		return err
	}
	for _, name := range n.files {
		_ = os.Remove(name) // another process may have removed it already
	}
	n.files = []string{own}
	return nil
}
