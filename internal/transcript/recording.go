package transcript

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Format is the version of the file format of WriteRecording. It is incremented when an older
// reader would misread newer files.
const Format = 1

// Recording is one conversation that was read from a file or is to be written to one.
type Recording struct {
	// Transport, Revision and Tool are the transport, the revision that the client requested and
	// the tool that recorded the conversation. Case is the id of the case that was running. Unknown
	// values are empty.
	Transport, Revision, Tool, Case string

	Events []*Event

	// Values is set if the messages were recorded as JSON values, so that their original bytes
	// are unknown.
	Values bool
	// Untimed is set if the times of the events are unknown.
	Untimed bool
	// Expect lists the findings that the rules must report for the recording, as its script says.
	Expect []Expectation
	// Notices tell the user how the file was interpreted.
	Notices []string
}

// Expectation is one finding that a script expects.
type Expectation struct {
	Requirement string
	Outcome     string // broken, warning or note
	Summary     string
}

// fileHeader is the first line of a transcript file.
type fileHeader struct {
	Format    *int   `json:"mcp-conform-transcript"`
	Transport string `json:"transport"`
	Revision  string `json:"revision"`
	Tool      string `json:"tool"`
	Case      string `json:"case,omitempty"`
}

// WriteRecording writes a header line and then the events, as Write does.
func WriteRecording(w io.Writer, r *Recording) error {
	format := Format
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fileHeader{Format: &format, Transport: r.Transport, Revision: r.Revision, Tool: r.Tool, Case: r.Case}); err != nil {
		return fmt.Errorf("writing the head of the transcript: %w", err)
	}
	if err := Write(out, r.Events); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the transcript: %w", err)
	}
	return nil
}

// add appends an event at the next position. It sets the derived fields of the event, as
// Transcript.Add does.
func (r *Recording) add(e Event) *Event {
	e.Seq = len(r.Events)
	e.setDerived()
	r.Events = append(r.Events, &e)
	return &e
}
