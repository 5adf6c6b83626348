//go:build !race

package cli

const memoryFactor = 1
