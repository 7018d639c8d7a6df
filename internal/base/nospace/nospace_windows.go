package nospace

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Is reports whether an error says that the disk or the user's quota is full.
func Is(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
