//go:build !linux

package telemetry

// ofSystem returns what the system knows of this process.
func ofSystem() []Metric { return nil }
