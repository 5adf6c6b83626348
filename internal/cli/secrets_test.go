package cli

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/oddservers"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
)

// TestSecretsReachNoOutput judges a server that repeats every secret that the
// tool was given, in every spelling and in every member that a server can
// choose. It searches for the secrets in everything that every command prints
// and writes, over each transport.
func TestSecretsReachNoOutput(t *testing.T) {
	if testing.Short() || suitetest.RaceDetector {
		t.Skip("left out with -short and -race: starts many servers")
	}
	skip.Slowest(t)
	t.Parallel()
	buildPrograms(t)
	bearer, header, word, user, password, query := "b3arer-T0ken/41+x==", `h3ader "value" #7 <&>\n`, "swordfishes", "us3r-name-x", "p4ss!word-y", "qu3ry-key-77"
	env, argument := `env!val%41ue-9Z`, "4rg-token-zz"
	web := []string{"--bearer-env", "LEAK_BEARER", "--header", "X-Tenant: " + header, "--header", "X-Api-Key: " + word}
	for name, c := range map[string]struct {
		secrets []string
		serves  string // arguments that start the server separately; "" for stdio
		target  func(address string) []string
	}{
		"stdio": {
			[]string{env, argument, word}, "",
			func(string) []string {
				return []string{"--env", "ANY_SETTING=" + env, "--env", "THE_WORD=" + word, "--", "leaky", "secrets.txt", "--token=" + argument}
			},
		},
		"http": {
			[]string{bearer, header, word, user, password, user + ":" + password, query}, "http",
			func(address string) []string {
				return append(web, "--transport", "http", "http://"+user+":"+password+"@"+address+"/mcp?api_key="+query)
			},
		},
		"sse": {
			[]string{bearer, header, word, query}, "sse",
			func(address string) []string {
				return append(web, "--transport", "sse", "http://"+address+"/sse?api_key="+query)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder, address := t.TempDir(), ""
			if err := os.WriteFile(filepath.Join(folder, "secrets.txt"), []byte(strings.Join(c.secrets, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.serves != "" {
				address = listening(ctx, t, folder, c.serves)
			}
			target := c.target(address)
			all := []string{"--report", "html", "--report", "json", "--report", "junit", "--report", "markdown", "--report", "outputs", "--report", "sarif", "--report", "tap", "--report", "badge", "--report", "github"}
			few := []string{"--revision", "2025-06-18", "--focus", "base", "--focus", "tools.list", "--focus", "lifecycle", "--timeout", "300ms", "--max-time", "40s"}
			if c.serves == "sse" {
				few[1] = "2024-11-05"
			}
			commands := [][]string{
				append(append(append([]string{"run", "-v", "--transcript", "said", "--replay-files"}, all...), few...), target...),
				append([]string{"doctor"}, target...),
				append([]string{"init", "--workflow"}, target...),
				append([]string{"fuzz", "--no-config", "--time", "1s", "--shrink-time", "500ms", "--corpus", "corpus", "--out", "found"}, target...),
			}
			for _, args := range commands {
				look(t, c.secrets, "the output of "+args[0], leakyCommand(ctx, folder, args...))
			}
			said, _ := filepath.Glob(filepath.Join(folder, "said", "*.jsonl"))
			if len(said) == 0 {
				t.Error("no conversation was recorded")
			}
			look(t, c.secrets, "the output of judge", leakyCommand(ctx, folder, append([]string{"judge", "--out", "judged", "--report", "html", "--report", "json"}, said...)...))
			files := 0
			err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || d.Name() == "secrets.txt" {
					return err
				}
				files++
				text, err := os.ReadFile(path)
				look(t, c.secrets, "the name of a file", path)
				look(t, c.secrets, path[len(folder):], string(text))
				return err
			})
			if err != nil || files < 10 {
				t.Errorf("%d files were written: %v", files, err)
			}
		})
	}
}

// look fails the test if text contains a secret in any spelling.
func look(t *testing.T, secrets []string, where, text string) {
	t.Helper()
	for _, secret := range secrets {
		for _, spelled := range oddservers.Spellings(secret) {
			if at := strings.Index(text, spelled); at >= 0 {
				t.Errorf("%s contains %q, spelled %q: …%q…", where, secret, spelled, text[max(0, at-60):min(len(text), at+len(spelled)+30)])
				return
			}
		}
	}
}

// leakyCommand runs the tool and returns its output.
func leakyCommand(ctx context.Context, folder string, args ...string) string {
	c := exec.CommandContext(ctx, "mcp-conform", args...)
	c.Dir = folder
	c.Env = append(os.Environ(), "LEAK_BEARER=b3arer-T0ken/41+x==", "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+filepath.Join(folder, "summary.md"))
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err.Error()
	}
	return string(out)
}

// listening starts the server over HTTP and returns its address.
func listening(ctx context.Context, t *testing.T, folder, over string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	c := exec.CommandContext(ctx, "leaky", "secrets.txt", over, address)
	c.Dir = folder
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Wait() }()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return address
		}
	}
	t.Fatal("the server does not listen")
	return ""
}
