// Package memory reads the memory of processes from /proc, which Linux has.
package memory

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Resident returns the resident memory of a process in bytes.
func Resident(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kibibytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseUint(kibibytes, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("VmRSS of process %d: %w", pid, err)
	}
	return n << 10, nil
}
