//go:build unix

package processgroup

import (
	"os"
	"os/exec"
	"syscall"
)

// Own gives a command that is about to start a group of its own, so that the interrupts of the terminal do not reach it:
// whoever starts it passes them on.
func Own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Interrupt asks the processes of a group to end, as Ctrl-C does. leader is the process that was started.
func Interrupt(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGINT) } // it may have ended

// Kill ends the processes of a group.
func Kill(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) } // it may have ended
