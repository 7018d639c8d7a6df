// Command plot draws charts of what the benchmarks measured: of the files that they wrote
// with -json, which have their names. It leaves out what a file does not tell.
//
//	go run ./bench/start -json > start.json
//	go run ./bench/plot [-o docs/charts] start.json [call.json density.json deployment.json growth.json]
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/bench/internal/figures"
)

func main() {
	dir := flag.String("o", filepath.Join("docs", "charts"), "directory for the charts")
	flag.Parse()
	if err := run(*dir, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "plot: %v\n", err)
		os.Exit(1)
	}
}

func run(dir string, files []string) error {
	if len(files) == 0 {
		return fmt.Errorf("name the files that benchmarks wrote with -json")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		measured, err := read(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all, err := charts(strings.TrimSuffix(filepath.Base(file), ".json"), measured)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, c := range all {
			var svg bytes.Buffer
			if err := c.draw(&svg); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, c.file+".svg"), svg.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns the figures of a file by their names.
func read(file string) (measurement, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var report struct{ Figures []figures.Figure }
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	m := measurement{}
	for _, f := range report.Figures {
		m[f.Name] = f
	}
	return m, nil
}

// measurement is the figures of a file by their names.
type measurement map[string]figures.Figure
