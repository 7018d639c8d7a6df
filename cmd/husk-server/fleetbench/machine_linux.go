package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processorTime returns the processor time of this process, and of its children that have ended.
func processorTime() (own, children time.Duration) {
	of := func(who int) time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			return 0
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return of(syscall.RUSAGE_SELF), of(syscall.RUSAGE_CHILDREN)
}

// watch looks at the memory of this process and all below it until the context is done. peak is the most memory, in bytes,
// outside of files.
func watch(ctx context.Context) (peak *int64, done <-chan struct{}) {
	peak = new(int64)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			*peak = max(*peak, treeMemory())
			select {
			case <-ctx.Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return peak, over
}

func treeMemory() (sum int64) {
	parents, memory := map[int]int{}, map[int]int64{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + entry.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			value, _ := strconv.ParseInt(fields[1], 10, 64)
			switch fields[0] {
			case "PPid:":
				parents[pid] = int(value)
			case "RssAnon:", "RssShmem:":
				memory[pid] += value << 10
			}
		}
	}
	for pid, bytes := range memory {
		for at := pid; at > 1; at = parents[at] {
			if at == os.Getpid() {
				sum += bytes
				break
			}
		}
	}
	return sum
}
