//go:build race

package commandtest

// raceDetector sees nothing of a program that a test starts.
const raceDetector = true
