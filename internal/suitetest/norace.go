//go:build !race

package suitetest

// RaceDetector reports whether the tests run with the race detector, which makes
// everything take several times the time and memory.
const RaceDetector = false
