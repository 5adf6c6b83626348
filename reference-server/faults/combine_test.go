package faults_test

import (
	"reflect"
	"testing"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// TestCombineKeepsEverySeam sets each seam in turn, and checks that combine does not lose it.
func TestCombineKeepsEverySeam(t *testing.T) {
	for i, field := range reflect.VisibleFields(reflect.TypeFor[refserver.Seams]()) {
		one := &refserver.Seams{}
		seam := reflect.ValueOf(one).Elem().Field(i)
		if seam.Kind() == reflect.Func {
			seam.Set(reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value { panic("not called") }))
		} else {
			one.Protection.AnyUserSession = true
		}
		if seam.IsZero() {
			t.Errorf("this test does not know how to set %s", field.Name)
		}
		for _, both := range []*refserver.Seams{faults.Combine(one, &refserver.Seams{}), faults.Combine(&refserver.Seams{}, one)} {
			if reflect.ValueOf(both).Elem().Field(i).IsZero() {
				t.Errorf("combine loses %s", field.Name)
			}
		}
	}
}
