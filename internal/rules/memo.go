package rules

import (
	"bytes"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Memo returns the value of produce, which is called once for each key in a session, so that
// rules share the work. The value must not be changed, and must not depend on later messages. The
// key's type should belong to the calling package, so that keys of different packages differ.
func Memo[K comparable, V any](s *Session, key K, produce func() V) V {
	return remember(&s.memo, key, produce)
}

// MemoResult is like Memo, but calls produce once for each key and different result: servers
// often send the same list again. The value must depend on the bytes of m's result alone.
func MemoResult[K comparable, V any](s *Session, m *wire.Message, key K, produce func() V) V {
	return remember(&s.resultOf(m).memo, key, produce)
}

func remember[K comparable, V any](memo *map[any]any, key K, produce func() V) V {
	if v, ok := (*memo)[key]; ok {
		return v.(V)
	}
	v := produce()
	if *memo == nil {
		*memo = map[any]any{}
	}
	(*memo)[key] = v
	return v
}

// A result is the result of one response or of several with the same bytes.
type result struct {
	raw  jsontext.Value
	memo map[any]any // see MemoResult
}

// A resultTable has the results of a session.
type resultTable struct {
	of     map[*wire.Message]*result
	byHash map[uint64]*result
	seed   maphash.Seed
}

// resultOf returns the result of a response.
func (s *Session) resultOf(m *wire.Message) *result {
	t := &s.results
	if t.of == nil {
		*t = resultTable{map[*wire.Message]*result{}, map[uint64]*result{}, maphash.MakeSeed()}
	}
	r := t.of[m]
	if r == nil {
		r = t.find(m.Result())
		t.of[m] = r
	}
	return r
}

// find returns the result with these bytes.
func (t *resultTable) find(raw jsontext.Value) *result {
	hash := maphash.Bytes(t.seed, raw)
	r := t.byHash[hash]
	if r == nil || !bytes.Equal(r.raw, raw) {
		r = &result{raw: raw}
		t.byHash[hash] = r
	}
	return r
}
