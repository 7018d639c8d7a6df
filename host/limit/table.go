package limit

import (
	"math"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/system"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Limit names what a guest can have too much of. The names are stable.
type Limit string

// The limits that end a call, refuse one, or refuse a module.
const (
	Time          Limit = "time"
	Fuel          Limit = "fuel"
	HostCalls     Limit = "host-calls"
	RandomBytes   Limit = "random-bytes"
	Memory        Limit = "memory"
	TotalMemory   Limit = "total-memory"
	TableElements Limit = "table-elements"
	OpenFiles     Limit = "open-files"
	TotalFiles    Limit = "total-open-files"
	Stack         Limit = "stack"
	StackDepth    Limit = "stack-depth" // in the interpreter
	Request       Limit = "request-bytes"
	Answer        Limit = "answer-bytes"
	WaitingCalls  Limit = "waiting-calls"
	Streams       Limit = "streams"
	LogRate       Limit = "log-rate"
	Crashes       Limit = "crashes"
	ModuleSize    Limit = "module-size"
	CompileTime   Limit = "compile-time"
	// The engine enforces these.
	EvaluationSteps  Limit = "evaluation-steps"
	EvaluationMemory Limit = "evaluation-memory"
)

// table has all limits: name, what errors call it, unit, scope, default, option, the sentence of the
// error, the methods that it is for, and the field that it sets.
var table = append([]Info{
	// Services are known to take an hour for one resource, and components wait for all of their resources.
	{"time", Time, UnitTime, ScopeCall, uint64(4 * time.Hour), setByLimit,
		"it took longer than the %s that it may take", worksOnResources, callTime},
	// Calls that only ask: for a schema, a check, a difference, or the start of an instance.
	{"answer-time", Time, UnitTime, ScopeCall, uint64(5 * time.Minute), setByLimit,
		"it took longer than the %s that it may take", onlyAnswers, callTime},
	// To hear that all work is cancelled. Every deployment ends with that.
	{"cancel-time", Time, UnitTime, ScopeCall, uint64(5 * time.Second), setByLimit,
		"it took longer than the %s that it may take", cancels, callTime},
	// Instructions as package meter counts them, which is more than are done. A Go provider that only
	// computes needs some 20 minutes for it.
	{"fuel", Fuel, UnitCount, ScopeCall, 1 << 47, setByLimit,
		"it used more than the %s units of fuel that it may use", nil, func(c *Call) *uint64 { return &c.Fuel }},
	// 7,000 times a second for four hours. A call of the host takes 100 ns at the least.
	{"host-calls", HostCalls, UnitCount, ScopeCall, 100_000_000, setByLimit,
		"it called the host more than the %s times that it may", worksOnResources, hostCalls},
	{"answer-host-calls", HostCalls, UnitCount, ScopeCall, 10_000_000, setByLimit,
		"it called the host more than the %s times that it may", OnlyAsks, hostCalls},
	// Keys and seeds come to some hundreds.
	{"random-bytes", RandomBytes, UnitBytes, ScopeCall, 64 << 20, setByLimit,
		"it took more than the %s of random numbers that it may take", nil, func(c *Call) *uint64 { return &c.RandomBytes }},
	// Each property map. Assets as text are the largest values, of 50 MB at most (see property.DefaultSize).
	{"request-bytes", Request, UnitBytes, ScopeCall, 64 << 20, setByLimit,
		"the values of the request take more than the %s that can be passed", nil, func(s *Set, v uint64) { s.RequestBytes = count(v) }},
	// All that a guest passes in one answer or one call of the host.
	{"answer-bytes", Answer, UnitBytes, ScopeCall, 80 << 20, setByLimit,
		"the values of the answer take more than the %s that can be passed", nil, func(s *Set, v uint64) { s.AnswerBytes = v }},
	// The linear memory of an instance, and the memory that the host holds for it beside that. A Go provider works in 10 to 40
	// MiB, and doubles that with requests of some MiB.
	{"memory", Memory, UnitBytes, ScopeInstance, 256 << 20, setByLimit,
		"it needs more memory than its limit of %s", nil, func(s *Set, v uint64) { s.Memory = v }},
	// Files, connections, HTTP exchanges, and assets, beside the directories that were granted. An open
	// directory counts as two.
	{"open-files", OpenFiles, UnitCount, ScopeInstance, defaultOpenFiles, setByLimit,
		"it was refused more than the %s files and connections that it may have open", nil, func(s *Set, v uint64) { s.OpenFiles = count(v) }},
	{"stack", Stack, UnitBytes, ScopeInstance, StackBytes, "",
		"its functions called each other deeper than the %s of stack allow, which mostly is a recursion without end", nil, nil},
	{"stack-depth", StackDepth, UnitCount, ScopeInstance, StackFunctions, "",
		"more than %s of its functions called each other, which mostly is a recursion without end", nil, nil},
	// Each takes some KiB. An engine that checks all resources at once comes to as many as its program has.
	{"waiting-calls", WaitingCalls, UnitCount, ScopeProvider, 100_000, setByLimit,
		"%s calls are waiting for an instance already", nil, func(s *Set, v uint64) { s.WaitingCalls = count(v) }},
	// Each keeps an instance of its own.
	{"streams", Streams, UnitCount, ScopeProvider, 8, setByLimit,
		"%s streams of the provider are open already: close one", nil, func(s *Set, v uint64) { s.Streams = count(v) }},
	// After a time of silence, instances may write as much as in four seconds. More is dropped, with a note.
	{"log-rate", LogRate, UnitBytes, ScopeProvider, 256 << 10, setByLimit,
		"it comes to more than %s per second", nil, func(s *Set, v uint64) { s.LogRate = count(v) }},
	// All calls of an engine may crash once.
	{"crashes", Crashes, UnitCount, ScopeProvider, 20, setByLimit,
		"it crashed %s times", nil, func(s *Set, v uint64) { s.Crashes = count(v) }},
	// One provider may have half of it, and two a third each.
	{"total-memory", TotalMemory, UnitBytes, ScopeHost, 8 << 30, setByLimit,
		"the instances of all providers would need more than the %s of memory that they may have together", nil, func(s *Set, v uint64) { s.TotalMemory = v }},
	{"total-open-files", TotalFiles, UnitCount, ScopeHost, uint64(system.OpenFiles(defaultOpenFiles)), setByLimit,
		"the instances of all providers would have more than the %s files and connections open that they may have together", nil, func(s *Set, v uint64) { s.TotalOpenFiles = count(v) }},
	// Elements of 8 bytes on the host. Go's own compiler, a module of 49 MB, has 24,000.
	{"table-elements", TableElements, UnitCount, ScopeModule, 1_000_000, setByLimit,
		"it was refused more table elements than the %s that it may have", nil, func(s *Set, v uint64) { s.TableElements = uint32(min(v, math.MaxUint32)) }},
	// The largest Go providers that are known come to some 140 MB. A compilation needs some 25 times the
	// module's size.
	{"module-size", ModuleSize, UnitBytes, ScopeModule, 160 << 20, setByLimit,
		"the module takes more than %s", nil, func(s *Set, v uint64) { s.ModuleSize = count(v) }},
	// Processor time: the largest module takes some 120 s.
	{"compile-time", CompileTime, UnitTime, ScopeModule, uint64(5 * time.Minute), setByLimit,
		"compiling the module takes longer than the %s of processor time that it may take", nil, func(s *Set, v uint64) { s.CompileTime = duration(v) }},
	// Some minutes. A program of 10,000 resources with 20 properties each takes two million.
	{"evaluation-steps", EvaluationSteps, UnitCount, ScopeProgram, 1_000_000_000, "Program.Limit",
		"the program takes more than the %s steps that its evaluation may take", nil, nil},
	// Twenty times the largest assets as text, of 50 MB. Registrations count as they are written out.
	{"evaluation-memory", EvaluationMemory, UnitBytes, ScopeProgram, 1 << 30, "Program.Limit",
		"the values of the program take more than the %s that they may take", nil, nil},
}, moduleParts()...)

const (
	// setByLimit is the method of host.Config that sets a limit.
	setByLimit = "WithLimit"

	defaultOpenFiles = 256
	// StackBytes is wazero's limit on the stack of a call, and StackFunctions the limit on nested calls in its interpreter.
	StackBytes, StackFunctions = 50_000_000, 2000
)

func callTime(c *Call) *uint64  { return &c.Time }
func hostCalls(c *Call) *uint64 { return &c.HostCalls }

// MethodStart is the start of an instance, which is limited like a method that asks. It is part of the
// call for which the instance is started.
const MethodStart abi.Method = "start"

// OnlyAsks reports whether a method computes an answer, and does not work on resources.
func OnlyAsks(method abi.Method) bool {
	return method == MethodStart || method.Kind() == abi.KindAsks
}

func worksOnResources(method abi.Method) bool { return !OnlyAsks(method) }
func cancels(method abi.Method) bool          { return method == abi.MethodCancel }
func onlyAnswers(method abi.Method) bool      { return OnlyAsks(method) && !cancels(method) }

// modulePart is the prefix of the names of limits on a module's parts: module-functions.
const modulePart = "module-"

// OfModulePart returns the limit on a part of a module, for a field of the reader's limits.
func OfModulePart(field string) Limit { return Limit(modulePart + kebab(field)) }

// moduleParts are the limits on a module's parts, one for each field of the reader's limits.
func moduleParts() []Info {
	defaults := reflect.ValueOf(wasmfile.DefaultLimits())
	parts := make([]Info, defaults.NumField())
	for i := range parts {
		name := OfModulePart(defaults.Type().Field(i).Name)
		parts[i] = Info{
			Name: string(name), Limit: name, Unit: UnitCount, Scope: ScopeModule, Default: uint64(defaults.Field(i).Int()), Option: setByLimit,
			says: "the module holds more than %s",
			set: func(s *Set, v uint64) {
				reflect.ValueOf(&s.module).Elem().Field(i).SetInt(int64(count(v)))
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

// count is a value as an int, which it is on all platforms.
func count(v uint64) int { return int(min(v, math.MaxInt32)) }

func duration(nanoseconds uint64) time.Duration {
	return time.Duration(min(nanoseconds, math.MaxInt64))
}
