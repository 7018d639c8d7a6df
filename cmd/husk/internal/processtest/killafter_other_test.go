//go:build !linux || !(amd64 || arm64)

package processtest

import (
	"fmt"
	"os"
)

// killAfter is a command for Linux on some processors.
func killAfter() {
	fmt.Fprintln(os.Stderr, "killafter: system calls cannot be followed here")
	os.Exit(cannotTrace)
}

const canTrace = false
