package host

import (
	"fmt"

	"github.com/husk-dev/husk/abi"
)

// Limit names what a guest can have too much of. The names are stable.
type Limit string

// The limits that end a call, refuse one, or refuse a module.
const (
	LimitTime          Limit = "time"
	LimitFuel          Limit = "fuel"
	LimitHostCalls     Limit = "host-calls"
	LimitRandom        Limit = "random-bytes"
	LimitMemory        Limit = "memory"
	LimitTotalMemory   Limit = "total-memory"
	LimitTableElements Limit = "table-elements"
	LimitOpenFiles     Limit = "open-files"
	LimitTotalFiles    Limit = "total-open-files"
	LimitStack         Limit = "stack"
	LimitStackDepth    Limit = "stack-depth" // in the interpreter
	LimitRequest       Limit = "request-bytes"
	LimitAnswer        Limit = "answer-bytes"
	LimitWaitingCalls  Limit = "waiting-calls"
	LimitStreams       Limit = "streams"
	LimitLogRate       Limit = "log-rate"
	LimitCrashes       Limit = "crashes"
	LimitModuleSize    Limit = "module-size"
	LimitCompileTime   Limit = "compile-time"
)

// ExceededError is a guest that would have taken more than it may. Where it ended or
// refused a call, it is the cause of the call's *[abi.Error], so that errors.As finds it.
type ExceededError struct {
	Limit Limit
	// Most is the limit: bytes, a count, or nanoseconds for those of time.
	Most uint64
	// Needed is how much it would have taken, 0 where that is not known.
	Needed uint64
	// Method is that of the call, by its WIT name, for limits that methods have; else empty.
	Method string
	// Advice says how to raise the limit, see [Config.WithAdvice]; empty for the option.
	Advice string
}

// Error says what there was too much of, and how to raise the limit.
func (e *ExceededError) Error() string {
	info := e.Info()
	text := fmt.Sprintf(info.says, info.Format(e.Most))
	if advice := e.advice(); advice != "" {
		text += "; " + advice
	}
	return text
}

// Info describes the limit.
func (e *ExceededError) Info() LimitInfo {
	for i := range limitTable {
		if l := &limitTable[i]; l.Limit == e.Limit && (l.methods == nil || l.methods(abi.Method(e.Method))) {
			return *l
		}
	}
	return LimitInfo{Name: string(e.Limit), Limit: e.Limit, says: "it has more than %s of " + string(e.Limit)}
}

// Option is the method of [Config] that sets the limit, empty where none does.
func (e *ExceededError) Option() string { return e.Info().Option }

// Enough is the limit, doubled until it would have been enough as far as that is known.
func (e *ExceededError) Enough() uint64 {
	enough := max(1, e.Most)
	for enough *= 2; enough < e.Needed; {
		enough *= 2
	}
	return enough
}

// advice is what can be done about it, for who embeds the host where nobody else was told.
func (e *ExceededError) advice() string {
	option := e.Option()
	switch {
	case e.Advice != "":
		return e.Advice
	case option == "":
		return "the limit is fixed"
	}
	return "the option " + option + " sets the limit"
}

// WithAdvice has errors say how the user of the program can raise a limit, in place of naming
// an option of this package. The function gets the name of the provider or policy pack, empty
// where there is none, and an error without advice; it may be called concurrently. Limits that
// are fixed are not asked about.
func (c Config) WithAdvice(advice func(name string, exceeded ExceededError) string) Config {
	c.advice = advice
	return c
}

// advised has the error say how to raise the limit.
func (c *Config) advised(name string, e *ExceededError) *ExceededError {
	if c.advice == nil || e.Advice != "" || e.Option() == "" {
		return e
	}
	said := *e
	said.Advice = c.advice(name, *e)
	return &said
}
