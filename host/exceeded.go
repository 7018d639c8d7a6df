package host

import (
	"fmt"
	"time"
)

// Limit names what a guest can have too much of. The names are stable.
type Limit string

// The limits that end a call, or refuse one.
const (
	LimitTime         Limit = "time"
	LimitFuel         Limit = "fuel"
	LimitHostCalls    Limit = "host-calls"
	LimitRandom       Limit = "random-bytes"
	LimitMemory       Limit = "memory"
	LimitTotalMemory  Limit = "total-memory"
	LimitRequest      Limit = "request-bytes"
	LimitAnswer       Limit = "answer-bytes"
	LimitWaitingCalls Limit = "waiting-calls"
	LimitStreams      Limit = "streams"
	LimitCompileTime  Limit = "compile-time"
)

// ExceededError is a guest that would have taken more than it may. Where it ended or
// refused a call, it is the cause of the call's *[abi.Error], so that errors.As finds it.
type ExceededError struct {
	Limit Limit
	// Most is the limit: bytes, a count, or nanoseconds for those of time.
	Most uint64
}

func (e *ExceededError) Error() string {
	format, option := e.Limit.describe()
	most := fmt.Sprint(e.Most)
	switch e.Limit {
	case LimitTime, LimitCompileTime:
		most = time.Duration(e.Most).String()
	case LimitMemory, LimitTotalMemory:
		most = fmt.Sprintf("%d MiB", e.Most>>20)
	}
	return fmt.Sprintf(format, most) + "; the option " + option + " sets the limit"
}

// Option is the method of [Config] that sets the limit.
func (e *ExceededError) Option() string {
	_, option := e.Limit.describe()
	return option
}

// describe answers a sentence with a place for the limit, and the option that sets it.
func (l Limit) describe() (format, option string) {
	switch l {
	case LimitTime:
		return "it took longer than the %s that it may take", "WithCallTimeout"
	case LimitFuel:
		return "it used more than the %s units of fuel that it may use", "WithFuel"
	case LimitHostCalls:
		return "it called the host more than the %s times that it may", "WithHostCalls"
	case LimitRandom:
		return "it took more than the %s random bytes that it may take", "WithRandomBytes"
	case LimitMemory:
		return "it had used nearly all of the %s of memory that it may have", "WithMemoryLimit"
	case LimitTotalMemory:
		return "the instances of all providers would need more than the %s of memory that they may have together", "WithTotalMemory"
	case LimitRequest:
		return "the values of the request take more than the %s bytes that can be passed", "WithRequestBytes"
	case LimitAnswer:
		return "the values of the answer take more than the %s bytes that can be passed", "WithAnswerBytes"
	case LimitWaitingCalls:
		return "%s calls are waiting for an instance already", "WithWaitingCalls"
	case LimitStreams:
		return "%s streams of the provider are open already: close one", "WithStreams"
	case LimitCompileTime:
		return "compiling the module takes longer than the %s that it may take", "WithCompileTime"
	}
	return "it has more than %s of " + string(l), "of Config"
}
