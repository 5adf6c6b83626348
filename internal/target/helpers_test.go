package target

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A world is a folder with files, and a command line that is typed there. In the files, the
// arguments and the environment, HERE is replaced by the path of the folder.
type world struct {
	files   map[string]string // by path: "dir/" is a folder, "x:file" an executable file
	typed   []string          // the arguments after `mcp-conform run`
	environ []string          // PATH and HOME if nil
	goos    string            // linux if empty
}

// resolve creates the folder and resolves the command line.
func (w world) resolve(t *testing.T) (Target, string, error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has other paths and file modes")
	}
	here := t.TempDir()
	for name, text := range w.files {
		name, executable := strings.CutPrefix(name, "x:")
		mode := os.FileMode(0o644)
		if executable {
			mode = 0o755
		}
		path := filepath.Join(here, filepath.FromSlash(name))
		folder := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			folder = path
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "HERE", here)), mode); err != nil {
			t.Fatal(err)
		}
	}
	o := options(fill(w.typed, here))
	o.Environ = fill(w.environ, here)
	if w.environ == nil {
		o.Environ = fill([]string{"PATH=HERE/bin", "HOME=HERE/home", "LANG=C"}, here)
	}
	o.Getwd = func() (string, error) { return here, nil }
	o.goos = "linux"
	if w.goos != "" {
		o.goos = w.goos
	}
	target, err := Resolve(o)
	return target, here, err
}

func fill(list []string, here string) []string {
	filled := make([]string, len(list))
	for i, s := range list {
		filled[i] = strings.ReplaceAll(s, "HERE", here)
	}
	return filled
}

// options parses arguments as the command line does.
func options(words []string) Options {
	o := Options{Dash: -1}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		next := func() string {
			value := words[0]
			words = words[1:]
			return value
		}
		switch word {
		case "--":
			o.Dash = len(o.Args)
			o.Args = append(o.Args, words...)
			return o
		case "--env":
			o.Env = append(o.Env, next())
		case "--input":
			o.Inputs = append(o.Inputs, next())
		case "--clean-env":
			o.CleanEnv = true
		case "--cwd":
			o.Cwd = next()
		case "--config":
			o.ConfigFile = next()
		case "--server":
			o.ServerName = next()
		case "--start":
			start := next()
			o.Start = &start
		case "--ready":
			ready, err := time.ParseDuration(next())
			if err != nil {
				panic(err)
			}
			o.Ready = &ready
		default:
			o.Args = append(o.Args, word)
		}
	}
	return o
}

// words splits a text at spaces.
func words(s string) []string { return strings.Fields(s) }

// config returns the files of a world with one configuration file, .mcp.json.
func config(text string) map[string]string { return map[string]string{".mcp.json": text} }
