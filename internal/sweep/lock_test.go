package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLockFolder checks that a second sweep into the same folder is refused while the first runs, but not
// after that.
func TestLockFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "out")
	unlock, err := lockFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(folder); err == nil || !strings.Contains(err.Error(), "another sweep is writing to this folder") {
		t.Errorf("a second sweep gets %v", err)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if _, err := sweepInto(whole, []string{"a"}, Shard{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(folder, []string{whole}); err == nil || !strings.Contains(err.Error(), "another sweep is writing to this folder") {
		t.Errorf("a merge gets %v", err)
	}
	unlock()
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	unlock, err = lockFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestLockFolderThatIsAFile checks that an error about a folder that can't be written names --out.
func TestLockFolderThatIsAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(file); err == nil || !strings.HasPrefix(err.Error(), "--out "+file) {
		t.Errorf("the error is %v", err)
	}
}
