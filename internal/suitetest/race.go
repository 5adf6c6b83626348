//go:build race

package suitetest

// RaceDetector reports whether the tests run with the race detector.
const RaceDetector = true
