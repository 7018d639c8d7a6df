// Package processgroup ends a process together with those that it has started. Plugins and programs of Pulumi are often
// scripts that start another process, which would survive them.
package processgroup

import (
	"bytes"
	"errors"
	"os/exec"
)

// Output is [Run] and returns what the command writes. An [exec.ExitError] has what it writes to its standard error.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := Run(cmd)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		exit.Stderr = errs.Bytes()
	}
	return out.Bytes(), err
}
