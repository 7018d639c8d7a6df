package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// MaxFileSize bounds a file, in bytes. A program of 10,000 resources has about 2 MiB.
const MaxFileSize = 8 << 20

// Position is a place in a file, counted from 1, columns in characters. Zero is the whole file.
type Position struct {
	Line, Column int
}

// File is the text of one file. It is safe for concurrent use.
type File struct {
	// Name is the file's name as messages show it.
	Name  string
	lines []string

	mu     sync.Mutex
	hidden map[int]bool
	// foreign says that the file is not the project's own.
	foreign bool
	// root is the parsed text, nil before.
	root *yaml.Node
	// marks are where expressions begin in the texts that have any; nil until somebody asks.
	marks map[*yaml.Node][]Position
}

// NewFile returns a file of the text.
func NewFile(name string, text []byte) *File {
	return &File{Name: name, lines: strings.Split(string(text), "\n")}
}

// NewForeignFile returns a file of a text that is not in the directory of the project. Diagnostics tell its places, and do not
// quote it: somebody else than the user may have named it, and its text may be confidential.
func NewForeignFile(name string, text []byte) *File {
	f := NewFile(name, text)
	f.foreign = true
	return f
}

// Read reads a file that the user of the command named, of at most [MaxFileSize] bytes. [projectroot.Root] opens the files that a
// project names.
//
// [projectroot.Root]: https://pkg.go.dev/github.com/husk-dev/husk/engine/projectroot#Root
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFileSize {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, MaxFileSize>>20)
	}
	return data, nil
}

// Line returns the text of a line, without its end, and whether there is one.
func (f *File) Line(n int) (string, bool) {
	if n < 1 || n > len(f.lines) {
		return "", false
	}
	return strings.TrimSuffix(f.lines[n-1], "\r"), true
}

// Hide keeps the lines of a key and its value, a secret in plain text, out of diagnostics.
func (f *File) Hide(key *yaml.Node) {
	text, ok := f.Line(key.Line)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hidden[key.Line] {
		return // and so is everything below
	}
	if f.hidden == nil {
		f.hidden = map[int]bool{}
	}
	f.hidden[key.Line] = true
	indent := indentation(text)
	for line := key.Line + 1; ; line++ {
		text, ok := f.Line(line)
		if !ok || (strings.TrimSpace(text) != "" && indentation(text) <= indent) {
			return
		}
		f.hidden[line] = true
	}
}

// shown returns the text of a line that may be shown.
func (f *File) shown(line int) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.foreign || f.hidden[line] {
		return "", false
	}
	return f.Line(line)
}

func indentation(text string) int {
	return len(text) - len(strings.TrimLeft(text, " "))
}

// Of returns the position of a node.
func Of(n *yaml.Node) Position {
	if n == nil {
		return Position{}
	}
	return Position{n.Line, n.Column}
}

// ErrEmpty is the error of [Parse] for a file without content.
var ErrEmpty = errors.New("the file is empty")
