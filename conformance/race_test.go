//go:build race

package conformance_test

// raceDetector makes running modules many times slower, and sees nothing of what they do.
const raceDetector = true
