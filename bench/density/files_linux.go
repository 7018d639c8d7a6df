package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// filesInMemory is the size of the process's files in memory.
func filesInMemory(pid int) (float64, error) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	open, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	const block = 512 // bytes, the unit of stat(2)
	size := 0.0
	for _, entry := range open {
		target, err := os.Readlink(dir + entry.Name())
		if err != nil || !strings.HasPrefix(target, "/memfd:") {
			continue // closed since, or something else
		}
		var stat unix.Stat_t
		if unix.Stat(dir+entry.Name(), &stat) == nil {
			size += float64(stat.Blocks) * block
		}
	}
	return size, nil
}
