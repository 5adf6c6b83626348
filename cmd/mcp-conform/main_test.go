package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/cli"
)

// program is the name under which this test's executable is the program.
const program = "mcp-conform"

// asProgram is the variable that makes this test's executable the program under any name.
const asProgram = "MCP_CONFORM_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Args[0] == program || os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(os.Args[1:], cli.SystemWorld()))
	}
	os.Exit(m.Run())
}

// startUp returns a command that starts the program and does nothing else.
func startUp(t testing.TB) *exec.Cmd {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Path: executable, Args: []string{program, "version"}, Env: os.Environ()}
}

// BenchmarkStartUp measures the start of the program.
func BenchmarkStartUp(b *testing.B) {
	var cpu time.Duration
	for b.Loop() {
		c := startUp(b)
		if err := c.Run(); err != nil {
			b.Fatal(err)
		}
		cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(cpu.Microseconds())/1e3/float64(b.N), "cpu-ms/op")
}

// initBudget is how many bytes the initialisation of a package of this module may
// allocate. Larger tables and compiled expressions belong into a sync.OnceValue.
const initBudget = 256 << 10

// TestInitialisationIsSmall checks what the packages of this module do before main,
// because each command and each reference server pays for it.
func TestInitialisationIsSmall(t *testing.T) {
	c := startUp(t)
	c.Env = append(c.Env, "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	c.Stderr = &trace
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	found := 0
	for lines := bufio.NewScanner(&trace); lines.Scan(); {
		// init internal/wire @1.2 ms, 0.01 ms clock, 312 bytes, 7 allocs
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[0] != "init" || !strings.HasPrefix(f[1], module) {
			continue
		}
		found++
		if n, err := strconv.Atoi(f[7]); err != nil || n > initBudget {
			t.Errorf("%s: it may allocate %d bytes", lines.Text(), initBudget)
		}
	}
	if found == 0 {
		t.Errorf("no package of this module is in the trace:\n%s", trace.String())
	}
}

const module = "github.com/mcp-conform/mcp-conform/"

// unwanted are the beginnings of the paths of packages that are large, or slow to
// initialise, and that the program does not need. Ginkgo is large, too, with the type
// checker of Go, but runs the specs.
var unwanted = []string{
	"github.com/cpuguy83/go-md2man/", "github.com/russross/blackfriday/", // of Cobra's manual pages
	"github.com/google/go-cmp/", module + "internal/suitetest", // of tests
}

func TestOnlyWhatTheProgramNeedsIsLinked(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		for _, beginning := range unwanted {
			if strings.HasPrefix(pkg, beginning) {
				t.Errorf("%s is linked; go mod why %[1]s shows through what", pkg)
			}
		}
	}
}

// TestRecordOutlivesItsClient checks that record writes the whole session even if the client has
// closed its ends of stdout and stderr.
func TestRecordOutlivesItsClient(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "session.jsonl")
	c := exec.CommandContext(t.Context(), executable)
	c.Args = []string{program, "record", "--transcript", file, "--", executable, "serve"}
	c.Env = append(os.Environ(), asProgram+"=1")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = write, write
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = write.Close(), read.Close()
	if _, err := in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	err = c.Wait()
	text, _ := os.ReadFile(file)
	if !bytes.Contains(text, []byte(`"kind":"exited"`)) {
		t.Errorf("it ends with %v, and has written\n%s", err, text)
	}
}
