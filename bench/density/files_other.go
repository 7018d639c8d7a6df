//go:build !linux

package main

// filesInMemory is not told here.
func filesInMemory(int) (float64, error) { return 0, nil }
