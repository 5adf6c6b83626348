//go:build !race

package faults_test

// raceDetector: everything takes ten times the time.
const raceDetector = false
