//go:build !linux || !(amd64 || arm64)

package confine

import "runtime"

// Check returns an error if this machine cannot confine processes.
func Check() error {
	return &MissingError{[]string{"confinement on " + runtime.GOOS + "/" + runtime.GOARCH}}
}

// Enter confines this process, and begins its program anew.
func Enter(Rules, []string) error { return Check() }

// Seal ends what Enter has begun.
func Seal() error { return Check() }

// Hide keeps other processes of this user from looking into this one, where it can.
func Hide() {}
