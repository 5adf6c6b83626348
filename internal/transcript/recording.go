package transcript

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Format is the version of the file that WriteRecording writes; it grows when
// a reader of an older one would misread a newer one.
const Format = 1

// Recording is one conversation as it was found in a file, or is written to
// one.
type Recording struct {
	// Transport, Revision and Tool say over what the conversation went, which
	// revision the client asked for, and what recorded it; each is empty where
	// nothing is known of it. Case names the check that was running.
	Transport, Revision, Tool, Case string

	Events []*Event

	// Values: the messages were recorded as JSON values, so that nothing is
	// known of the bytes between and around them.
	Values bool
	// Untimed: nothing is known of when the events happened.
	Untimed bool
	// Expect is what a script says that the judges find in it.
	Expect []Expectation
	// Notices are what a reader should know of how the file was understood.
	Notices []string
}

// Expectation is one finding that a script announces.
type Expectation struct {
	Requirement string
	Outcome     string // as broken, warning, note
	Summary     string
}

// header is the first line of a file.
type header struct {
	Format    *int   `json:"mcp-conform-transcript"`
	Transport string `json:"transport"`
	Revision  string `json:"revision"`
	Tool      string `json:"tool"`
	Case      string `json:"case,omitempty"`
}

// WriteRecording writes a line that describes the recording, and then its
// events as Write does.
func WriteRecording(w io.Writer, r *Recording) error {
	format := Format
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{Format: &format, Transport: r.Transport, Revision: r.Revision, Tool: r.Tool, Case: r.Case}); err != nil {
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

// add appends an event with the next position. What follows from the rest is
// set, as by Transcript.Add.
func (r *Recording) add(e Event) *Event {
	e.Seq = len(r.Events)
	e.complete()
	r.Events = append(r.Events, &e)
	return &e
}
