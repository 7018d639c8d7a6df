//go:build !race

package moduletest

const raceDetector = false
