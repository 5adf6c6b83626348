package wire

import "bytes"

// A MultilineJSON collects JSON text that a server writes on several lines. The stdio transport
// forbids that, but the text can be read nevertheless. The zero value is empty.
type MultilineJSON struct {
	text    []byte
	lines   int
	nesting nesting
}

// Add adds a line, given without its newline. It joins lines with a newline or, within a JSON
// string, with the escape \n.
func (s *MultilineJSON) Add(line []byte) {
	if s.lines > 0 {
		if s.nesting.inString {
			s.text = append(s.text, `\n`...)
		} else {
			s.text = append(s.text, '\n')
		}
	}
	s.lines++
	s.text = append(s.text, line...)
	s.nesting.read(line)
}

// Text returns the lines that were added so far, joined as Add describes.
func (s *MultilineJSON) Text() []byte { return s.text }

// IsEmpty reports whether no line was added.
func (s *MultilineJSON) IsEmpty() bool { return s.lines == 0 }

// IsOpen reports whether the value continues on the next line.
func (s *MultilineJSON) IsOpen() bool { return s.nesting.isOpen() }

// OpensMultilineJSON reports whether the line looks like the beginning of JSON text that continues
// on the next line.
func OpensMultilineJSON(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return false
	}
	var n nesting
	if n.read(line); !n.isOpen() {
		return false
	}
	rest := bytes.TrimLeft(line[1:], " \t{[")
	return len(rest) == 0 || rest[0] == '"'
}

// IsBalanced reports whether each bracket outside strings is closed by one of the same kind, and no
// string is left open.
func IsBalanced(text []byte) bool {
	var n nesting
	n.read(text)
	return n.isBalanced()
}

// nesting tracks the brackets and strings of JSON text that may come in chunks, may be malformed,
// and may have newlines in its strings. A JSON reader does not accept such input.
type nesting struct {
	depth      int    // of brackets of any kind; negative if more were closed than opened
	closers    []byte // what closes the open brackets
	inString   bool
	mismatched bool // a closing bracket had no opening bracket of its kind to match
}

func (n *nesting) read(text []byte) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case n.inString && c == '\\':
			i++
		case c == '"':
			n.inString = !n.inString
		case n.inString:
		case c == '{' || c == '[':
			n.depth++
			n.closers = append(n.closers, c+2) // } is { + 2, and ] is [ + 2
		case c == '}' || c == ']':
			n.depth--
			last := len(n.closers) - 1
			if last < 0 || n.closers[last] != c {
				n.mismatched = true
			}
			n.closers = n.closers[:max(last, 0)]
		}
	}
}

// isOpen reports whether the value continues after the text.
func (n *nesting) isOpen() bool { return n.depth > 0 || n.inString }

// isBalanced reports whether every bracket and string in the text is closed, and every closing
// bracket has its opening one.
func (n *nesting) isBalanced() bool { return len(n.closers) == 0 && !n.inString && !n.mismatched }
