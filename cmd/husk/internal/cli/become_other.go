//go:build !unix

package cli

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// become runs another program with the same arguments, and ends with its exit code. An interrupt reaches both; the other program
// decides what it means.
func become(path string, environment []string) error {
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment, os.Stdin, os.Stdout, os.Stderr
	signal.Ignore(os.Interrupt)
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}
