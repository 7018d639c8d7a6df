//go:build race

// Package racedetector reports whether the race detector is on. Tests that run modules skip then: the race detector makes modules
// many times slower, and sees nothing of their work.
package racedetector

// Enabled reports whether the race detector is on.
const Enabled = true
