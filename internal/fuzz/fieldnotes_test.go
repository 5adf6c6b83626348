package fuzz

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// TestReplaysOfFieldNotes checks that every finding of a search in
// docs/field-notes.md can be reproduced by its readers.
func TestReplaysOfFieldNotes(t *testing.T) {
	page, err := os.ReadFile("../../docs/field-notes.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../fixtures/field-notes/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := script.ReadFile(data)
			if err != nil {
				t.Fatal(err)
			}
			if q := spec.Requirements().Lookup(r.Expect.Requirement); q == nil || !q.AppliesTo(r.Script.Revision, r.Transport) {
				t.Errorf("%s is not a requirement of %s", r.Expect.Requirement, r.Script.Revision)
			}
			if !bytes.Contains(page, []byte("fixtures/field-notes/"+name)) {
				t.Error("the page does not speak of it")
			}
		})
	}
}
