//go:build !linux

package main_test

import "os/exec"

// confined returns a command without variables.
func confined(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{}
	return cmd
}
