//go:build !unix

// Package cputime measures CPU time.
package cputime

import "time"

// Used returns 0, because CPU time is not measured on this system.
func Used() time.Duration { return 0 }
