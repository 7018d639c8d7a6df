package nativeprovider

import (
	"os/exec"
	"syscall"
)

const suffixed = true

// ignoreTerminal keeps the interrupts of the terminal from the process, which ends with husk.
func ignoreTerminal(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
