package wasmfile

import "fmt"

// Limits has the largest counts of a module's parts.
type Limits struct {
	// Types is the number of function types; Values is the number of parameters and results of one of them.
	Types, Values int
	// Imports and Exports count all kinds.
	Imports, Exports int
	// Functions, Tables and Globals count the ones that the module defines.
	Functions, Tables, Globals int
	// TableElements is how many elements all tables have at the start.
	TableElements int
	// Segments is the number of data segments, and the number of element segments.
	Segments int
	// Customs is the number of custom sections.
	Customs int
	// Name is the length of a name of an import, export, or custom section in bytes.
	Name int
	// Names is how many names the name section has, for stack traces.
	Names int
	// Body is the code of one function in bytes.
	Body int
	// Locals is the number of local variables of one function, without parameters.
	Locals int
	// Nesting is how deep blocks of a function lie in each other.
	Nesting int
	// Branches is the number of blocks and branches of one function, Loops the number of its loops, and Targets the number of
	// labels of all its br_tables. The compiler's time grows with the square of the first two, and nothing interrupts it within a
	// function.
	Branches, Loops, Targets int
	// Merges is the number of branches of one function times the number of its parameters and local variables: each may have
	// another value on each of the ways that meet.
	Merges int
}

// DefaultLimits leave room above the largest known modules. Go's own compiler, a module of 49 MB,
// has 20,000 functions of at most 670 KB, as many table elements, and 100,000 data segments, the
// most that Go's linker makes. Its blocks are 7,700 deep, because Go makes one for each place where
// a function may resume, a br_table has 12,000 labels, and with the branches these are 15,500, which
// take wazero a second; 11 at the limit. A provider with Pulumi's SDK, a module of 68 MB, has 21,200
// blocks inside of each other, 51,000 branches, and 30,000 labels; the provider of Consul has 60,800
// branches. C++ and Rust make more and smaller functions with more locals. At the limit on both
// together, wazero takes a minute or two.
func DefaultLimits() Limits {
	return Limits{
		Types: 10_000, Values: 1_000,
		Imports: 1_000, Exports: 10_000,
		Functions: 500_000, Tables: 16, Globals: 10_000,
		TableElements: 1_000_000,
		Segments:      200_000,
		Customs:       1_000,
		Name:          10_000,
		Names:         1_000_000,
		Body:          4 << 20,
		Locals:        10_000,
		Nesting:       30_000,
		Branches:      70_000,
		Loops:         1_000,
		Targets:       50_000,
		Merges:        25_000_000,
	}
}

// LimitError is a module that exceeds a limit.
type LimitError struct {
	// What names the counted things, in plural.
	What string
	// Count is how many the module has, Limit how many it may have.
	Count, Limit uint64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the module has %d %s, the limit is %d", e.Count, e.What, e.Limit)
}

// Field returns the field of [Limits] that has the limit, or "".
func (e *LimitError) Field() string { return fields[e.What] }

// fields are the fields of Limits, by the words of the error.
var fields = map[string]string{
	"types":                                    "Types",
	"parameters or results of one function":    "Values",
	"imports":                                  "Imports",
	"exports":                                  "Exports",
	"functions":                                "Functions",
	"tables":                                   "Tables",
	"global variables":                         "Globals",
	"elements in its tables":                   "TableElements",
	"elements in one segment":                  "TableElements",
	"element segments":                         "Segments",
	"data segments":                            "Segments",
	"custom sections":                          "Customs",
	"bytes in one name":                        "Name",
	"names":                                    "Names",
	"bytes of code in one function":            "Body",
	"local variables in one function":          "Locals",
	"blocks inside of each other":              "Nesting",
	"blocks and branches in one function":      "Branches",
	"loops in one function":                    "Loops",
	"labels of jumps in one function":          "Targets",
	"branches times variables in one function": "Merges",
}

// UnsupportedError is a module that uses more than WebAssembly 2.0.
type UnsupportedError struct {
	// Offset is where in the file, in bytes.
	Offset int
	// What is the feature, or the opcode if its feature is unknown.
	What string
	// Proposal is the name of the feature's proposal, and Instead what to do about it. Both are
	// empty for an unknown feature.
	Proposal, Instead string
}

func (e *UnsupportedError) Error() string {
	if e.Proposal == "" {
		return fmt.Sprintf("the module uses %s at offset %d, which is not supported: build it for WebAssembly 2.0 without extensions", e.What, e.Offset)
	}
	return fmt.Sprintf("the module uses %s (the WebAssembly proposal %s) at offset %d, which is not supported: %s", e.What, e.Proposal, e.Offset, e.Instead)
}
