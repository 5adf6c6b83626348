//go:build unix

package stdio

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func TestStartErrorsTeach(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("server.js", "//", 0o644)
	write("server.PY", "#", 0o644)
	write("tool", "#!/bin/sh\n", 0o755)
	write("plain", "text", 0o644)
	write("nonsense", "text without a hash-bang", 0o755)
	write("script.py", "print()", 0o755)
	lost := write("lost", "#!/no/such/interpreter\n", 0o755)
	write("sub/x", "", 0o644)

	for name, c := range map[string]struct {
		argv   []string
		dir    string
		reason string
		advice string
	}{
		"nothing":             {nil, dir, "no command was given", "node server.js"},
		"empty":               {[]string{""}, dir, "no command was given", "node server.js"},
		"not found":           {[]string{"no-such-mcp"}, dir, "command not found in PATH (/bin, /nowhere)", "install it"},
		"quoted":              {[]string{"node server.js --x"}, dir, "command not found", "give them as separate words: node server.js --x"},
		"quoted path":         {[]string{"./tool --x"}, dir, "there is no file", "give them as separate words: ./tool --x"},
		"in the directory":    {[]string{"tool"}, dir, "command not found", "write ./tool"},
		"a script, found":     {[]string{"server.js"}, dir, "command not found", "name its interpreter: node server.js"},
		"not executable, .js": {[]string{"./server.js"}, dir, "not executable", "node server.js"},
		"not executable, .py": {[]string{"./server.PY"}, dir, "not executable", "python server.PY"},
		"not executable":      {[]string{"./plain"}, dir, "not executable", "chmod +x plain"},
		"a directory":         {[]string{"./sub"}, dir, "is a directory", "name the program inside"},
		"no such file":        {[]string{"./nothing"}, dir, "there is no file", "check the path"},
		"taken from here":     {[]string{"./locate_test.go"}, dir, "there is no file", "absolute path"},
		"below a file":        {[]string{"./tool/x"}, dir, "can't be reached", "check the path"},
		"no directory":        {[]string{"tool"}, dir + "/none", "does not exist", "a directory that exists"},
		"directory is a file": {[]string{"tool"}, dir + "/tool", "is a file", "a directory that exists"},
		"no program":          {[]string{"./nonsense"}, dir, "neither a program for this system nor a script", "build it for this system"},
		"no hash-bang":        {[]string{"./script.py"}, dir, "neither a program", "python script.py"},
		"no interpreter":      {[]string{lost}, dir, "the interpreter in its #! line", "install that"},
	} {
		t.Run(name, func(t *testing.T) {
			before := LiveCount()
			_, err := NewDialer(Command{Argv: c.argv, Dir: c.dir, Env: []string{"PATH=/bin:/nowhere"}}).
				Dial(t.Context(), transcript.New())
			var start *StartError
			if !errors.As(err, &start) {
				t.Fatalf("error %v", err)
			}
			if !strings.Contains(start.Reason, c.reason) || !strings.Contains(start.Advice, c.advice) {
				t.Errorf("got  %q; %q\nwant %q; %q", start.Reason, start.Advice, c.reason, c.advice)
			}
			if !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), c.advice) {
				t.Errorf("Error() does not tell all: %v", err)
			}
			if LiveCount() != before {
				t.Error("a server that did not start is alive")
			}
		})
	}
}

func TestRelativePathsAreOfTheWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(filepath.Dir(dir))
	script := "#!/bin/sh\npwd; echo $WORD\n"
	if err := os.WriteFile(filepath.Join(dir, "server"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := dial(t, NewDialer(Command{
		Argv: []string{"./server"}, Dir: filepath.Base(dir), Env: []string{"WORD=first", "WORD=last"},
	}))
	s.await(transcript.Received, real)
	s.await(transcript.Received, "last")
}
