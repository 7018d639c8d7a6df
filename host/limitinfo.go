package host

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/system"
)

// Unit is what a limit is counted in.
type Unit string

// The units of limits.
const (
	UnitCount Unit = "count"
	UnitBytes Unit = "bytes"
	UnitTime  Unit = "time" // nanoseconds
)

// Scope is what a limit is of.
type Scope string

// The scopes of limits. Those of calls, instances, and providers may differ from provider to
// provider; the others are of the host.
const (
	ScopeCall     Scope = "call"
	ScopeInstance Scope = "instance"
	ScopeProvider Scope = "provider"
	ScopeModule   Scope = "module"
	ScopeHost     Scope = "host"
)

// LimitInfo describes a limit that can be set, or that is fixed.
type LimitInfo struct {
	// Name is unique and stable, for example answer-time.
	Name string
	// Limit is what errors call it. Two may have one: that of calls which work on resources, and
	// that of calls which only ask.
	Limit Limit
	Unit  Unit
	Scope Scope
	// Default is in the unit.
	Default uint64
	// Option is the method of [Config] that sets it, empty where it is fixed.
	Option string

	// says is a sentence with a place for the limit.
	says string
	// methods says for which methods it is, nil for all.
	methods func(method abi.Method) bool
	set     setter
}

// OfProvider reports whether providers may have different ones.
func (l LimitInfo) OfProvider() bool {
	return l.Option != "" && (l.Scope == ScopeCall || l.Scope == ScopeInstance || l.Scope == ScopeProvider)
}

// Limits returns what is known of all limits.
func Limits() []LimitInfo { return slices.Clone(limitTable) }

// LimitNamed returns the limit with that name.
func LimitNamed(name string) (LimitInfo, bool) {
	i := slices.IndexFunc(limitTable, func(l LimitInfo) bool { return l.Name == name })
	if i < 0 {
		return LimitInfo{}, false
	}
	return limitTable[i], true
}

// WithLimit sets the limit of that name, in its unit. It is an error for a name that there is
// not, a limit that is fixed, and a value of 0.
func (c Config) WithLimit(name string, value uint64) (Config, error) {
	l, ok := LimitNamed(name)
	switch {
	case !ok:
		return c, fmt.Errorf("there is no limit %q", name)
	case l.set == nil:
		return c, fmt.Errorf("the limit %q is fixed", name)
	case value == 0:
		return c, fmt.Errorf("the limit %q cannot be 0", name)
	}
	return l.set(c, value), nil
}

// ofProvider returns the configuration of a provider that has limits of its own.
func (c *Config) ofProvider(own map[string]uint64) (*Config, error) {
	if len(own) == 0 {
		return c, nil
	}
	changed := *c
	for name, value := range own {
		l, ok := LimitNamed(name)
		if ok && !l.OfProvider() {
			return nil, fmt.Errorf("the limit %q cannot be set for one provider", name)
		}
		var err error
		if changed, err = changed.WithLimit(name, value); err != nil {
			return nil, err
		}
	}
	if own, most := changed.memoryBytes(), c.memoryBytes(); own > most {
		return nil, fmt.Errorf("the limit %q is %d bytes, and that of the host is %d", "memory", own, most)
	}
	return &changed, nil
}

func works(method abi.Method) bool { return !onlyAsks(method) }

func cancels(method abi.Method) bool   { return method == abi.MethodCancel }
func answersTo(method abi.Method) bool { return onlyAsks(method) && !cancels(method) }

// setter is how a limit is set.
type setter = func(Config, uint64) Config

// timeOf sets the time of a group of methods, hostCallsOf their calls of the host.
func timeOf(group abi.Method) setter {
	return func(c Config, v uint64) Config {
		return c.withCallsOf(group, func(l *callLimits) { l.timeout = duration(v) })
	}
}

func hostCallsOf(group abi.Method) setter {
	return func(c Config, v uint64) Config {
		return c.withCallsOf(group, func(l *callLimits) { l.hostCalls = v })
	}
}

// counted sets a limit whose option takes an int.
func counted(option func(Config, int) Config) setter {
	return func(c Config, v uint64) Config { return option(c, count(v)) }
}

// count is a value as an int, which it is on all platforms.
func count(v uint64) int { return int(min(v, math.MaxInt32)) }

// limitTable has all limits.
var limitTable = append([]LimitInfo{
	{"time", LimitTime, UnitTime, ScopeCall, uint64(DefaultCallTimeout), "WithCallTimeout",
		"it took longer than the %s that it may take", works,
		timeOf(groupWorks)},
	{"answer-time", LimitTime, UnitTime, ScopeCall, uint64(DefaultAnswerTimeout), "WithCallTimeout",
		"it took longer than the %s that it may take", answersTo,
		timeOf(groupAsks)},
	{"cancel-time", LimitTime, UnitTime, ScopeCall, uint64(DefaultCancelTime), "WithCallTimeout",
		"it took longer than the %s that it may take", cancels,
		func(c Config, v uint64) Config { return c.WithCallTimeout(duration(v), string(abi.MethodCancel)) }},
	{"fuel", LimitFuel, UnitCount, ScopeCall, DefaultFuel, "WithFuel",
		"it used more than the %s units of fuel that it may use", nil,
		func(c Config, v uint64) Config { return c.WithFuel(v) }},
	{"host-calls", LimitHostCalls, UnitCount, ScopeCall, DefaultHostCalls, "WithHostCalls",
		"it called the host more than the %s times that it may", works,
		hostCallsOf(groupWorks)},
	{"answer-host-calls", LimitHostCalls, UnitCount, ScopeCall, DefaultAnswerHostCalls, "WithHostCalls",
		"it called the host more than the %s times that it may", onlyAsks,
		hostCallsOf(groupAsks)},
	{"random-bytes", LimitRandom, UnitBytes, ScopeCall, DefaultRandomBytes, "WithRandomBytes",
		"it took more than the %s of random numbers that it may take", nil,
		func(c Config, v uint64) Config { return c.WithRandomBytes(v) }},
	{"request-bytes", LimitRequest, UnitBytes, ScopeCall, DefaultRequestBytes, "WithRequestBytes",
		"the values of the request take more than the %s that can be passed", nil,
		counted(Config.WithRequestBytes)},
	{"answer-bytes", LimitAnswer, UnitBytes, ScopeCall, DefaultAnswerBytes, "WithAnswerBytes",
		"the values of the answer take more than the %s that can be passed", nil,
		Config.WithAnswerBytes},
	{"memory", LimitMemory, UnitBytes, ScopeInstance, DefaultMemoryLimit, "WithMemoryLimit",
		"it was refused more memory than the %s that it may have", nil,
		Config.WithMemoryLimit},
	{"open-files", LimitOpenFiles, UnitCount, ScopeInstance, DefaultOpenFiles, "WithOpenFiles",
		"it was refused more than the %s files and connections that it may have open", nil,
		counted(Config.WithOpenFiles)},
	{"stack", LimitStack, UnitBytes, ScopeInstance, stackBytes, "",
		"its functions called each other deeper than the %s of stack allow, which mostly is a recursion without end", nil, nil},
	{"stack-depth", LimitStackDepth, UnitCount, ScopeInstance, stackFunctions, "",
		"more than %s of its functions called each other, which mostly is a recursion without end", nil, nil},
	{"waiting-calls", LimitWaitingCalls, UnitCount, ScopeProvider, DefaultWaitingCalls, "WithWaitingCalls",
		"%s calls are waiting for an instance already", nil,
		counted(Config.WithWaitingCalls)},
	{"streams", LimitStreams, UnitCount, ScopeProvider, DefaultStreams, "WithStreams",
		"%s streams of the provider are open already: close one", nil,
		counted(Config.WithStreams)},
	{"log-rate", LimitLogRate, UnitBytes, ScopeProvider, DefaultLogRate, "WithLogRate",
		"it comes to more than %s per second", nil,
		counted(Config.WithLogRate)},
	{"crashes", LimitCrashes, UnitCount, ScopeProvider, DefaultQuarantineCrashes, "WithQuarantine",
		"it crashed %s times", nil,
		func(c Config, v uint64) Config { c.most.crashes = count(v); return c }},
	{"total-memory", LimitTotalMemory, UnitBytes, ScopeHost, DefaultTotalMemory, "WithTotalMemory",
		"the instances of all providers would need more than the %s of memory that they may have together", nil,
		Config.WithTotalMemory},
	{"total-open-files", LimitTotalFiles, UnitCount, ScopeHost, uint64(system.OpenFiles(DefaultOpenFiles)), "WithTotalOpenFiles",
		"the instances of all providers would have more than the %s files and connections open that they may have together", nil,
		counted(Config.WithTotalOpenFiles)},
	{"table-elements", LimitTableElements, UnitCount, ScopeModule, DefaultTableElements, "WithTableElements",
		"it was refused more table elements than the %s that it may have", nil,
		func(c Config, v uint64) Config { return c.WithTableElements(uint32(min(v, math.MaxUint32))) }},
	{"module-size", LimitModuleSize, UnitBytes, ScopeModule, MaxModuleSize, "WithModuleSize",
		"the module takes more than %s", nil,
		counted(Config.WithModuleSize)},
	{"compile-time", LimitCompileTime, UnitTime, ScopeModule, uint64(DefaultCompileTime), "WithCompileTime",
		"compiling the module takes longer than the %s that it may take", nil,
		func(c Config, v uint64) Config { return c.WithCompileTime(duration(v)) }},
}, moduleParts()...)

// modulePart begins the names of the limits on what a module holds: module-functions.
const modulePart = "module-"

// moduleParts are the limits on what a module holds, one for each field of [ModuleLimits].
func moduleParts() []LimitInfo {
	defaults := reflect.ValueOf(DefaultModuleLimits())
	parts := make([]LimitInfo, defaults.NumField())
	for i := range parts {
		name := modulePart + kebab(defaults.Type().Field(i).Name)
		parts[i] = LimitInfo{
			Name: name, Limit: Limit(name), Unit: UnitCount, Scope: ScopeModule, Default: uint64(defaults.Field(i).Int()), Option: "WithModuleLimits",
			says: "the module holds more than %s",
			set: func(c Config, v uint64) Config {
				if c.moduleLimits == (ModuleLimits{}) {
					c.moduleLimits = DefaultModuleLimits()
				}
				reflect.ValueOf(&c.moduleLimits).Elem().Field(i).SetInt(int64(count(v)))
				return c
			},
		}
	}
	return parts
}

// kebab is a name of Go's with hyphens: table-elements.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func duration(nanoseconds uint64) time.Duration {
	return time.Duration(min(nanoseconds, math.MaxInt64))
}

// sizes are the units that bytes are written in, the largest first.
var sizes = []struct {
	suffix string
	bytes  uint64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Format writes a value of the limit as [LimitInfo.Parse] reads it.
func (l LimitInfo) Format(value uint64) string {
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

// Parse reads a value of the limit: 90s or 1h30m for a time, 512MiB or a number of bytes,
// another number for a count.
func (l LimitInfo) Parse(text string) (value uint64, err error) {
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
