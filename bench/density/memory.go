package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/bench/internal/figures"
)

// memory is the memory of a process, in bytes.
type memory struct {
	// pss counts a page that several processes or mappings have in parts, private only pages
	// that nobody else has.
	pss, private float64
	// files are files in memory that the process holds open. Pages of them that it has
	// mapped are counted above, too.
	files float64
}

func memoryOf(pid int) (memory, error) {
	var m memory
	name := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	file, err := os.Open(name)
	if err != nil {
		return m, err
	}
	defer file.Close()
	found := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, rest, _ := strings.Cut(lines.Text(), ":")
		var to *float64
		switch key {
		case "Pss":
			to = &m.pss
		case "Private_Clean", "Private_Dirty":
			to = &m.private
		default:
			continue
		}
		kibibytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		if err != nil {
			return m, fmt.Errorf("%s: %w", name, err)
		}
		*to += kibibytes * 1024
		found++
	}
	if found != 3 {
		return m, fmt.Errorf("%s does not tell Pss, Private_Clean, and Private_Dirty", name)
	}
	m.files, err = filesInMemory(pid)
	return m, err
}

func (m memory) plus(o memory) memory {
	return memory{m.pss + o.pss, m.private + o.private, m.files + o.files}
}

func (m memory) less(o memory) memory {
	return memory{m.pss - o.pss, m.private - o.private, m.files - o.files}
}

func (m memory) over(n int) memory {
	return memory{m.pss / float64(n), m.private / float64(n), m.files / float64(n)}
}

// own is the most memory that would be free without the process: private pages, and the files.
func (m memory) own() float64 { return m.private + m.files }

func (m memory) report(name string) []figures.Figure {
	const kilobyte = 1000
	return []figures.Figure{
		figures.Of(name+", Pss", m.pss/kilobyte, "KB", 0),
		figures.Of(name+", private", m.private/kilobyte, "KB", 0),
		figures.Of(name+", files in memory", m.files/kilobyte, "KB", 0),
	}
}
