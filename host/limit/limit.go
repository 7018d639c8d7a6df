// Package limit has the limits on guests, in one table. Options, project files, flags, documents, and errors come from it.
package limit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
)

// Unit is the unit of a limit.
type Unit string

// The units of limits.
const (
	UnitCount Unit = "count"
	UnitBytes Unit = "bytes"
	UnitTime  Unit = "time" // nanoseconds
)

// Scope is the subject of a limit. Limits of calls, instances, and providers may differ between providers.
type Scope string

// The scopes of limits.
const (
	ScopeCall     Scope = "call"
	ScopeInstance Scope = "instance"
	ScopeProvider Scope = "provider"
	ScopeModule   Scope = "module"
	ScopeHost     Scope = "host"
	// ScopeProgram is the evaluation of a program in YAML, which is not a host's.
	ScopeProgram Scope = "program"
)

// Info describes a limit that can be set, or that is fixed.
type Info struct {
	// Name is unique and stable, for example answer-time.
	Name string
	// Limit is its name in errors. Calls that only ask may share the name with other calls.
	Limit Limit
	Unit  Unit
	Scope Scope
	// Default is in the unit.
	Default uint64
	// Option is the method that sets it, empty if it is fixed: WithLimit of host.Config, or Program.Limit.
	Option string

	// says is a sentence with a place for the limit.
	says string
	// methods says for which methods it is, nil for all.
	methods func(method abi.Method) bool
	// set is func(*Set, uint64), func(*Call) *uint64 for a limit that methods have, or nil if it is fixed.
	set any
}

// OfProvider reports whether providers may have different ones.
func (l Info) OfProvider() bool {
	return l.Option != "" && (l.Scope == ScopeCall || l.Scope == ScopeInstance || l.Scope == ScopeProvider)
}

// All returns the description of all limits.
func All() []Info { return slices.Clone(table) }

// Named returns the limit with that name.
func Named(name string) (Info, bool) {
	if i := slices.IndexFunc(table, func(l Info) bool { return l.Name == name }); i >= 0 {
		return table[i], true
	}
	return Info{}, false
}

// sizes are the units that bytes are written in, the largest first.
var sizes = []struct {
	suffix string
	bytes  uint64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Format writes a value of the limit as [Info.Parse] reads it.
func (l Info) Format(value uint64) string {
	switch l.Unit {
	case UnitTime:
		return duration(value).String()
	case UnitBytes:
		for _, s := range sizes {
			if value >= s.bytes && value%s.bytes == 0 {
				return strconv.FormatUint(value/s.bytes, 10) + " " + s.suffix
			}
		}
		return strconv.FormatUint(value, 10) + " bytes"
	}
	return strconv.FormatUint(value, 10)
}

// Parse reads a value: 90s or 1h30m for a time, 512MiB or a number of bytes, another number for a count.
func (l Info) Parse(text string) (value uint64, err error) {
	switch l.Unit {
	case UnitTime:
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, errors.New("must be a time, such as 90s or 1h30m")
		}
		return uint64(d), nil
	case UnitBytes:
		factor, digits := uint64(1), strings.TrimSuffix(text, "bytes")
		for _, s := range sizes {
			if number, ok := strings.CutSuffix(text, s.suffix); ok {
				factor, digits = s.bytes, number
			}
		}
		value, err = strconv.ParseUint(strings.TrimSpace(digits), 10, 64)
		if err != nil || value == 0 || value > math.MaxInt64/factor {
			return 0, errors.New("must be a number of bytes or a size such as 512MiB")
		}
		return value * factor, nil
	}
	value, err = strconv.ParseUint(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || value == 0 || value > math.MaxInt64 {
		return 0, errors.New("must be a number of at least 1")
	}
	return value, nil
}

// ExceededError is a guest that would have taken more than it may. It is the cause of the *[abi.Error] of a
// call that it ended or refused.
type ExceededError struct {
	Limit Limit
	// Most is the limit: bytes, a count, or nanoseconds for times.
	Most uint64
	// Needed is how much it would have taken, 0 if that is not known.
	Needed uint64
	// Method is the call's method, by its WIT name, for limits that methods have; else empty.
	Method string
	// Advice says how to raise the limit; empty for the option.
	Advice string
}

// Error names the exceeded limit, and says how to raise it.
func (e *ExceededError) Error() string {
	info := e.Info()
	return fmt.Sprintf(info.says, info.Format(e.Most)) + "; " + e.HowToRaise()
}

// Info describes the limit.
func (e *ExceededError) Info() Info {
	for i := range table {
		if l := &table[i]; l.Limit == e.Limit && (l.methods == nil || l.methods(abi.Method(e.Method))) {
			return *l
		}
	}
	return Info{Name: string(e.Limit), Limit: e.Limit, says: "it has more than %s of " + string(e.Limit)}
}

// Option is the method that sets the limit, see [Info.Option].
func (e *ExceededError) Option() string { return e.Info().Option }

// leastMemory is the least limit of memory that is worth a try: see the table.
const leastMemory = 64 << 20

// Enough is the limit, doubled until it would have been enough as far as that is known.
func (e *ExceededError) Enough() uint64 {
	enough := max(1, e.Most)
	for enough *= 2; enough < e.Needed; {
		enough *= 2
	}
	if e.Limit == Memory {
		return max(enough, leastMemory)
	}
	return enough
}

// HowToRaise is the advice, or the option for programs that embed the host.
func (e *ExceededError) HowToRaise() string {
	option := e.Option()
	switch {
	case e.Advice != "":
		return e.Advice
	case option == "":
		return "the limit is fixed"
	}
	if option == setByLimit {
		option += "(" + e.Info().Name + ")"
	}
	return "the option " + option + " sets the limit"
}
