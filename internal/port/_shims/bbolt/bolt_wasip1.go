package bbolt

import (
	"errors"
	"time"
)

const (
	maxMapSize   = 0x7FFFFFFF
	maxAllocSize = 0xFFFFFFF
)

var errNoMapping = errors.New("bbolt maps its file into memory, which WebAssembly cannot")

func flock(*DB, bool, time.Duration) error { return errNoMapping }
func funlock(*DB) error                    { return nil }
func mmap(*DB, int) error                  { return errNoMapping }
func munmap(*DB) error                     { return nil }
func mlock(*DB, int) error                 { return errNoMapping }
func munlock(*DB, int) error               { return nil }
