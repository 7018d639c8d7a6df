package entropy

import (
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// survey finds the calls in a module that matter.
type survey struct {
	m     *wasmfile.Module
	names *names
	// sources are the functions that hand on the clock or random numbers, by their index.
	sources map[uint32]*source
	sites   []site
	words   []Word
}

// source is a function that hands on the clock or random numbers.
type source struct {
	clock bool
	// weight is how often a call of it reads the clock, or takes a word of the generator. It is
	// known once weighed is set.
	weight  uint64
	weighed bool
}

// site is a call of a source.
type site struct {
	// body is the number of the calling function among the module's own functions. callStart and callEnd are the place of the
	// call in its code.
	body               int
	callStart, callEnd int
	source             uint32
	// byRuntime is set if the runtime calls for itself.
	byRuntime bool
}

// firstAddress is the address of the first function of a module, by which Go's code knows
// it. Of each address, the lower bits are a place in the function.
const (
	firstAddress = 0x1000
	addressShift = 16
)

func newSurvey(m *wasmfile.Module, names *names) *survey {
	s := &survey{m: m, names: names, sources: make(map[uint32]*source)}
	for i := range m.Bodies {
		switch name := names.name(i); {
		case clocks[name] || name == readsClock:
			s.sources[uint32(m.ImportedFunctions+i)] = &source{clock: true}
		case generators[name]:
			s.sources[uint32(m.ImportedFunctions+i)] = &source{}
		}
	}
	for function := range s.sources {
		s.weigh(function)
	}
	return s
}

// weigh finds the weight of a source, which may call others.
func (s *survey) weigh(function uint32) uint64 {
	source := s.sources[function]
	if source.weighed {
		return source.weight
	}
	source.weighed = true // in a circle, nothing is read
	body := int(function) - s.m.ImportedFunctions
	if name := s.names.name(body); name == readsClock || name == takesWord {
		source.weight = 1
		return source.weight
	}
	code := s.m.Code(body)
	var in wasmfile.Instruction
	for code.Next(&in) {
		if in.Op == wasmfile.OpCall && s.sources[in.Index] != nil {
			source.weight += s.weigh(in.Index)
		}
	}
	return source.weight
}

// look finds the sites, and the runtime's further generators.
func (s *survey) look() {
	var c code
	for body := range s.m.Bodies {
		if !s.calls(body) {
			continue
		}
		name := s.names.name(body)
		inside := s.sources[uint32(s.m.ImportedFunctions+body)] != nil
		c.read(s.m, body)
		if name == seedsAll && s.words == nil {
			s.words = c.words()
		}
		for at, in := range c {
			if in.Op != wasmfile.OpCall || s.sources[in.Index] == nil {
				continue
			}
			called := s.sources[in.Index]
			address, known := c.returnAddress(at)
			// Code that was moved to another function still has its own address.
			own := known && address>>addressShift == int64(firstAddress+body)
			byRuntime := own && (called.clock && keepsTime(name) || !called.clock && (keepsNumbers(name) || c.seedsMap(at)))
			if !inside && (byRuntime && called.weight > 0 || !byRuntime && !called.clock) {
				s.sites = append(s.sites, site{body, in.Start, in.End, in.Index, byRuntime})
			}
		}
	}
}

// calls reports whether a function calls a source.
func (s *survey) calls(body int) bool {
	code := s.m.Code(body)
	var in wasmfile.Instruction
	for code.Next(&in) {
		if in.Op == wasmfile.OpCall && s.sources[in.Index] != nil {
			return true
		}
	}
	return false
}
