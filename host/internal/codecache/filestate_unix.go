//go:build linux || darwin

package codecache

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// stateOf returns a text that changes whenever a file is written or replaced, empty if there is none,
// and when it changed last. The kernel alone sets that time. Programs can set the time of the last
// modification.
func stateOf(info fs.FileInfo) (state string, changed time.Time) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return "", changed
	}
	changed = changeTime(sys)
	return fmt.Sprint(sys.Dev, sys.Ino, info.Size(), info.ModTime().UnixNano(), changed.UnixNano()), changed
}
