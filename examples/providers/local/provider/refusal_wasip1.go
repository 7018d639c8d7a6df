package provider

import (
	"errors"
	"syscall"
)

// isNotGranted reports whether a path is in no directory that was granted.
func isNotGranted(err error) bool { return errors.Is(err, syscall.ENOTCAPABLE) }
