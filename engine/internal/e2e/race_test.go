//go:build race

package e2e_test

// raceDetector makes running modules many times slower, and sees nothing of what they do.
const raceDetector = true
