//go:build !race

package commandtest

const raceDetector = false
