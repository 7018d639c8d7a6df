//go:build !race

package crossing_test

const raceDetector = false
