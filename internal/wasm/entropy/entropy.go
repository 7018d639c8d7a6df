// Package entropy makes a module of Go count its runtime's own reads of the clock and draws of the
// random generator. With the totals of both, the host then knows whether the program itself made
// any: whether its memory depends on them.
//
// Go's runtime reads the clock at its start, at each garbage collection, and for its timers. It
// draws a number for each map, and for each loop over one. Programs see these only as the order of a
// map, which Go leaves open. A call is the runtime's own if it calls a function that hands on the clock or a number, from a
// function that keeps it. The functions are known by their names, which Go's linker puts into the data of each module.
//
// Counting errs on one side only. A call that is not recognized does not count, and then the numbers
// do not add up, as if the program had made it. That happens with an unknown runtime, and after a
// tool has moved code between functions. A module that lies about its names deceives only itself.
package entropy

import (
	"strings"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Version changes with the output of Rewrite. It is part of the key of each cached module.
const Version = 1

// Account has the globals by which a module counts. They are 0 at the start.
type Account struct {
	// Clock is the index of the global, of type i64, that counts the runtime's reads of the clock,
	// each before it is made.
	Clock int
	// Random is the index of the global, of type i64, that counts the words that the runtime draws
	// of its generator. Each call by which the program draws subtracts 1.
	Random int
	// Watched is the index of an i32 global. If not 0, such a call sets it to [Caught], and traps.
	Watched int
	// Words are the further generators of the runtime, for its own choices.
	Words []Word
}

// Caught is the value of the global Watched after a call that draws.
const Caught = 2

// MostWords bounds the words of an account.
const MostWords = 4

// Word is a number that the runtime draws once, and goes on from.
type Word struct {
	// Offset is counted from the end of the generator's seed. Both are in bytes.
	Offset, Size uint32
}

// clocks are the functions that hand on the clock, and generators the ones that hand on random numbers. Other runtimes than Go's
// have none of these names.
var (
	clocks = set("runtime.nanotime", "runtime.nanotime1", "runtime.walltime", "runtime.walltime1", "runtime.cputicks",
		"time.now", "time.runtimeNow", "time.runtimeNano", "internal/sync.runtime_nanotime")
	generators = set("runtime.rand", "runtime.rand32", "runtime.randn", "internal/runtime/maps.rand",
		"runtime.fastrand", "runtime.fastrandn", "runtime.fastrand64",
		"runtime.cheaprand", "runtime.cheaprandn", "runtime.cheaprand64")
)

const (
	readsClock = "runtime.clock_time_get"
	takesWord  = "runtime.rand"
	// seedsAll is the function that gives the runtime its generators.
	seedsAll = "runtime.mrandinit"
)

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

// keepsTime reports whether the time that a function reads stays in it. Package time keeps the times
// that it compares, and when timers are due.
func keepsTime(function string) bool {
	switch function {
	case "time.init", "time.when", "time.Sleep", "time.NewTimer", "time.NewTicker", "time.AfterFunc",
		"time.(*Timer).Reset", "time.(*Ticker).Reset":
		return true
	}
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/sync.")
}

// keepsNumbers reports whether the random numbers that a function draws stay in it, as the seeds of hash tables do. Maps on the
// stack draw their seeds in any function, see [code.seedsMap].
func keepsNumbers(function string) bool {
	for _, prefix := range []string{"runtime.", "internal/runtime/maps.", "internal/sync.(*HashTrieMap[", "unique.newCanonMap["} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// Go reports whether a module claims to be of Go's linker, be it changed since or not.
func Go(m *wasmfile.Module) bool {
	for _, c := range m.Customs {
		if c.Name == "go:buildid" {
			return true
		}
	}
	return false
}

// Rewrite returns a module that counts, and its account. They are nil if Go's linker has not made the
// module, or not in this form. The module must be valid.
func Rewrite(m *wasmfile.Module) (wasm []byte, account *Account) {
	names := readNames(m)
	if names == nil {
		return nil, nil
	}
	s := newSurvey(m, names)
	if len(s.sources) == 0 || len(m.Globals) == 0 {
		return nil, nil
	}
	s.look()
	return write(s)
}
