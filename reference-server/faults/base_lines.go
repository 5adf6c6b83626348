package faults

import (
	"bytes"

	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// lineFaults are about lines that hold more than a message.
func lineFaults() []Fault {
	return []Fault{
		breaks("base.parse-error/comma", "a comma behind a message ends the process", incoming(followedBy(","), diesOf(1))),
		breaksAfresh("base.parse-error/word", "after a message with a word behind it nothing is answered any more", func() refserver.Seams {
			return deafAfter(followedBy(" garbage"))
		}),
	}
}

// legalLines are the legal variations in what is made of such lines.
func legalLines() []Fault {
	return []Fault{
		legal("text-behind-ignored", "what stands behind a message on its line is not looked at", incoming(hasMore, func(_ *refserver.Session, raw []byte) refserver.Verdict {
			return refserver.Pass(raw[:bytes.LastIndexByte(raw, '}')+1])
		})),
		legal("text-behind-dropped", "a line on which text stands behind a message is passed over", incoming(hasMore, swallows)),
	}
}

func hasMore(_ *refserver.Session, f *wire.Frame) bool {
	return f.Has(wire.TrailingText) && len(f.Messages) > 0
}

func followedBy(text string) func(*refserver.Session, *wire.Frame) bool {
	return func(s *refserver.Session, f *wire.Frame) bool {
		return hasMore(s, f) && bytes.HasSuffix(bytes.TrimSpace(f.Raw), []byte("}"+text))
	}
}
