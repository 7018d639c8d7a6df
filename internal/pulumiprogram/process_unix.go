//go:build unix

package pulumiprogram

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup keeps the interrupts of the terminal from the program: husk passes them on.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGINT) } // it may have ended

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // it may have ended
