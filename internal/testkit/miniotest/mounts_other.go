//go:build !linux

package miniotest

import "os/exec"

// ownMounts has a command fail to start, because its mounts would be everybody's.
func ownMounts(cmd *exec.Cmd) { cmd.Path = "" }
