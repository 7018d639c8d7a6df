//go:build unix

package cli

import (
	"os"
	"syscall"
)

// become replaces this process by another program with the same arguments.
func become(path string, environment []string) error {
	return syscall.Exec(path, append([]string{path}, os.Args[1:]...), environment)
}
