package schema

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// compile builds the validator of a published revision.
func compile(r spec.Revision) *Validator {
	done := map[*schemaType]*schemaType{}
	v := &Validator{
		revision: r,
		results:  map[string][]choice{},
		errors:   map[int64]*schemaType{},
		places:   map[string]Place{},
	}
	for _, w := range results {
		if w.span.includes(r) {
			v.results[w.method] = append(v.results[w.method], choice{w.typ.compile(r, done), w.when})
		}
	}
	for _, e := range errorData {
		if e.span.includes(r) {
			v.errors[int64(e.code)] = e.typ.compile(r, done)
		}
	}
	v.notifications, v.requests = compileRows(notifications, r, done), compileRows(requests, r, done)
	v.plain = plainTypes{
		result:       anyResult.compile(r, done),
		err:          anyError.compile(r, done),
		notification: compileRows(otherNotification, r, done)[""],
		request:      compileRows(otherRequest, r, done)[""],
	}
	for _, t := range done {
		if len(t.members) > maxMembers {
			panic(fmt.Sprintf("schema: %s has %d members in %s; raise maxMembers", t.name, len(t.members), r))
		}
		v.assignPlaces(t)
	}
	return v
}

// A choice is a type that a result may have, with its condition.
type choice struct {
	typ  *schemaType
	when func(result []byte) bool // nil if it always applies
}

func compileRows(rows []row, r spec.Revision, done map[*schemaType]*schemaType) map[string]*schemaType {
	types := map[string]*schemaType{}
	for _, w := range rows {
		if w.span.includes(r) {
			types[w.method] = w.typ.compile(r, done)
		}
	}
	return types
}
