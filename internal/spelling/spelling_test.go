package spelling_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spelling"
)

func TestNearest(t *testing.T) {
	tests := []struct{ name, want string }{
		{"GitHub", "github"}, {"githb", "github"}, {"gitlab", "github"}, {"weather", ""}, {"x", ""}, {"file-system", "filesystem"}, {"", ""},
	}
	for _, test := range tests {
		if got := spelling.Nearest(test.name, []string{"github", "filesystem", "memory"}); got != test.want {
			t.Errorf("Nearest(%q) = %q, want %q", test.name, got, test.want)
		}
	}
}
