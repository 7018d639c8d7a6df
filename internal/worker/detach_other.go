//go:build !unix

package worker

import "os/exec"

func detach(*exec.Cmd) {}

func killAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
