// Package confine takes from the process of a run all that it does not need, so that who gets out of the sandbox is still in a
// cell: files but a few, other processes, new programs, privileges, and most of the kernel. Only a worker for projects that are
// not trusted uses it.
//
// Landlock binds one thread, and the threads that it creates. So [Enter] binds its own and begins the program anew on it, which
// works with and without cgo, and binds all that the program ever does. [Seal] then adds the filter of system calls to all
// threads.
package confine

import (
	"fmt"
	"strings"
)

// Rules say which files a process keeps. All else can be neither opened nor changed, but for its times; its name and size can be
// asked for. A path that is not there is left out.
type Rules struct {
	// Read are files, and directories with all below them.
	Read []string `json:"read"`
	// Write are directories in which the process may do as it likes, but run programs, and devices that it may write.
	Write []string `json:"write"`
}

// MissingError says what of a confinement this machine cannot do.
type MissingError struct{ Missing []string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("this machine cannot confine a process: there is no %s", strings.Join(e.Missing, ", and no "))
}
