//go:build unix

// Package cputime measures CPU time.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the CPU time of this process and its ended children.
func Used() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
