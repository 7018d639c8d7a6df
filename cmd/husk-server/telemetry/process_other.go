//go:build !linux

package telemetry

// ofSystem returns the system's figures of this process.
func ofSystem() []Metric { return nil }
