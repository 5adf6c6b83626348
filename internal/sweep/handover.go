package sweep

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// HandoverVariable is the environment variable that names the file into which a run writes its
// Handover. The run hides the variable from its server.
const HandoverVariable = "MCP_CONFORM_HANDOVER_FILE"

// handoverFile is the name of the file with the Handover, in the folder of a server.
const handoverFile = "handover.json"

// maxHandover limits the size of handoverFile, in bytes. A run writes less, but its server can
// write into the same folder.
const maxHandover = 1 << 20

// A Handover is what a run reports only to the sweep that started it.
type Handover struct {
	// PauseEnd is the time before which the host of the server wants no further requests; the zero
	// value if the host is not known to limit requests.
	PauseEnd time.Time `json:"pauseEnd,omitzero"`
	// Quote is what the run quotes of the output of its server, in one line: the first line of the
	// cause, or the last line of the output if the run knows no cause. It is "" if the run quotes
	// nothing.
	Quote string `json:"quote,omitempty"`
}

// Write writes the handover to the file at path. It writes nothing if there is nothing to report.
func (h *Handover) Write(path string) error {
	if h.PauseEnd.IsZero() && h.Quote == "" {
		return nil
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_ = os.Remove(path) // a server may have made a pipe there, which would block
	return os.WriteFile(path, text, 0o600)
}

// readHandover returns what a run wrote into the folder of its server, or the zero value.
func readHandover(work string) Handover {
	path := filepath.Join(work, handoverFile)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxHandover {
		return Handover{}
	}
	var h Handover
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Handover{}
	}
	return h
}
