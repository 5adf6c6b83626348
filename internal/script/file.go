package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// FileVersion is the version of the file format.
const FileVersion = 1

// maxFileSize limits the size of a replay file.
const maxFileSize = 16 << 20

// A File is a replay file: a script, and the finding that playing it should show.
type File struct {
	Version   int            `json:"mcp-conform-replay"`
	Expect    Expected       `json:"expect"`
	Transport spec.Transport `json:"transport"`
	Script    Script         `json:"script"`
	// OwnMessages describes, for people who read the file, the messages that the client also sent
	// on its own, without an operation of the script. A replay sends them again.
	OwnMessages []string `json:"byItself,omitempty"`
	// Seed is the seed of the script that first showed the finding.
	Seed uint64 `json:"seed,omitempty"`
	// Reproduced holds the number of attempts in which the finding recurred, and the number of all
	// attempts.
	Reproduced [2]int `json:"reproduced"`
}

// Expected is the finding that playing a replay file should show.
type Expected struct {
	Law         string `json:"law"`
	Requirement string `json:"requirement"`
	Summary     string `json:"summary"`
	Method      string `json:"method,omitempty"`
	Outcome     string `json:"outcome"`
	Permitted   string `json:"permitted,omitempty"`
	Seen        string `json:"seen,omitempty"`
}

// Encode returns the contents of the file.
func (f *File) Encode() []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, wire.JSON(f), "", "  "); err != nil {
		panic("script: a replay file can't be written: " + err.Error())
	}
	return append(out.Bytes(), '\n')
}

// ReadFile parses the contents of a replay file.
func ReadFile(data []byte) (*File, error) {
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("it is larger than %d MiB", maxFileSize>>20)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	f := &File{}
	if err := d.Decode(f); err != nil {
		return nil, errors.New("it is not a replay file: " + describeDecodeError(err))
	}
	return f, f.check()
}

// describeDecodeError describes why a file cannot be decoded, in terms of JSON and not of Go types.
func describeDecodeError(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends in the middle"
	case errors.As(err, &kind) && kind.Field == "":
		return "it holds " + withArticle(kind.Value) + ", not an object"
	case errors.As(err, &kind):
		return fmt.Sprintf("%s can't be %s", kind.Field, withArticle(kind.Value))
	default:
		return strings.TrimPrefix(err.Error(), "json: ")
	}
}

// withArticle returns the name of a kind of JSON value with its article, such as "an array". For a
// boolean it returns "true or false".
func withArticle(value string) string {
	switch {
	case value == "bool":
		return "true or false"
	case strings.HasPrefix(value, "array"), strings.HasPrefix(value, "object"):
		return "an " + value
	default:
		return "a " + value
	}
}

func (f *File) check() error {
	switch {
	case f.Version == 0:
		return errors.New("it is not a replay file: it has no mcp-conform-replay, which says the version")
	case f.Version != FileVersion:
		return fmt.Errorf("it has version %d; this program reads version %d", f.Version, FileVersion)
	case !f.Script.Revision.IsPublished():
		return fmt.Errorf("its revision is %q, which is not published", f.Script.Revision)
	case !slices.Contains(spec.Transports(), f.Transport):
		return fmt.Errorf("its transport is %q; known: %q", f.Transport, spec.Transports())
	case spec.Requirements().Lookup(f.Expect.Requirement) == nil:
		return fmt.Errorf("it expects a finding on %q, which is not a requirement", f.Expect.Requirement)
	case len(f.Script.Operations) == 0:
		return errors.New("it has no operations")
	}
	for i := range f.Script.Operations {
		o := &f.Script.Operations[i]
		switch {
		case !slices.Contains(actions, o.Do):
			return fmt.Errorf("operation %d: unknown action %q; known: %q", i+1, o.Do, actions)
		case o.On < 0 || o.On >= maxConversations:
			return fmt.Errorf("operation %d is on conversation %d; there are at most %d", i+1, o.On, maxConversations)
		case o.Do == Cancel && o.Target == nil:
			return fmt.Errorf("operation %d cancels nothing: it has no target", i+1)
		case o.Do == HTTP && o.Exchange == nil:
			return fmt.Errorf("operation %d has no exchange", i+1)
		case o.Do == Send && bytes.ContainsAny(o.Message, "\n"):
			return fmt.Errorf("operation %d sends a message of several lines", i+1)
		}
	}
	return nil
}

// maxConversations limits the number of conversations of a replay file.
const maxConversations = 16
