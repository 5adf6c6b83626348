package sweep

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// examples is the folder of the examples for schedulers.
const examples = "../../docs/sweep"

// readDocuments returns the documents of an example.
func readDocuments(t *testing.T, name string) []*yaml.Node {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, name))
	if err != nil {
		t.Fatal(err)
	}
	var out []*yaml.Node
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n.Content[0])
	}
}

// nodeAt returns the value below a node at the keys; a key that is a number is an index of a list.
func nodeAt(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if i, err := strconv.Atoi(key); err == nil && n != nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
			n = n.Content[i]
		} else {
			n = member(n, key)
		}
	}
	return n
}

// TestExamplesCountTheirShards checks that each example starts as many tasks as the shards that it
// configures.
func TestExamplesCountTheirShards(t *testing.T) {
	t.Parallel()
	job := readDocuments(t, "kubernetes.yaml")[1]
	completions := nodeAt(job, "spec", "completions")
	variable := nodeAt(job, "spec", "template", "spec", "containers", "0", "env", "0")
	if completions == nil || nodeAt(variable, "name").Value != "JOB_COMPLETION_COUNT" || nodeAt(variable, "value").Value != completions.Value || nodeAt(job, "spec", "completionMode").Value != "Indexed" {
		t.Error("kubernetes.yaml: JOB_COMPLETION_COUNT is not the number of completions")
	}
	for i, doc := range readDocuments(t, "kubernetes.yaml")[1:] {
		container := nodeAt(doc, "spec", "template", "spec", "containers", "0")
		if only := nodeAt(container, "securityContext", "readOnlyRootFilesystem"); only == nil || only.Value != "true" {
			t.Errorf("kubernetes.yaml: job %d writes into its image", i+1)
		}
	}
	workflow := readDocuments(t, "github.yml")[0]
	shards := nodeAt(workflow, "jobs", "judge", "strategy", "matrix", "shard")
	if command := nodeAt(workflow, "jobs", "judge", "steps", "3", "run"); shards == nil || command == nil ||
		!strings.Contains(command.Value, "--shard ${{ matrix.shard }}/"+strconv.Itoa(len(shards.Content))+" ") {
		t.Error("github.yml: the matrix has other shards than the command")
	}
	if parallel := nodeAt(readDocuments(t, "gitlab.yml")[0], "sweep", "parallel"); parallel == nil || parallel.Value != "8" {
		t.Error("gitlab.yml: the job is not parallel")
	}
}

// TestPinnedServersAreReadable checks that the list of the pinned servers can be read.
func TestPinnedServersAreReadable(t *testing.T) {
	t.Parallel()
	entries, err := ReadLists(filepath.FromSlash("../../fixtures/servers/sweep.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 24 {
		t.Errorf("the list has %d servers; docs/field-notes.md and fixtures/servers/README.md say 24", len(entries))
	}
}

// TestSlurmScriptSyntax checks the syntax of the script.
func TestSlurmScriptSyntax(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skipf("bash, which checks the script, is not installed: %v", err)
	}
	if out, err := exec.Command(bash, "-n", filepath.Join(examples, "slurm.sh")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
