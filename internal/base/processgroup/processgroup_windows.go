package processgroup

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Own gives a command that is about to start a group of its own, so that the interrupts of the terminal do not reach it:
// whoever starts it passes them on.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Interrupt ends the processes of a group: a process cannot interrupt another.
func Interrupt(leader *os.Process) { Kill(leader) }

// Kill ends a process and its children.
func Kill(leader *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(leader.Pid)).Run() // it may have ended
	_ = leader.Kill()
}
