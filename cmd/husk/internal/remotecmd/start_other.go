//go:build !unix

package remotecmd

import (
	"errors"
	"os"
	"os/exec"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
)

// start runs the server in this process's terminal.
func (a commands) start(path string, args []string) error {
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out.File(), a.Errs.File()
	// The terminal interrupts both. An interrupt of this process alone is passed on.
	end := a.Heed(nil, cli.Stage{Do: func() { _ = cmd.Process.Signal(os.Interrupt) }}, cli.Stage{})
	defer end()
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return cli.Shown(err) // it has said why
	}
	return err
}
