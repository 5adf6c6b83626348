package wire

import (
	"fmt"
	"strings"
	"testing"
)

// slowShapes are messages, each with n repetitions, that are slow if a part of Parse or At is not
// linear.
var slowShapes = []struct {
	name string
	make func(n int) []byte
}{
	{"brackets", func(n int) []byte { return []byte(strings.Repeat("[", n)) }},
	{"deep", func(n int) []byte {
		one := strings.Repeat("[", MaxDepth-2) + strings.Repeat("]", MaxDepth-2) + ","
		return []byte(`{"result":[` + strings.TrimSuffix(strings.Repeat(one, max(1, n/len(one))), ",") + `]}`)
	}},
	{"members", func(n int) []byte {
		var b strings.Builder
		for i := range n / 12 {
			fmt.Fprintf(&b, `"m%d":1,`, i)
		}
		return []byte(`{"result":{` + b.String() + `"last":2}}`)
	}},
	{"duplicates", func(n int) []byte {
		return []byte(`{"result":{` + strings.Repeat(`"a":1,`, n/6) + `"last":2}}`)
	}},
	{"elements", func(n int) []byte { return []byte(`{"result":[` + strings.Repeat("1,", n/2) + `2]}`) }},
	{"string", func(n int) []byte { return []byte(`{"result":"` + strings.Repeat(`\u00e9`, n/6) + `"}`) }},
	{"quotes", func(n int) []byte { return []byte(strings.Repeat(`"`, n)) }},
	{"id", func(n int) []byte { return []byte(`{"id":` + strings.Repeat("1", n) + `,"result":{}}`) }},
	{"not UTF-8", func(n int) []byte { return []byte("{\"result\":\"" + strings.Repeat("\xff", n) + "\"}") }},
	{"text", func(n int) []byte { return []byte(strings.Repeat("log ", n/4)) }},
	{"batch", func(n int) []byte { return []byte("[" + strings.Repeat(`{"id":1},`, min(n/9, MaxMembers-1)) + "1]") }},
}

func BenchmarkParse(b *testing.B) {
	for _, s := range slowShapes {
		for _, size := range []int{1 << 16, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dKiB", s.name, size>>10), func(b *testing.B) {
				raw := s.make(size)
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					f := Parse(raw)
					for i := range f.Messages {
						f.Messages[i].ID.Key()
					}
				}
			})
		}
	}
}

func BenchmarkAt(b *testing.B) {
	for _, s := range slowShapes[1:5] {
		for _, size := range []int{1 << 16, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dKiB", s.name, size>>10), func(b *testing.B) {
				raw := s.make(size)
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					At(raw, "/result/last")
					At(raw, "/result/1")
				}
			})
		}
	}
}
