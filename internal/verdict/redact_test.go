package verdict

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ours are the fields that contain only ids and the tool's own words.
var ours = []string{
	"Tool", "Version", "ID", "Requirement", "Judge", "Case", "Judges", "Area", "Page", "Group", "BlockedBy", "Verdict.Findings", "FailOn", "Summary", "Direction", "SDK",
	"ProfileResult.Name", "ProfileResult.Result",
}

// TestRedactCoversEveryText fills every string of a report with a secret, so
// that a new field must either be redacted or be listed above.
func TestRedactCoversEveryText(t *testing.T) {
	p := &Report{}
	fill(reflect.ValueOf(p).Elem())
	p.Redact(func(s string) string { return strings.ReplaceAll(s, "secret", "-") })
	walk(t, "Report", reflect.ValueOf(p).Elem())
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("secret")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}

func walk(t *testing.T, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.String() == "secret" {
			t.Errorf("%s is not redacted", name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(t, name, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if in := v.Type().Name() + "." + f.Name; f.IsExported() && !slices.Contains(ours, in) && (!slices.Contains(ours, f.Name) || v.Type() == reflect.TypeFor[Server]()) {
				walk(t, in, v.Field(i))
			}
		}
	}
}

func TestRedactKeepsTheMark(t *testing.T) {
	text := func(s string) string { return strings.ReplaceAll(s, "secret", "-") }
	for _, c := range []struct {
		name string
		e    Evidence
		want *Span
	}{
		{"behind a secret", Evidence{Text: "a secret and a fault", Mark: &Span{From: 15, To: 20}}, &Span{From: 10, To: 15}},
		{"around a secret", Evidence{Text: "a secret fault", Mark: &Span{From: 2, To: 14}}, &Span{From: 2, To: 9}},
		{"across a secret", Evidence{Text: "a secret fault", Mark: &Span{From: 4, To: 14}}, nil},
		{"none", Evidence{Text: "a secret fault"}, nil},
	} {
		e := c.e
		e.redact(text)
		if diff := cmp.Diff(c.want, e.Mark); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
