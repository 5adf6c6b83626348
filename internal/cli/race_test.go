//go:build race

package cli

// memoryFactor is what the race detector takes on top.
const memoryFactor = 4
