package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// recorder writes the conversations of a run into a folder, one file each.
type recorder struct {
	a         *app
	dir       string
	redactor  *transcript.Redactor
	transport string

	mu   sync.Mutex
	errs []error
}

// newRecorder returns a recorder and creates its folder. It returns an error if the folder can't be
// written, so that the user learns of it before the run.
func (a *app) newRecorder(dir string, redactor *transcript.Redactor, transport string) (*recorder, error) {
	if err := checkWritable(filepath.Join(dir, "new.jsonl")); err != nil {
		return nil, usagef("name a folder that can be written", "--transcript %q: %v", dir, err)
	}
	return &recorder{a: a, dir: dir, redactor: redactor, transport: transport}, nil
}

// staleNotices returns a notice if the folder already contains transcripts.
func (r *recorder) staleNotices() []string {
	files, err := filepath.Glob(filepath.Join(r.dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s already contains %d transcripts: files of the same name are replaced, the others stay", r.dir, len(files))}
}

// record writes one conversation. It is safe for concurrent use.
func (r *recorder) record(c engine.Recorded) {
	file := filepath.Join(r.dir, c.Name+".jsonl")
	err := r.a.writeFile(file, func(w io.Writer) error {
		return transcript.WriteRecording(w, &transcript.Recording{
			Transport: r.transport, Revision: string(c.Revision), Tool: "mcp-conform " + version(), Case: c.Occasion,
			Events: r.redactor.RedactEvents(c.Events),
		})
	})
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, fmt.Errorf("the transcript can't be written: %w", err))
	}
}

// err returns a harness error with the first error of a write and the number of further ones. It
// returns nil if no write failed, or if the recorder is nil.
func (r *recorder) err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) == 0 {
		return nil
	}
	return harnessError{errors.Join(r.errs[0], omittedErrors(len(r.errs)-1))}
}

// omittedErrors returns an error that says how many errors were omitted, or nil.
func omittedErrors(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("and %d more like it", n)
}

// readRecordings reads the conversations in the files. The name "-" is the standard
// input.
func (a *app) readRecordings(names []string) ([]*recorded, error) {
	var out []*recorded
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return nil, usagef("name it once", "- (the standard input) is named twice")
	}
	for _, name := range names {
		found, err := a.readRecordingFile(name)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			out = append(out, &recorded{Recording: r, file: name})
		}
	}
	return out, nil
}

func (a *app) readRecordingFile(name string) ([]*transcript.Recording, error) {
	shown, from := name, a.In
	if name == "-" {
		shown = "standard input"
	} else {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return nil, usagef("name the files in it: "+filepath.Join(name, "*.jsonl"), "%s is a folder", name)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, usagef("name a file with a recorded session, or - for the standard input", "the session can't be read: %v", err)
		}
		defer func() { _ = f.Close() }() // an error of closing does not matter after reading
		from = f
	}
	found, err := transcript.ReadRecordings(shown, from)
	if err != nil {
		return nil, usagef("docs/transcripts.md describes what can be judged", "%v", err)
	}
	return found, nil
}
