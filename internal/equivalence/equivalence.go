// Package equivalence proves that a module with rewritten functions does what it did before. It is a
// translation validator: it reads both modules, knows nothing of the rewriter, and shares no code
// with it but the reader of the binary format. What it accepts is right for every input, memory, and
// import. It refuses what it cannot follow.
//
// # What may differ
//
// The rewritten module has the functions of the original and, after them, copies of some. A
// rewritten function has a parameter of type i32. If that is not 0, it continues with a copy of the
// original function:
//
//	local.get 0
//	if
//	  local.get 0
//	  call copy
//	  return
//	end
//	…
//
// Everything else is the same byte by byte, except for the names in stack traces. Check itself finds
// the rewritten functions and the copies.
//
// # What is proven
//
// For a parameter of 0, both functions run side by side with symbols in place of numbers, see
// [walk]. Each effect of one must be the next effect of the other, with equal operands: a call, an
// access to memory, a global, or a table, a possible trap, a change of a local variable, a branch on
// a condition, and the end. Only the results have to agree of what lies between: branches without a
// condition, changes of the parameter, and arithmetic.
//
// Two differences remain: the fuel that is used, and the depth of the stack, by one frame, if a
// function continues with its copy.
package equivalence

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/wasmfile"
)

// Version changes with what [Check] accepts, so that no proof of another version counts.
const Version = "1"

// Check proves that a module does what the original does. unproven lists the functions that differ
// without a proof, and the error is a difference elsewhere. Both modules must have been read without
// an error.
func Check(original, rewritten *wasmfile.Module) (unproven []int, err error) {
	if err := sections(original, rewritten); err != nil {
		return nil, err
	}
	c := &checker{original: original, rewritten: rewritten}
	for i := range original.Bodies {
		if !bytes.Equal(body(original, i), body(rewritten, i)) && !c.same(i) {
			unproven = append(unproven, original.ImportedFunctions+i)
		}
	}
	return unproven, nil
}

// body returns the i-th function that a module defines, with its local variables.
func body(m *wasmfile.Module, i int) []byte {
	b := m.Bodies[i]
	return m.Bytes(b.Start, b.End)
}

var errSections = errors.New("the modules do not have the same sections")

// sections compares everything but code.
func sections(original, rewritten *wasmfile.Module) error {
	if len(original.Sections) != len(rewritten.Sections) || len(original.Bodies) > len(rewritten.Bodies) {
		return errSections
	}
	for n, s := range original.Sections {
		t := rewritten.Sections[n]
		if s.ID != t.ID {
			return errSections
		}
		before, after := original.Bytes(s.Items, s.End), rewritten.Bytes(t.Items, t.End)
		same := s.Count == t.Count && bytes.Equal(before, after)
		switch s.ID {
		case wasmfile.SectionCode: // compared by function
			same = true
		case wasmfile.SectionFunction:
			same = bytes.HasPrefix(after, before)
		case wasmfile.SectionCustom:
			custom, other := original.Customs[s.Custom], rewritten.Customs[t.Custom]
			same = custom.Name == other.Name && (same || custom.Name == wasmfile.NameSection)
		}
		if !same {
			return fmt.Errorf("the %s sections of the modules differ", wasmfile.SectionName(s.ID))
		}
	}
	return nil
}

// checker holds the two modules, and the memory that each function uses again.
type checker struct {
	original, rewritten *wasmfile.Module
	before, after       function
	walk                walk
}

// headLength is the number of instructions before the code for a parameter of 0.
const headLength = 6

// same reports whether the i-th functions of the modules were proven equal.
func (c *checker) same(i int) bool {
	t := c.original.Types[c.original.Functions[c.original.ImportedFunctions+i]]
	if len(t.Params) != 1 || t.Params[0] != api.ValueTypeI32 {
		return false
	}
	old, now := c.original.Bodies[i], c.rewritten.Bodies[i]
	if !bytes.Equal(c.original.Bytes(old.Start, old.Code), c.rewritten.Bytes(now.Start, now.Code)) {
		return false // they have other local variables
	}
	return c.before.read(c.original, i) && c.after.read(c.rewritten, i) &&
		c.goesOn(i) && c.walk.run(&c.before, &c.after, headLength)
}

// goesOn reports whether a rewritten function continues with a copy if its parameter is not 0.
func (c *checker) goesOn(i int) bool {
	head := c.after.code
	if len(head) < headLength {
		return false
	}
	for n, op := range [headLength]wasmfile.Opcode{
		wasmfile.OpLocalGet, wasmfile.OpIf, wasmfile.OpLocalGet, wasmfile.OpCall, wasmfile.OpReturn, wasmfile.OpEnd,
	} {
		if head[n].op != op {
			return false
		}
	}
	copied := int(head[3].index) - c.rewritten.ImportedFunctions
	return head[0].index == 0 && head[2].index == 0 && copied >= len(c.original.Bodies) &&
		c.original.Functions[c.original.ImportedFunctions+i] == c.rewritten.Functions[head[3].index] &&
		bytes.Equal(body(c.original, i), body(c.rewritten, copied))
}
