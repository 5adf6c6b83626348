package engine

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// locatePointer returns the span of the value to which a JSON pointer points; for a member of an
// object the span includes the name. If the value is missing, it returns the span of the enclosing
// value, or nil if that is the whole of raw.
func locatePointer(raw []byte, pointer string) *verdict.Span {
	for pointer != "" {
		if at := findValue(raw, jsontext.Pointer(pointer)); at != nil {
			return at
		}
		pointer = pointer[:max(0, strings.LastIndexByte(pointer, '/'))]
	}
	return nil
}

func findValue(raw []byte, pointer jsontext.Pointer) *verdict.Span {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	// Computing the pointer of a token takes time in proportion to its depth,
	// so it is computed only for tokens as deep as the value, or one level
	// above.
	deep := strings.Count(string(pointer), "/")
	for {
		from := dec.InputOffset()
		token, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		kind := token.Kind()
		if d := dec.StackDepth(); d != deep && d != deep+1 {
			continue
		}
		if dec.StackPointer() != pointer || kind == '}' || kind == ']' {
			continue
		}
		from += int64(len(raw[from:]) - len(bytes.TrimLeft(raw[from:], " \t\r\n,:")))
		switch _, read := dec.StackIndex(dec.StackDepth()); {
		case kind == '{' || kind == '[':
			for depth := dec.StackDepth(); dec.StackDepth() >= depth; {
				if _, err := dec.ReadToken(); err != nil {
					return nil
				}
			}
		case kind == '"' && isName(dec, read):
			if err := dec.SkipValue(); err != nil {
				return nil
			}
		}
		return &verdict.Span{From: int(from), To: int(dec.InputOffset())}
	}
}

// isName reports whether the token just read is the name of a member. read is the number of tokens
// read so far in the enclosing object or array.
func isName(dec *jsontext.Decoder, read int64) bool {
	in, _ := dec.StackIndex(dec.StackDepth())
	return in == '{' && read%2 == 1
}
