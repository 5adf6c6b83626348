package generate

import (
	"bytes"

	"pgregory.net/rapid"
)

// Damage is one way to damage the bytes of a line.
type Damage struct {
	Name  string
	Bytes []byte // including newlines
	// Splits are the positions at which a new write begins.
	Splits []int
	// Whole is set if the line has the same meaning as before, so that a server must accept it.
	Whole bool
}

// Damages draws damage to a line with one message, given without its newline.
func Damages(line []byte) *rapid.Generator[Damage] {
	return rapid.Custom(func(t *rapid.T) Damage {
		return rapid.SampledFrom(damages).Draw(t, "damage")(t, line)
	})
}

var damages = []func(t *rapid.T, line []byte) Damage{
	func(t *rapid.T, line []byte) Damage {
		d := Damage{Name: "written in pieces", Bytes: withNewline(line), Whole: true}
		for i := 1; i < len(d.Bytes) && len(d.Splits) < 4; i++ {
			if drawChance(t, 8) {
				d.Splits = append(d.Splits, i)
			}
		}
		return d
	},
	func(*rapid.T, []byte) Damage { return Damage{Name: "an empty line", Bytes: []byte("\n")} },
	func(_ *rapid.T, line []byte) Damage {
		return Damage{Name: "a carriage return before the newline", Bytes: append(bytes.Clone(line), "\r\n"...)}
	},
	func(_ *rapid.T, line []byte) Damage {
		return Damage{Name: "a byte order mark", Bytes: append([]byte("\xef\xbb\xbf"), withNewline(line)...)}
	},
	func(t *rapid.T, line []byte) Damage {
		return Damage{Name: "a line that breaks off", Bytes: withNewline(line[:drawPosition(t, line)])}
	},
	func(t *rapid.T, line []byte) Damage {
		at := drawPosition(t, line)
		bad := rapid.SampledFrom([]string{"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"}).Draw(t, "bytes")
		return Damage{Name: "bytes that are not UTF-8", Bytes: withNewline(insert(line, at, []byte(bad)))}
	},
	func(t *rapid.T, line []byte) Damage {
		return Damage{Name: "a NUL", Bytes: withNewline(insert(line, drawPosition(t, line), []byte{0}))}
	},
	func(t *rapid.T, line []byte) Damage {
		return Damage{Name: "a newline inside", Bytes: withNewline(insert(line, drawPosition(t, line), []byte("\n")))}
	},
	func(t *rapid.T, line []byte) Damage {
		out := bytes.Clone(line)
		if len(out) > 0 {
			out[drawPosition(t, line[:len(line)-1])] ^= 1 << rapid.IntRange(0, 6).Draw(t, "bit")
		}
		return Damage{Name: "a flipped bit", Bytes: withNewline(out)}
	},
	func(_ *rapid.T, line []byte) Damage {
		return Damage{Name: "text after the message", Bytes: withNewline(append(bytes.Clone(line), " x"...))}
	},
	func(_ *rapid.T, line []byte) Damage {
		return Damage{Name: "two messages on a line", Bytes: withNewline(append(bytes.Clone(line), line...))}
	},
	func(t *rapid.T, line []byte) Damage {
		n := someLong.Draw(t, "length")
		return Damage{Name: "a long line", Bytes: withNewline(append(bytes.Repeat([]byte("x"), n), line...))}
	},
	func(t *rapid.T, line []byte) Damage {
		n := someLong.Draw(t, "length")
		return Damage{Name: "many spaces before the message", Bytes: withNewline(append(bytes.Repeat([]byte(" "), n), line...)), Whole: true}
	},
	func(_ *rapid.T, line []byte) Damage {
		return Damage{Name: "single quotes", Bytes: withNewline(bytes.ReplaceAll(line, []byte(`"`), []byte("'")))}
	},
	func(_ *rapid.T, line []byte) Damage {
		out := bytes.TrimSuffix(line, []byte("}"))
		return Damage{Name: "a comma too many", Bytes: withNewline(append(bytes.Clone(out), ",}"...))}
	},
}

func withNewline(line []byte) []byte { return append(bytes.Clone(line), '\n') }

// drawPosition draws a position in the line.
func drawPosition(t *rapid.T, line []byte) int { return rapid.IntRange(0, len(line)).Draw(t, "place") }

func insert(line []byte, at int, b []byte) []byte {
	out := append([]byte(nil), line[:at]...)
	return append(append(out, b...), line[at:]...)
}
