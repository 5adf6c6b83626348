package target

import (
	"runtime"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// A word is one word of a command line that was given as a single string.
type word struct {
	text   string
	quoted int // the index of the first quoted character, -1 if none
}

var assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)

// isAssignment reports whether the word is an assignment, NAME=value with an unquoted name, which
// sets a variable if it is before the command.
func (w word) isAssignment() bool {
	end := len(assignment.FindString(w.text))
	return end > 0 && (w.quoted < 0 || w.quoted >= end)
}

// SplitCommand splits text, the command line of a server, into words. flag is the name of the flag
// that has text as its value, for errors. Errors are of type *UsageError.
func SplitCommand(flag, text string) ([]string, error) {
	words, err := splitCommand(flag, text, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out, nil
}

// splitCommand splits a command line into words as a POSIX shell does: at spaces that are
// neither quoted nor escaped. It expands nothing. It returns an error for syntax that only
// a shell can execute, because the command would mean something different without a shell. flag
// is the name of the flag, for errors.
func splitCommand(flag, text, goos string) ([]word, error) {
	s := &splitter{flag: flag, text: text, backslash: goos != "windows"}
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		var err error
		switch {
		case c == 0:
			err = newUsageError("", flag+" contains a NUL byte", "leave it out")
		case c == '\n', strings.IndexByte("|&;<>()`", c) >= 0, c == '$' && s.isExpansion():
			err = s.needsShellError(c)
		case c == ' ' || c == '\t' || c == '\r':
			s.end()
		case c == '\'':
			err = s.readSingleQuoted()
		case c == '"':
			err = s.readDoubleQuoted()
		case c == '\\' && s.backslash:
			s.readEscape()
		default:
			s.add(c, false)
		}
		if err != nil {
			return nil, err
		}
	}
	s.end()
	return s.words, nil
}

type splitter struct {
	flag      string
	text      string
	at        int
	backslash bool // whether a backslash escapes; on Windows it separates folders
	words     []word
	open      *word
}

func (s *splitter) begin() *word {
	if s.open == nil {
		s.open = &word{quoted: -1}
	}
	return s.open
}

func (s *splitter) add(c byte, quoted bool) {
	w := s.begin()
	if quoted {
		s.markQuoted()
	}
	w.text += string([]byte{c})
}

// markQuoted records that a quoted part begins at the current end of the word; the part may be
// empty.
func (s *splitter) markQuoted() {
	if w := s.begin(); w.quoted < 0 {
		w.quoted = len(w.text)
	}
}

func (s *splitter) end() {
	if s.open != nil {
		s.words = append(s.words, *s.open)
		s.open = nil
	}
}

func (s *splitter) readEscape() {
	switch {
	case s.at >= len(s.text):
		s.add('\\', true)
	case s.text[s.at] == '\n': // a line continuation
		s.at++
	default:
		s.add(s.text[s.at], true)
		s.at++
	}
}

func (s *splitter) readSingleQuoted() error {
	s.markQuoted()
	length := strings.IndexByte(s.text[s.at:], '\'')
	if length < 0 {
		return s.unclosedError("'")
	}
	s.begin().text += s.text[s.at : s.at+length]
	s.at += length + 1
	return nil
}

func (s *splitter) readDoubleQuoted() error {
	s.markQuoted()
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return nil
		case c == '`', c == '$' && s.isExpansion():
			return s.needsShellError(c)
		case c == '\\' && s.backslash && s.at < len(s.text) && strings.IndexByte("\"\\$`\n", s.text[s.at]) >= 0,
			c == '\\' && s.at < len(s.text) && s.text[s.at] == '"':
			s.readEscape()
		default:
			s.add(c, true)
		}
	}
	return s.unclosedError(`"`)
}

// isExpansion reports whether a shell would replace the dollar sign that was just read
// and the text after it.
func (s *splitter) isExpansion() bool {
	return s.at < len(s.text) && (s.text[s.at] == '{' || s.text[s.at] == '(' || strings.IndexByte("@*#?-$!_", s.text[s.at]) >= 0 ||
		'0' <= s.text[s.at] && s.text[s.at] <= '9' || 'a' <= s.text[s.at]|0x20 && s.text[s.at]|0x20 <= 'z')
}

func (s *splitter) needsShellError(c byte) error {
	what := quote(string([]byte{c}))
	return newUsageError("", s.flag+" contains "+what+", which only a shell understands, but no shell is run",
		"put it in single quotes if it belongs to an argument, or run a shell yourself:",
		"  "+s.flag+" "+quoteAll([]string{"sh -c " + quoteAll([]string{redact.Arg(s.text)})}))
}

func (s *splitter) unclosedError(mark string) error {
	return newUsageError("", "a quote in "+s.flag+" is not closed: "+mark, "close it, or write \\"+mark+" for the character itself")
}
