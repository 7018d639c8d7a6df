//go:build !linux || (!amd64 && !arm64)

package codecache

import (
	"errors"
	"os"
)

func mapText(*os.File, int, []byte) (bool, error) { return false, errors.ErrUnsupported }

func keepsMapped(string) bool { return false }

func canMapText(*os.File) bool { return false }
