package fuzz

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// shrinkMessage tries to make the message of an operation smaller: first its spacing and unusual
// members, then its method if that is unknown, then its params.
func (k *shrinker) shrinkMessage(i int) {
	m := &wire.Parse(k.smallest.Operations[i].Message).Messages[0]
	if m.Method == "" {
		return
	}
	plain := script.Message{ID: m.ID, Method: m.Method, Params: m.Params()}
	if shorter := plain.Bytes(); len(shorter) < len(m.Raw) {
		k.tryMessage(i, shorter)
	}
	if !k.hasExactBytes(i, plain) {
		return // the exact bytes matter
	}
	k.shortenMethod(i)
	if m.Params() != nil {
		k.tryMessage(i, script.Message{ID: m.ID, Method: m.Method}.Bytes())
	}
	k.shrinkParams(i)
}

// tryMessage tries another message for an operation.
func (k *shrinker) tryMessage(i int, message []byte) bool {
	return k.tryChange(i, func(o *script.Operation) bool { o.Message = message; return true })
}

// hasExactBytes reports whether the operation's message has exactly the bytes of m.
func (k *shrinker) hasExactBytes(i int, m script.Message) bool {
	return bytes.Equal(k.smallest.Operations[i].Message, m.Bytes())
}

// shortenMethod tries to shorten an unknown method.
func (k *shrinker) shortenMethod(i int) {
	m := &wire.Parse(k.smallest.Operations[i].Message).Messages[0]
	if name, ok := strings.CutPrefix(m.Method, "mcp-conform/"); ok {
		k.shrinkText(name, func(s string) bool {
			return k.tryChange(i, func(o *script.Operation) bool {
				o.Method = "mcp-conform/" + s
				o.Message = script.Message{ID: m.ID, Method: o.Method, Params: m.Params()}.Bytes()
				return true
			})
		})
	}
}

// shrinkParams tries to make the values of the params smaller, one after the other, until none can
// be made smaller.
func (k *shrinker) shrinkParams(i int) {
	for k.canTry() {
		m := &wire.Parse(k.smallest.Operations[i].Message).Messages[0]
		d := json.NewDecoder(bytes.NewReader(m.Params()))
		d.UseNumber()
		var root any
		if m.Params() == nil || d.Decode(&root) != nil {
			return
		}
		smaller := false
		w := valueShrinker{shrinker: k, try: func() bool {
			if k.tryMessage(i, script.Message{ID: m.ID, Method: m.Method, Params: wire.JSON(root)}.Bytes()) {
				smaller = true
			}
			return smaller
		}}
		w.visit(root, func(v any) { root = v })
		if !smaller {
			return
		}
	}
}

// A valueShrinker tries a smaller value at each position of a JSON value, and stops at the first
// that still shows the finding.
type valueShrinker struct {
	shrinker *shrinker
	try      func() bool
}

// visit tries smaller values for v, and reports whether one was accepted. The function set replaces
// v with another value in its parent.
func (w *valueShrinker) visit(v any, set func(any)) bool {
	replace := func(other any) bool {
		if set(other); w.shrinker.canTry() && w.try() {
			return true
		}
		set(v)
		return false
	}
	switch v := v.(type) {
	case string:
		return w.shrinker.shrinkText(v, func(s string) bool { return replace(s) })
	case json.Number:
		for _, n := range []json.Number{"0", "1"} {
			if len(n) < len(v) && !w.shrinker.keep && replace(n) {
				return true
			}
		}
	case []any:
		for i := range v {
			if replace(slices.Delete(slices.Clone(v), i, i+1)) {
				return true
			}
		}
		for i := range v {
			if w.visit(v[i], func(e any) { v[i] = e }) {
				return true
			}
		}
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		for _, name := range names {
			without := maps.Clone(v)
			delete(without, name)
			if replace(without) {
				return true
			}
		}
		for _, name := range names {
			if w.visit(v[name], func(e any) { v[name] = e }) {
				return true
			}
		}
	}
	return false
}

// shrinkText tries shorter strings, and reports whether one was accepted.
func (k *shrinker) shrinkText(s string, try func(string) bool) bool {
	n := utf8.RuneCountInString(s)
	if n == 0 || k.keep {
		return false
	}
	runes := []rune(s)
	tried := map[string]bool{s: true}
	for _, shorter := range []string{
		"", "a", string(runes[:1]), string(runes[n-1:]), string(runes[:n/2]), string(runes[n/2:]), string(runes[:n-n/4]), string(runes[:n-1]), string(runes[1:]),
	} {
		if !tried[shorter] && k.canTry() {
			tried[shorter] = true
			if try(shorter) {
				return true
			}
		}
	}
	if plain := strings.Repeat("a", n); !tried[plain] && strings.Trim(s, "a") != "" && k.canTry() {
		return try(plain)
	}
	return false
}
