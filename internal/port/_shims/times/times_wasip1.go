package times

import (
	"os"
	"syscall"
	"time"
)

const (
	HasChangeTime = true
	HasBirthTime  = false
)

type timespec struct {
	atime
	mtime
	ctime
	nobtime
}

func getTimespec(fi os.FileInfo) (t timespec) {
	stat := fi.Sys().(*syscall.Stat_t)
	t.atime.v = time.Unix(0, int64(stat.Atime))
	t.mtime.v = time.Unix(0, int64(stat.Mtime))
	t.ctime.v = time.Unix(0, int64(stat.Ctime))
	return t
}
