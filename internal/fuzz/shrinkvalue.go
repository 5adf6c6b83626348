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

// message makes the message of an operation smaller: its spelling, its id, then
// each value of its params.
func (k *shrinker) message(i int) {
	m := &wire.Parse(k.best.Operations[i].Message).Messages[0]
	if m.Method == "" {
		return
	}
	plain := script.Message{ID: m.ID, Method: m.Method, Params: m.Params()}
	if shorter := plain.Bytes(); len(shorter) < len(m.Raw) {
		k.put(i, shorter)
	}
	if !k.sameAsPlain(i, plain) {
		return // the exact bytes matter
	}
	k.shorterMethod(i)
	if m.Params() != nil {
		k.put(i, script.Message{ID: m.ID, Method: m.Method}.Bytes())
	}
	k.params(i)
}

func (k *shrinker) put(i int, message []byte) bool {
	return k.vary(i, func(o *script.Operation) bool { o.Message = message; return true })
}

func (k *shrinker) sameAsPlain(i int, m script.Message) bool {
	return bytes.Equal(k.best.Operations[i].Message, m.Bytes())
}

// shorterMethod shortens an unknown method.
func (k *shrinker) shorterMethod(i int) {
	m := &wire.Parse(k.best.Operations[i].Message).Messages[0]
	if name, ok := strings.CutPrefix(m.Method, "mcp-conform/"); ok {
		k.text(name, func(s string) bool {
			return k.put(i, script.Message{ID: m.ID, Method: "mcp-conform/" + s, Params: m.Params()}.Bytes())
		})
	}
}

// params makes the values of the params smaller, one after the other, until no
// more can be made smaller.
func (k *shrinker) params(i int) {
	for k.may() {
		m := &wire.Parse(k.best.Operations[i].Message).Messages[0]
		d := json.NewDecoder(bytes.NewReader(m.Params()))
		d.UseNumber()
		var root any
		if m.Params() == nil || d.Decode(&root) != nil {
			return
		}
		smaller := false
		w := walker{k: k, put: func() bool {
			if k.put(i, script.Message{ID: m.ID, Method: m.Method, Params: wire.JSON(root)}.Bytes()) {
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

// walker tries smaller values at each position of a tree, and stops at the
// first that still shows the finding.
type walker struct {
	k   *shrinker
	put func() bool
}

// visit reports whether a smaller value was accepted. The set function replaces
// the value.
func (w *walker) visit(v any, set func(any)) bool {
	instead := func(other any) bool {
		if set(other); w.k.may() && w.put() {
			return true
		}
		set(v)
		return false
	}
	switch v := v.(type) {
	case string:
		return w.k.text(v, func(s string) bool { return instead(s) })
	case json.Number:
		for _, n := range []json.Number{"0", "1"} {
			if len(n) < len(v) && instead(n) {
				return true
			}
		}
	case []any:
		for i := range v {
			if instead(slices.Delete(slices.Clone(v), i, i+1)) {
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
			if instead(without) {
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

// text tries shorter strings, and reports whether one was accepted.
func (k *shrinker) text(s string, taken func(string) bool) bool {
	n := utf8.RuneCountInString(s)
	if n == 0 {
		return false
	}
	runes := []rune(s)
	tried := map[string]bool{s: true}
	for _, shorter := range []string{
		"", "a", string(runes[:1]), string(runes[n-1:]), string(runes[:n/2]), string(runes[n/2:]), string(runes[:n-n/4]), string(runes[:n-1]), string(runes[1:]),
	} {
		if !tried[shorter] && k.may() {
			tried[shorter] = true
			if taken(shorter) {
				return true
			}
		}
	}
	if plain := strings.Repeat("a", n); !tried[plain] && strings.Trim(s, "a") != "" && k.may() {
		return taken(plain)
	}
	return false
}
