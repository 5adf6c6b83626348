package shapes

import (
	"math/big"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func wholeNumber(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

// judgeEnum judges the options of a text field.
func (f *form) judgeEnum(name string, v jsontext.Value) {
	f.judgeOptions(name, v)
	names := wire.At(v, "/enumNames")
	if names == nil {
		return
	}
	if n, m := len(wire.Elements(names)), len(wire.Elements(wire.At(v, "/enum"))); n != m {
		f.reportEnumeration(name, v, "enumNames as many as enum")
		return
	}
	f.report(legacyNames, "The server's form uses enumNames, which newer forms replace.", "oneOf with const and title", name, names, verdict.OnlyNote)
}

// judgeItems records well-formed options of a multi-select field. The message shape rule reports
// malformed ones.
func (f *form) judgeItems(items jsontext.Value) {
	if hasMember(items, "enum") && areStrings(wire.At(items, "/enum"), false) || hasMember(items, "anyOf") && areTitled(wire.At(items, "/anyOf")) {
		f.out.MarkObserved(enumForms11)
	}
}

// judgeOptions judges the form of an enumeration: enum, or oneOf if the revision has it.
func (f *form) judgeOptions(name string, v jsontext.Value) {
	permitted := "enum with strings, optionally with enumNames next to it"
	modern := f.out.Judges(enumForms11)
	if modern {
		permitted = "enum with strings, or oneOf with const and title"
	}
	enum, options := wire.At(v, "/enum"), wire.At(v, "/oneOf")
	switch {
	case enum == nil && options == nil && !hasMember(v, "anyOf"):
		return
	case hasMember(v, "anyOf"), options != nil && !modern, options != nil && !areTitled(options),
		enum != nil && !areStrings(enum, modern):
		f.reportEnumeration(name, v, permitted)
		return
	}
	for _, id := range []string{enumForms06, enumForms11} {
		f.out.MarkObserved(id)
	}
	if !hasMember(v, "enumNames") {
		f.out.MarkObserved(legacyNames)
	}
}

// reportEnumeration reports an unknown form of an enumeration under the requirement that exists in
// the revision.
func (f *form) reportEnumeration(name string, v jsontext.Value, permitted string) {
	for _, id := range []string{enumForms06, enumForms11} {
		f.report(id, "The server's form has an enumeration that the revision does not know.", permitted, name, v, verdict.Full)
	}
}

// areStrings reports whether a list has only strings. For a value that is not a list, it returns
// the argument modern, because in modern revisions another rule reports such a value as an invalid
// JSON Schema.
func areStrings(v jsontext.Value, modern bool) bool {
	if v.Kind() != '[' {
		return modern
	}
	return !slices.ContainsFunc(wire.Elements(v), func(e jsontext.Value) bool { return e.Kind() != '"' })
}

// areTitled reports whether a list has only options with const and title.
func areTitled(v jsontext.Value) bool {
	if v.Kind() != '[' {
		return true // reported as an invalid JSON Schema
	}
	return !slices.ContainsFunc(wire.Elements(v), func(e jsontext.Value) bool {
		return wire.At(e, "/const").Kind() != '"' || wire.At(e, "/title").Kind() != '"'
	})
}
