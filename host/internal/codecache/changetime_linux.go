package codecache

import (
	"syscall"
	"time"
)

func changeTime(sys *syscall.Stat_t) time.Time { return time.Unix(sys.Ctim.Unix()) }
