package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
)

// shape says how the resources of a project depend on each other.
type shape string

const (
	flat  shape = "flat"  // not at all
	chain shape = "chain" // each on the one before
)

// write writes a project with so many resources.
func (s shape) write(dir, module string, size int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, "Husk.yaml"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	fmt.Fprintf(w, `name: bench
runtime: yaml
plugins:
  providers:
    - name: random
      path: %q
resources:
`, module)
	for i := range size {
		on := "nothing"
		if s == chain && i > 0 {
			on = fmt.Sprintf("${pet%d.id}", i-1)
		}
		fmt.Fprintf(w, `  pet%d:
    type: random:RandomPet
    properties:
      length: 3
      prefix: prefix-%[1]d
      keepers: {of: %q}
`, i, on)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}
