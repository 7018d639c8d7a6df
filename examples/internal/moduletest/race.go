//go:build race

package moduletest

// raceDetector makes the compilation of modules some twenty times slower, and sees
// nothing of what they do.
const raceDetector = true
