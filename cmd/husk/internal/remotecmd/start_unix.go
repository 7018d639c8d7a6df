//go:build unix

package remotecmd

import (
	"os"
	"syscall"
)

// start has the server take the place of this process, so that what ends or interrupts this one reaches it.
func (a commands) start(path string, args []string) error {
	return os.NewSyscallError("starting "+path, syscall.Exec(path, append([]string{path}, args...), os.Environ()))
}
