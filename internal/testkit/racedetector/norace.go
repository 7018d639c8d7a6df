//go:build !race

package racedetector

const Enabled = false
