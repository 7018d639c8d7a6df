//go:build !unix

package wasi

import (
	"os"
	"time"
)

const openNonblock = 0

func setFileTimes(*os.File, time.Time, time.Time) error { return errNotsup }
