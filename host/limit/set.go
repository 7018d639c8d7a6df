package limit

import (
	"fmt"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Settings are values of limits. A later one replaces earlier ones for the same methods; none is the default.
type Settings []setting

type setting struct {
	name  Limit
	limit Info
	// methods are the methods with the value; if empty, all that the limit is for.
	methods []string
	value   uint64
}

// With adds a value for a limit: for the methods that it is for, or, with names of methods, for these, whichever of the
// limit's names is theirs.
func (s Settings) With(name Limit, value uint64, methods ...string) Settings {
	l, _ := Named(string(name))
	if len(methods) > 0 {
		l.methods = nil
	}
	return append(slices.Clip(s), setting{name, l, methods, value})
}

// Check returns the error of a setting that is none: a name with a mistake in it would be no limit.
func (s Settings) Check() error {
	for _, set := range s {
		_, known := Named(string(set.name))
		_, ofCalls := set.limit.set.(func(*Call) *uint64)
		switch {
		case !known:
			return fmt.Errorf("there is no limit %q", set.name)
		case set.limit.Scope == ScopeProgram:
			return fmt.Errorf("the limit %q is of programs, and not of a host", set.name)
		case set.limit.set == nil:
			return fmt.Errorf("the limit %q is fixed", set.name)
		case set.value == 0:
			return fmt.Errorf("the limit %q cannot be 0", set.name)
		case len(set.methods) > 0 && !ofCalls:
			return fmt.Errorf("the limit %q is not of calls, and cannot be set for some methods", set.name)
		}
		for _, method := range set.methods {
			if m := abi.Method(method); m != MethodStart && m.Kind() == 0 {
				return fmt.Errorf("a limit is set for the method %q, which does not exist", method)
			}
		}
	}
	return nil
}

// Set has the value of each limit.
type Set struct {
	Memory, TotalMemory            uint64
	RequestBytes                   int
	AnswerBytes                    uint64
	OpenFiles, TotalOpenFiles      int
	WaitingCalls, Streams, Crashes int
	LogRate                        int
	TableElements                  uint32
	ModuleSize                     int
	CompileTime                    time.Duration

	module wasmfile.Limits
	// calls are the settings of limits that methods have.
	calls Settings
}

// Set returns the value of each limit.
func (s Settings) Set() (all Set) {
	for _, l := range table {
		if set, ok := l.set.(func(*Set, uint64)); ok {
			set(&all, l.Default)
		}
	}
	for _, setting := range s {
		if set, ok := setting.limit.set.(func(*Set, uint64)); ok {
			set(&all, setting.value)
		} else if setting.limit.set != nil {
			all.calls = append(all.calls, setting)
		}
	}
	return all
}

// Module returns the limits on a module's parts.
func (s *Set) Module() wasmfile.Limits { return s.module }

// Call is the budget of one call. Time is in nanoseconds.
type Call struct {
	Time, Fuel, HostCalls, RandomBytes uint64
}

// Timeout is the time of the call.
func (c *Call) Timeout() time.Duration { return duration(c.Time) }

// Call returns the limits of a call of a method.
func (s *Set) Call(method abi.Method) (c Call) {
	for _, l := range ofCalls {
		if l.isFor(method) {
			*l.set.(func(*Call) *uint64)(&c) = l.Default
		}
	}
	for i := range s.calls {
		set := &s.calls[i]
		if len(set.methods) > 0 && !slices.Contains(set.methods, string(method)) || !set.limit.isFor(method) {
			continue
		}
		*set.limit.set.(func(*Call) *uint64)(&c) = set.value
	}
	return c
}

// ofCalls are the limits that methods have.
var ofCalls = func() (rows []*Info) {
	for i := range table {
		if _, ok := table[i].set.(func(*Call) *uint64); ok {
			rows = append(rows, &table[i])
		}
	}
	return rows
}()

// isFor reports whether a limit that methods have is one of the method's.
func (l *Info) isFor(method abi.Method) bool { return l.methods == nil || l.methods(method) }
