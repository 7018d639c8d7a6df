package linuxcalls

import (
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"
)

// WebAssembly has a system and a processor, and is like another one: sizes and the order of bytes are the same.
const system, processor, like = "wasip1", "wasm", "amd64"

//go:embed source.go library.go unix.go choose.go
var own embed.FS

// Revision identifies what this package does to a directory.
func Revision() (string, error) {
	return dirhash.Hash1([]string{"source.go", "library.go", "unix.go", "choose.go"}, func(name string) (io.ReadCloser, error) { return own.Open(name) })
}

// choice is the difference between the files of a package for WebAssembly and for Linux.
type choice struct{ gained, lost []string }

// choiceOf compares the files in a directory. Those for Linux are for the processor that WebAssembly is like, unless some of them
// are assembly.
func choiceOf(dir string) (c choice, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return c, err
	}
	linux := like
	for _, e := range entries {
		if assembly, err := Matches(dir, e.Name(), "linux", like); err != nil {
			return c, err
		} else if assembly && strings.HasSuffix(e.Name(), ".s") {
			linux = processor
		}
	}
	for name := range goFiles(entries) {
		now, err := Matches(dir, name, system, processor)
		if err != nil {
			return c, err
		}
		then, err := Matches(dir, name, "linux", linux)
		switch {
		case err != nil:
			return c, err
		case then && !now:
			c.gained = append(c.gained, name)
		case now && !then:
			c.lost = append(c.lost, name)
		}
	}
	return c, nil
}

// Differs reports whether the package in a directory has other files for Linux than for WebAssembly.
func Differs(dir string) (bool, error) {
	c, err := choiceOf(dir)
	return len(c.gained)+len(c.lost) > 0, err
}

// buildLine is a build constraint.
var buildLine = regexp.MustCompile(`(?m)^//go:build .*$`)

// Choose has the package in a directory consist of its files for Linux.
func Choose(dir string) error {
	c, err := choiceOf(dir)
	if err != nil {
		return err
	}
	for _, name := range c.lost {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, name := range c.gained {
		if err := give(dir, name); err != nil {
			return fmt.Errorf("changing %s: %w", name, err)
		}
	}
	return nil
}

// give has a file build for WebAssembly alone, with a name that says nothing else.
func give(dir, name string) error {
	file := filepath.Join(dir, name)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := "//go:build " + system + "\n\n" + string(data)
	if at := buildLine.FindIndex(data); at != nil {
		text = string(data[:at[0]]) + "//go:build " + system + string(data[at[1]:])
	}
	if err := os.Remove(file); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, strings.TrimSuffix(name, ".go")+"_husk.go"), []byte(text), 0o644)
}
