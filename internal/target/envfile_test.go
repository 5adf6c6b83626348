package target

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseEnvFile(t *testing.T) {
	text := "\uFEFF# comment\r\nA=1\rB = two words # why\n\nexport C='x # y'\nD=\"a\\nb\"\nE=`q`\nF: colon\nno value\n=none\nG=\nH=\"open\nI='it\\'s'\nJ=a=b\nK=\x00\n\"x=y\"\n"
	want := []setting{
		{name: "A", value: "1"}, {name: "B", value: "two words"}, {name: "C", value: "x # y"}, {name: "D", value: "a\nb"}, {name: "E", value: "q"},
		{name: "F", value: "colon"}, {name: "G", value: ""}, {name: "H", value: `"open`}, {name: "I", value: `it\'s`}, {name: "J", value: "a=b"},
	}
	if diff := cmp.Diff(want, parseEnvFile(text), cmp.AllowUnexported(setting{})); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}
