package generate

import (
	"errors"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Arguments returns the smallest object that conforms to the JSON Schema of a
// tool's arguments. Its values are those that the schema names (const, default,
// examples, enum), or they are generated from types and limits. It returns an
// error if no certainly valid value can be generated.
func Arguments(schema jsontext.Value) (map[string]any, error) {
	return certainArguments(schema, certainChoices{})
}

// MoreArguments returns further arguments, which differ from those of Arguments: first an object
// with all members that can be generated, and then one with the same members but other values where
// the schema offers a choice (the last value of an enum, the last alternative, true, elements in
// arrays).
func MoreArguments(schema jsontext.Value) []map[string]any {
	least, err := Arguments(schema)
	if err != nil {
		return nil
	}
	var out []map[string]any
	for _, c := range []certainChoices{{every: true}, {every: true, last: true}} {
		most, err := certainArguments(schema, c)
		isSame := func(other map[string]any) bool { return reflect.DeepEqual(other, most) }
		if err == nil && !isSame(least) && !slices.ContainsFunc(out, isSame) {
			out = append(out, most)
		}
	}
	return out
}

// Form returns content that a user who agrees may enter in a form of an elicitation with this
// schema: a value for every field for which a certainly valid one can be generated. It returns an
// error if a required field has none.
func Form(schema jsontext.Value) (map[string]any, error) {
	return certainArguments(schema, certainChoices{every: true, agrees: true})
}

// Value returns a value that certainly conforms to a JSON Schema, chosen in the way in which
// Arguments chooses the values of members: a string, bool, json.Number, map[string]any, []any or
// nil. It returns an error if no such value can be generated.
func Value(schema jsontext.Value) (any, error) {
	d := document{decode(schema)}
	return d.value(d.root, certainChoices{})
}

func certainArguments(schema jsontext.Value, c certainChoices) (map[string]any, error) {
	d := document{decode(schema)}
	v, err := d.value(d.root, c)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the schema is not that of an object")
	}
	return o, nil
}

// HasNamedValue reports whether a schema itself names a valid value.
func HasNamedValue(schema jsontext.Value) bool {
	o, _ := decode(schema).(map[string]any)
	_, ok := certainChoices{}.namedValue(o)
	return ok
}
