//go:build !linux

package main

import (
	"fmt"
	"os"
)

// killAfter is a command for Linux alone.
func killAfter() {
	fmt.Fprintln(os.Stderr, "killafter: system calls cannot be followed here")
	os.Exit(cannotTrace)
}

// The exit codes of killafter, beside those of husk.
const (
	killed      = 137
	cannotTrace = 99
)
