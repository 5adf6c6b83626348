//go:build race

package suitetest

// RaceDetector reports whether the tests run with it.
const RaceDetector = true
