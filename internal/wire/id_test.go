package wire

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIDPreservesText(t *testing.T) {
	seen := map[ID]bool{}
	for _, text := range []string{`1`, `1.0`, `"1"`, `1e0`, `null`, `"\u0031"`, ` `} {
		id := RawID(text)
		if seen[id] || id.Raw() != text || id.String() != text || !id.IsPresent() {
			t.Errorf("id %s equals another one, or is %q", text, id.Raw())
		}
		seen[id] = true
	}
	if none := (ID{}); none.IsPresent() || none.Raw() != "" || none.String() != "(no id)" || none.IsNull() || none != RawID("") {
		t.Errorf("the zero id is %q", none)
	}
	if IntID(-5) != RawID("-5") || StringID(`a"b`) != RawID(`"a\"b"`) || StringID("\xff") != RawID("\"\uFFFD\"") {
		t.Error("IntID or StringID writes a wrong text")
	}
}

func TestSameID(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, true}, {`1`, `1e0`, true}, {`10`, `1E+1`, true}, {`1`, `100e-2`, true},
		{`0`, `-0`, true}, {`0`, `0e400`, true}, {`1`, `"1"`, false}, {`1`, `-1`, false}, {`1`, `1.5`, false},
		{`1.5`, `1.50`, false}, {`null`, `"null"`, false}, {`null`, ``, false}, {`""`, ``, false}, {`0`, ``, false},
		{`"a"`, `"\u0061"`, true}, {`"a"`, `"A"`, false}, {`"/"`, `"\/"`, true},
		{`9007199254740993`, `9007199254740992`, false}, {`9007199254740993`, `9007199254740993.0`, true},
		{`1e400`, `10e399`, true}, {`1e401`, `10e400`, false},
		{`{"a":1}`, `{"a": 1}`, false},
		{`007`, `7`, false}, {`-`, `0`, false}, {`1x`, `1`, false}, {`1.`, `1`, false}, {`1e`, `1`, false}, {`.5e1`, `5`, false}, {`+1`, `1`, false},
		{`"a`, `"a"`, false}, {`?"a`, `"a`, false}, {`"\ud800"`, `"\ufffd"`, false},
	} {
		a, b := RawID(c.a), RawID(c.b)
		if a.Same(b) != c.same || b.Same(a) != c.same {
			t.Errorf("Same(%s, %s) = %v, %v", c.a, c.b, a.Same(b), b.Same(a))
		}
		if (a.Key() == b.Key()) != c.same {
			t.Errorf("Key(%s) = %q, Key(%s) = %q", c.a, a.Key(), c.b, b.Key())
		}
	}
}

func TestIDTypes(t *testing.T) {
	for _, c := range []struct {
		text                  string
		isString, isInt, null bool
	}{
		{`1`, false, true, false}, {`-1`, false, true, false}, {`1.0`, false, true, false}, {`1.5e1`, false, true, false},
		{`1.5`, false, false, false}, {`1e-1`, false, false, false}, {`5e-3`, false, false, false}, {`0e-3`, false, true, false},
		{`1e401`, false, false, false}, {`"1"`, true, false, false}, {`null`, false, false, true}, {`true`, false, false, false},
		{``, false, false, false}, {`01`, false, false, false}, {`-`, false, false, false}, {`12x`, false, false, false},
	} {
		id := RawID(c.text)
		if id.IsString() != c.isString || id.IsInteger() != c.isInt || id.IsNull() != c.null {
			t.Errorf("%s: string %v, integer %v, null %v", c.text, id.IsString(), id.IsInteger(), id.IsNull())
		}
	}
}

// ids draws many spellings of a few values, so that equal ids are frequent.
var ids = rapid.Custom(func(t *rapid.T) ID {
	switch rapid.IntRange(0, 4).Draw(t, "type") {
	case 0:
		return RawID(rapid.SampledFrom([]string{"", "null", "true", "{}", `{"a":1}`, `"\ud800"`, `"a`, `?"a`, `??"a`, "01", "-"}).Draw(t, "text"))
	case 1:
		return RawID(rapid.StringN(0, 3, 8).Draw(t, "text"))
	case 2:
		s := rapid.StringOfN(rapid.RuneFrom([]rune("ab1/")), 0, 2, -1).Draw(t, "string")
		if rapid.Bool().Draw(t, "escaped") {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
			return RawID(`"` + b.String() + `"`)
		}
		return StringID(s)
	default:
		return RawID(numbers.Draw(t, "number"))
	}
})

// numbers draws spellings of JSON numbers, which are often integers.
var numbers = rapid.Custom(func(t *rapid.T) string {
	s := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
	s += rapid.StringMatching(`0|[1-9][0-9]{0,3}`).Draw(t, "whole")
	if rapid.Bool().Draw(t, "has fraction") {
		s += "." + rapid.StringMatching(`[0-9]{0,2}0{1,3}`).Draw(t, "fraction")
	}
	if rapid.Bool().Draw(t, "has exponent") {
		s += rapid.StringMatching(`[eE][+-]?0{0,2}[0-9]`).Draw(t, "exponent")
	}
	return s
})

func TestSameIsEquivalenceRelation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := ids.Draw(t, "a"), ids.Draw(t, "b"), ids.Draw(t, "c")
		if !a.Same(a) || a.Same(b) != b.Same(a) || a.Same(b) && b.Same(c) && !a.Same(c) {
			t.Fatal("not reflexive, symmetric and transitive")
		}
		if a.Same(b) != (a.Key() == b.Key()) {
			t.Fatalf("Same is %v, the keys are %q and %q", a.Same(b), a.Key(), b.Key())
		}
	})
}

func TestCanonicalIntegerAgreesWithMathBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := numbers.Draw(t, "number")
		got, ok := canonicalInteger(text)
		want, valid := new(big.Rat).SetString(text)
		if !valid {
			t.Fatalf("math/big rejects %s", text)
		}
		if ok != want.IsInt() || ok && got != want.Num().String() {
			t.Fatalf("canonicalInteger(%s) = %s, %v; math/big returns %s", text, got, ok, want.RatString())
		}
	})
}

func TestInteger(t *testing.T) {
	for _, c := range []struct {
		in string
		n  int64
		ok bool
	}{
		{`1`, 1, true}, {` 1e2 `, 100, true}, {`-0`, 0, true}, {`9223372036854775807`, 1<<63 - 1, true},
		{`9223372036854775808`, 0, false}, {`1.5`, 0, false}, {`"1"`, 0, false}, {``, 0, false}, {`1 2`, 0, false}, {`true`, 0, false},
	} {
		if n, ok := Integer([]byte(c.in)); ok != c.ok || ok && n != c.n {
			t.Errorf("Integer(%s) = %d, %v", c.in, n, ok)
		}
	}
}
