//go:build unix

package nativeprovider

import (
	"os/exec"
	"syscall"
)

const suffixed = false

// ignoreTerminal keeps the interrupts of the terminal from the process, which ends with husk.
func ignoreTerminal(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
