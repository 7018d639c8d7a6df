package main

import (
	"bytes"
	"fmt"
	"go/format"
)

// source is a Go file being written.
type source struct {
	buf bytes.Buffer
	err error // the first thing that could not be expressed
}

// f writes a line.
func (s *source) f(text string, args ...any) {
	fmt.Fprintf(&s.buf, text+"\n", args...)
}

// header begins the file.
func (s *source) header(pkg string, imports ...string) {
	s.f("// Code generated from wit/ by witgen. DO NOT EDIT.\n")
	s.f("package %s\n", pkg)
	if len(imports) > 0 {
		s.f("import (")
		for _, path := range imports {
			if path == "" {
				s.f("")
				continue
			}
			s.f("%q", path)
		}
		s.f(")\n")
	}
}

// fail records what could not be expressed; the first failure is reported.
func (s *source) fail(text string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(text, args...)
	}
}

func (s *source) format() ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	out, err := format.Source(s.buf.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w in:\n%s", err, s.buf.Bytes())
	}
	return out, nil
}
