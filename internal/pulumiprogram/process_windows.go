package pulumiprogram

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup keeps the interrupts of the terminal from the program: husk passes them on.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interruptGroup ends the program: a process cannot interrupt another.
func interruptGroup(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() } // it may have ended
