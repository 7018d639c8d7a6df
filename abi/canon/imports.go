package canon

import (
	"context"
	"slices"

	"github.com/husk-dev/husk/abi"
)

// Imports are the host functions that a module may use. A nil interface is refused with an error of kind denied. Without Log,
// messages are dropped. Without Control, no call is cancelled.
type Imports struct {
	Log     abi.Log
	Control abi.Control
	HTTP    abi.HTTP
	TCP     abi.TCP
	Files   abi.Files
	Assets  abi.Assets
	KV      abi.KV
	Monitor abi.Monitor
}

// Import is a function that modules may import from the host.
type Import struct {
	// Module is the import's module name, for example husk:provider/log@0.2.0.
	Module string
	// Name is the import's field name, for example write.
	Name string
	Signature

	function *Function
	serve    func(context.Context, *Imports, *server)
}

// ImportTable returns all functions that modules of the newest version may import.
func ImportTable() []Import {
	var table []Import
	for _, s := range importServers {
		table = append(table, s.in(Version))
	}
	return table
}

// ImportsOf returns the functions of the interface with that module name, which has the version of the
// module that imports it. There are none if no such version is known.
func ImportsOf(module string) (table []Import) {
	iface, version := splitModule(module)
	if module != moduleName(iface, version) || !slices.Contains(versions, version) {
		return nil
	}
	for _, s := range importServers {
		if s.function.Interface == iface && hasFunction(versions, version, s.function.Since) {
			table = append(table, s.in(version))
		}
	}
	return table
}

// in returns the import in a version of the contract.
func (s importServer) in(version string) Import {
	f := s.function
	sig := Signature{Params: f.signature()}
	if f.indirect() {
		sig.Params = append(sig.Params, I32)
	} else if f.result.size > 0 {
		sig.Results = []ValueType{f.result.slots[0].kind.valueType()}
	}
	return Import{Module: moduleName(f.Interface, version), Name: f.Name, Signature: sig, function: f, serve: s.serve}
}

// importServer serves calls of a function that modules import.
type importServer struct {
	function *Function
	serve    func(context.Context, *Imports, *server)
}

// Call serves a call of the import by the instance of g, with the imports granted to this call.
// stack holds the arguments and receives the result, in the form of WebAssembly runtimes. An error
// is a breach of the ABI, which breaks the module: the runtime must trap.
func (i *Import) Call(ctx context.Context, g *Guest, imports *Imports, stack []uint64) error {
	f := i.function
	frame := &exportFrame{ctx: ctx, guest: g, budget: g.limit}
	s := newServer(f, frame, stack)
	s.await = g.Await
	i.serve(ctx, imports, s)
	if frame.refused != nil { // which does not breach the contract
		s.err = nil
		if f.fails {
			s.answerError(&abi.Error{Kind: abi.ErrorKindUnavailable, Origin: abi.ErrorOriginHost, Message: frame.refused.Error()})
		}
	}
	if s.err == nil && f.result.size > 0 {
		if f.indirect() {
			s.err = frame.write(uint32(stack[len(i.Params)-1]), s.out, f.result.align)
		} else {
			f.result.flatten(stack[:1], s.out)
		}
	}
	if s.err != nil {
		g.breakWith(s.err)
	}
	return s.err
}

func denied(name string) error {
	return &abi.Error{
		Kind:    abi.ErrorKindDenied,
		Origin:  abi.ErrorOriginHost,
		Message: "the provider is not granted the use of " + name,
	}
}
