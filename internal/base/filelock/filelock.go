// Package filelock takes exclusive locks of open files without waiting. A lock ends with its process on all
// systems that have such locks.
package filelock

import "errors"

// ErrHeld is the error if another holds the lock, also within the process.
var ErrHeld = errors.New("the lock is held")

// HeldSuffix ends the name of the lock file on other systems, which a crash leaves behind.
const HeldSuffix = ".held"
