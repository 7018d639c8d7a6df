package host

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/husk-dev/husk/abi"
)

// callLimits is what one call may take. A limit of 0 is not set.
type callLimits struct {
	timeout                      time.Duration
	fuel, hostCalls, randomBytes uint64
}

// methodStart is the start of an instance, which is limited like a method that asks. It is
// part of the call for which the instance is started.
const methodStart abi.Method = "start"

// Limits for all methods of a kind are kept under these names, which no method has.
const (
	groupWorks abi.Method = "(those that work on resources)"
	groupAsks  abi.Method = "(those that only ask)"
)

// onlyAsks reports whether a method computes an answer, and does not work on resources.
func onlyAsks(method abi.Method) bool {
	return method == methodStart || method.Kind() == abi.KindAsks
}

// WithCallTimeout bounds the time of calls of these methods, by their WIT names, or
// start for the start of an instance; without a name, of all methods. The guest learns
// that its time is over as if it were cancelled, and is ended after the grace. The error
// has the kind crashed, as what became of the guest's work is not known, and the origin
// policy. See [DefaultCallTimeout] and [DefaultAnswerTimeout].
func (c Config) WithCallTimeout(timeout time.Duration, methods ...string) Config {
	return c.withCalls(methods, func(l *callLimits) { l.timeout = timeout })
}

// WithFuel bounds the work of a call of these methods, as WithCallTimeout does its time;
// the guest is ended at once. The same call uses the same fuel on every machine. See
// [DefaultFuel].
func (c Config) WithFuel(units uint64, methods ...string) Config {
	return c.withCalls(methods, func(l *callLimits) { l.fuel = units })
}

// WithHostCalls bounds how often the guest calls the host in a call of these methods, as
// WithFuel does its work. See [DefaultHostCalls] and [DefaultAnswerHostCalls].
func (c Config) WithHostCalls(calls uint64, methods ...string) Config {
	return c.withCalls(methods, func(l *callLimits) { l.hostCalls = calls })
}

// WithRandomBytes bounds the random bytes that the guest takes in a call of these methods.
// See [DefaultRandomBytes].
func (c Config) WithRandomBytes(bytes uint64, methods ...string) Config {
	return c.withCalls(methods, func(l *callLimits) { l.randomBytes = bytes })
}

func (c Config) withCalls(methods []string, set func(*callLimits)) Config {
	if len(methods) == 0 {
		methods = []string{""}
	}
	for _, method := range methods {
		c = c.withCallsOf(abi.Method(method), set)
	}
	return c
}

// withCallsOf sets limits of a method, or of a group of methods.
func (c Config) withCallsOf(method abi.Method, set func(*callLimits)) Config {
	calls := maps.Clone(c.calls)
	if calls == nil {
		calls = make(map[abi.Method]callLimits)
	}
	change := func(method abi.Method) {
		l := calls[method]
		set(&l)
		calls[method] = l
	}
	for part := range calls {
		if isPart(part, method) {
			change(part)
		}
	}
	change(method)
	c.calls = calls
	return c
}

// isPart reports whether a limit for the whole is one for the part as well: all methods, those
// of a kind, and a method.
func isPart(part, whole abi.Method) bool {
	switch {
	case whole == "":
		return true
	case part == "" || part == groupWorks || part == groupAsks || part == abi.MethodCancel:
		return false // to hear of a cancellation has a time of its own
	}
	return whole == groupAsks && onlyAsks(part) || whole == groupWorks && !onlyAsks(part)
}

// limitsOf returns the limits of a method, all of them set.
func (c *Config) limitsOf(method abi.Method) callLimits {
	l, group := callLimits{DefaultCallTimeout, DefaultFuel, DefaultHostCalls, DefaultRandomBytes}, groupWorks
	if onlyAsks(method) {
		l.timeout, l.hostCalls, group = DefaultAnswerTimeout, DefaultAnswerHostCalls, groupAsks
	}
	if method == abi.MethodCancel {
		l.timeout = DefaultCancelTime
	}
	if c.calls == nil {
		return l
	}
	ofGroup := c.calls[group]
	if method == abi.MethodCancel {
		ofGroup.timeout = 0
	}
	for _, set := range [...]callLimits{c.calls[""], ofGroup, c.calls[method]} {
		if set.timeout > 0 {
			l.timeout = set.timeout
		}
		l.fuel = cmp.Or(set.fuel, l.fuel)
		l.hostCalls = cmp.Or(set.hostCalls, l.hostCalls)
		l.randomBytes = cmp.Or(set.randomBytes, l.randomBytes)
	}
	return l
}

// checkMethods reports a limit for a method that there is not: a name with a mistake in it
// would be no limit.
func (c *Config) checkMethods() error {
	for _, method := range slices.Sorted(maps.Keys(c.calls)) {
		switch method {
		case "", groupWorks, groupAsks, methodStart:
			continue
		}
		if method.Kind() == 0 {
			return fmt.Errorf("a limit is set for the method %q, which there is not", method)
		}
	}
	return nil
}
