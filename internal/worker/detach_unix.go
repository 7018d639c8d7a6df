//go:build unix

package worker

import (
	"os/exec"
	"syscall"
)

// detach keeps the interrupts of the worker's terminal from a process: the worker passes its own on.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killAll kills a detached process, unless it has ended, and all that it has started.
func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
