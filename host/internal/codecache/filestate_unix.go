//go:build linux || darwin

package codecache

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// stateOf tells what changes whenever a file is written or replaced, empty where there is no
// telling, and when it changed for the last time. That is set by the kernel alone, unlike the
// time of the last modification, which programs set as they like.
func stateOf(info fs.FileInfo) (state string, changed time.Time) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return "", changed
	}
	changed = changeTime(sys)
	return fmt.Sprint(sys.Dev, sys.Ino, info.Size(), info.ModTime().UnixNano(), changed.UnixNano()), changed
}
