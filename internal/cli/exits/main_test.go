package main

import (
	"errors"
	"testing"
	"time"
)

// TestJudge checks that each way in which a command must not end fails, and that the others pass.
func TestJudge(t *testing.T) {
	t.Setenv(slowVariable, "")
	for _, c := range []struct {
		name string
		end  ending
		want string
		code int
	}{
		{"the code", ending{code: 1}, "1", 0},
		{"one of two codes", ending{code: 4}, "1|4", 0},
		{"another code", ending{code: 1}, "0", 1},
		{"as much memory as is allowed", ending{memory: most}, "0", 0},
		{"more memory", ending{memory: most + 1}, "0", 1},
		{"a process left behind", ending{orphans: []string{"server"}}, "0", 1},
		{"it is unknown whether processes are left behind", ending{survived: errors.New("unreadable")}, "0", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.end.judge(c.want, time.Second); got != c.code {
				t.Errorf("exits with %d, want %d", got, c.code)
			}
		})
	}
	t.Setenv(slowVariable, "1")
	if got := (ending{memory: most + 1}).judge("0", time.Second); got != 0 {
		t.Errorf("with the race detector, memory counts: exits with %d", got)
	}
}
