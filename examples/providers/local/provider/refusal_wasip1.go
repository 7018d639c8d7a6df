package provider

import (
	"errors"
	"syscall"
)

func isNotGranted(err error) bool { return errors.Is(err, syscall.ENOTCAPABLE) }
