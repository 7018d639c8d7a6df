// Package filelock takes exclusive locks of open files without waiting. A lock ends with its
// process on all systems that have such locks.
package filelock

import "errors"

// ErrHeld says that another holds the lock of a file, also within the process.
var ErrHeld = errors.New("the lock is held")

// HeldSuffix ends the name of the file that is the lock on other systems. After a crash the file
// stays until somebody removes it.
const HeldSuffix = ".held"
