package pulumiplugin

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the interrupts of the terminal from the process, which ends with husk.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
