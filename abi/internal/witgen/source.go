package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
)

// source is the body of a Go file being written.
type source struct {
	bytes.Buffer
	err error // the first thing that could not be expressed
}

// f writes a line.
func (s *source) f(text string, args ...any) {
	fmt.Fprintf(s, text+"\n", args...)
}

// fail records what could not be expressed; the first failure is reported.
func (s *source) fail(text string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(text, args...)
	}
}

// packages that generated files import, in the order of import blocks.
var packages = []string{
	"context",
	"math",
	"github.com/husk-dev/husk/abi",
	"github.com/husk-dev/husk/abi/canon",
	"github.com/husk-dev/husk/abi/property",
	"github.com/husk-dev/husk/abi/urn",
	"github.com/husk-dev/husk/guest-sdk/internal/bindings",
}

// file returns the file with its header, formatted.
func (s *source) file(pkg, tag string) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	var out source
	out.f("// Code generated from wit/ by witgen. DO NOT EDIT.\n")
	if tag != "" {
		out.f("//go:build %s\n", tag)
	}
	out.f("package %s\n", pkg)
	var std, own []string
	for _, path := range packages {
		switch name := path[strings.LastIndex(path, "/")+1:]; {
		case !bytes.Contains(s.Bytes(), []byte(name+".")):
		case strings.Contains(path, "."):
			own = append(own, path)
		default:
			std = append(std, path)
		}
	}
	switch {
	case len(std)+len(own) == 1:
		out.f("import %q\n", append(std, own...)[0])
	case len(std)+len(own) > 0:
		out.f("import (")
		for _, path := range std {
			out.f("%q", path)
		}
		if len(std) > 0 {
			out.f("")
		}
		for _, path := range own {
			out.f("%q", path)
		}
		out.f(")\n")
	}
	out.Write(s.Bytes())
	text, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w in:\n%s", err, out.Bytes())
	}
	return text, nil
}
