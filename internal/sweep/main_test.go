package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestMain lets the test binary act as the mcp-conform that a sweep starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "run" {
		os.Exit(stub(os.Args[2:]))
	}
	stdio.AdoptOrphans()
	os.Exit(m.Run())
}

// stub acts as mcp-conform run for a server whose command says what happens.
func stub(args []string) int {
	at := slices.Index(args, "--")
	server := args[at+1:]
	report := verdict.Report{Format: 1, Tool: "mcp-conform", Server: verdict.Server{Name: "stub", Version: "1"}}
	code := 0
	switch server[0] {
	case "broken":
		code = 1
		report.SDK = "some-sdk 1.2.3"
		report.Findings = []verdict.Finding{
			{Requirement: "ping.responds", Outcome: verdict.Warning, Summary: "a warning"},
			{Requirement: "ping.responds", Outcome: verdict.Broken, Summary: "The server answers a ping with an error.", SDK: &verdict.SDKFinding{Name: "some-sdk"}},
			{Requirement: "base.message-utf8", Outcome: verdict.Warning, Summary: "another warning"},
		}
	case "unreachable":
		fmt.Fprintln(os.Stderr, "mcp-conform: it has exited\n  with advice")
		return 3
	case "crash":
		return 7
	case "hang":
		select {}
	case "forks": // processes of other sessions that outlive this one
		for range 20 {
			c := exec.Command("setsid", "sleep", server[1])
			if err := c.Start(); err != nil {
				return 9
			}
		}
		select {}
	case "eats":
		eaten := bytes.Repeat([]byte{1}, 400<<20)
		<-time.After(time.Hour)
		fmt.Fprintln(os.Stderr, len(eaten))
	case "environment":
		report.SDK = strings.Join(os.Environ(), "\n")
		if err := os.WriteFile("left", []byte("in its folder"), 0o600); err != nil {
			return 9
		}
	case "fills":
		if err := os.WriteFile(os.Getenv("HOME")+"/large", make([]byte, 1<<20), 0o600); err != nil {
			return 9
		}
		select {}
	case "deletes": // two files that are open, and that no folder has
		for range 2 {
			f, err := os.Create(os.Getenv("HOME") + "/deleted")
			if err == nil {
				err = errors.Join(f.Truncate(300<<10), os.Remove(f.Name()))
			}
			if err != nil {
				return 9
			}
			defer func() { _ = f.Close() }() // never: it is stopped
		}
		select {}
	case "nests": // a file below a path that can't be opened
		for range 25 {
			name := strings.Repeat("x", 200)
			if errors.Join(os.Mkdir(name, 0o700), os.Chdir(name)) != nil {
				return 9
			}
		}
		if os.WriteFile("large", make([]byte, 1<<20), 0o600) != nil {
			return 9
		}
		select {}
	}
	for _, arg := range args[:at] {
		format, path, _ := strings.Cut(arg, "=")
		if !strings.Contains(path, "report") && !strings.Contains(path, "conformance") {
			continue
		}
		text := []byte("a report in " + format)
		if format == "json" {
			text, _ = json.Marshal(report)
			if server[0] == "cuts" { // as on a full disk
				text = text[:len(text)/2]
			}
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return 9
		}
	}
	return code
}
