package entropy

import (
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// addition is a function that counts a call and goes on to the called function. Functions of Go have a parameter and a result,
// which it passes on. It is never entered again in its middle, because it is not one of Go's: a goroutine that resumes goes on
// with the called function.
type addition struct {
	source    uint32
	byRuntime bool
}

// write returns nil if a call is not one of Go's.
func write(s *survey) (wasm []byte, account *Account) {
	m := s.m
	first := len(m.Globals)
	account = &Account{Clock: first, Random: first + 1, Watched: first + 2, Words: s.words}
	x := wasmfile.Extension{
		Code:    make([][]byte, len(m.Bodies)),
		Globals: []api.ValueType{api.ValueTypeI64, api.ValueTypeI64, api.ValueTypeI32},
	}
	goFunction := []api.ValueType{api.ValueTypeI32}
	targets := make(map[addition]uint32)
	for _, at := range s.sites {
		called := m.TypeOf(at.source)
		if !slices.Equal(called.Params, goFunction) || !slices.Equal(called.Results, goFunction) {
			return nil, nil
		}
		a := addition{at.source, at.byRuntime}
		if _, known := targets[a]; !known {
			targets[a] = uint32(len(m.Functions) + len(x.Functions))
			x.Functions = append(x.Functions, wasmfile.AddedFunction{Like: a.source, Body: account.count(a, s.sources[a.source])})
		}
	}
	for sites := s.sites; len(sites) > 0; {
		body := sites[0].body
		code := m.Code(body)
		raw, from := code.Bytes(), 0
		var out []byte
		for len(sites) > 0 && sites[0].body == body {
			at := sites[0]
			out = append(out, raw[from:at.callStart]...)
			out = wasmfile.AppendIndex(out, wasmfile.OpCall, targets[addition{at.source, at.byRuntime}])
			from, sites = at.callEnd, sites[1:]
		}
		x.Code[body] = append(out, raw[from:]...)
	}
	return m.Extend(x), account
}

// count returns the body of a function that counts.
func (account *Account) count(a addition, called *source) []byte {
	out := []byte{0} // no local variables
	global, weight, op := account.Random, called.weight, wasmfile.OpI64Add
	switch {
	case called.clock:
		global = account.Clock
	case !a.byRuntime:
		weight, op = 1, wasmfile.OpI64Sub
		out = wasmfile.AppendIndex(out, wasmfile.OpGlobalGet, uint32(account.Watched))
		out = wasmfile.AppendConst(wasmfile.AppendOps(out, wasmfile.OpIf), wasmfile.OpI32Const, Caught)
		out = wasmfile.AppendIndex(out, wasmfile.OpGlobalSet, uint32(account.Watched))
		out = wasmfile.AppendOps(out, wasmfile.OpUnreachable, wasmfile.OpEnd)
	}
	out = wasmfile.AppendIndex(out, wasmfile.OpGlobalGet, uint32(global))
	out = wasmfile.AppendOps(wasmfile.AppendConst(out, wasmfile.OpI64Const, int64(weight)), op)
	out = wasmfile.AppendIndex(out, wasmfile.OpGlobalSet, uint32(global))
	out = wasmfile.AppendIndex(out, wasmfile.OpLocalGet, 0)
	return wasmfile.AppendOps(wasmfile.AppendIndex(out, wasmfile.OpCall, a.source), wasmfile.OpEnd)
}
