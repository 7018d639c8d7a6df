// Package figures prints what benchmarks have measured.
package figures

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Figure is one number of a report.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Goal is the largest value that is wanted; 0 where nothing is asked.
	Goal float64 `json:"goal"`
	Met  bool    `json:"met"`
}

// Of makes a figure. A goal of 0 is always met.
func Of(name string, value float64, unit string, goal float64) Figure {
	return Figure{name, value, unit, goal, goal == 0 || value <= goal}
}

// Print writes the figures, as a table or as JSON.
func Print(w io.Writer, all []Figure, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]any{"figures": all})
	}
	width := 0
	for _, f := range all {
		width = max(width, len(f.Name))
	}
	for _, f := range all {
		goal := ""
		if f.Goal > 0 {
			goal = fmt.Sprintf("  goal %g, met: %t", f.Goal, f.Met)
		}
		if _, err := fmt.Fprintf(w, "%-*s %10.2f %s%s\n", width, f.Name, f.Value, f.Unit, goal); err != nil {
			return err
		}
	}
	return nil
}

// Median is the middle one of some times.
func Median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}

// Micros is a time in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
