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
	return memoize(&s.cache.memo, key, produce)
}

// MemoResult is like Memo, but calls produce once for each pair of key and result, because servers
// often send the same list again. Results with the same bytes count as one. The value must depend
// only on the bytes of m's result.
func MemoResult[K comparable, V any](s *Session, m *wire.Message, key K, produce func() V) V {
	return memoize(&s.cache.resultOf(m).memo, key, produce)
}

func memoize[K comparable, V any](memo *map[any]any, key K, produce func() V) V {
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

// A result is the JSON-RPC result that one or several responses have, byte for byte.
type result struct {
	raw  jsontext.Value
	memo map[any]any // see MemoResult
}

// A cache has what rules share: the values of Memo and MemoResult, and the state of each Shared.
type cache struct {
	memo   map[any]any // see Memo
	shared map[SharedState]any

	results map[*wire.Message]*result
	byHash  map[uint64]*result // the results by the hash of their bytes
	seed    maphash.Seed
}

// resultOf returns the result of response m, which it shares with other responses that have the
// same bytes.
func (c *cache) resultOf(m *wire.Message) *result {
	if c.results == nil {
		c.results, c.byHash, c.seed = map[*wire.Message]*result{}, map[uint64]*result{}, maphash.MakeSeed()
	}
	r := c.results[m]
	if r == nil {
		r = c.find(m.Result())
		c.results[m] = r
	}
	return r
}

// find returns the result with these bytes, which it adds if there is none.
func (c *cache) find(raw jsontext.Value) *result {
	hash := maphash.Bytes(c.seed, raw)
	r := c.byHash[hash]
	if r == nil || !bytes.Equal(r.raw, raw) {
		r = &result{raw: raw}
		c.byHash[hash] = r
	}
	return r
}
