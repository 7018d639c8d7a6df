package telemetry

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ofSystem returns Linux's figures of this process. Unknown ones have no metric.
func ofSystem() (all []Metric) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err == nil {
		all = append(all, Metric{
			Name: "process.cpu.time", Unit: "s", About: "Processor time, by mode.", Kind: Counter, Labels: []string{"cpu.mode"},
			Points: []Point{{Labels: []string{"system"}, Number: seconds(used.Stime)}, {Labels: []string{"user"}, Number: seconds(used.Utime)}},
		})
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 1 {
			if pages, err := strconv.Atoi(string(fields[1])); err == nil {
				all = append(all, Metric{Name: "process.memory.usage", Unit: "By", About: "Memory that is resident.", Points: One(pages * os.Getpagesize())})
			}
		}
	}
	var limit syscall.Rlimit
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil && syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		all = append(all,
			Metric{Name: "process.unix.file_descriptor.count", Unit: "{file_descriptor}", About: "Open files and connections.", Points: One(len(entries))},
			Metric{Name: "husk.process.file_descriptor.limit", Unit: "{file_descriptor}", About: "The most that can be open.", Points: One(limit.Cur)})
	}
	return all
}

func seconds(t syscall.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }
