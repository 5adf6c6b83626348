//go:build !race

package cli

// raceDetector: everything takes several times the time and memory.
const raceDetector = false
