package canon_test

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// limit is how many bytes a crossing may take in these tests.
const limit = 1 << 20

// fake is a module written in Go: a linear memory, an allocator that never frees,
// and the guest's half of package canon.
type fake struct {
	memory []byte
	// served is an [abi.Provider], [abi.Policy], or [abi.Program].
	served  any
	guest   *canon.Guest
	imports canon.Imports

	// entered and left, where set, see a call of the function: an export with its core
	// arguments and then the address of its result, or an import likewise.
	entered func(iface string, function int, args []uint64)
	left    func(iface string, function int, result uint64)

	// arena is the address of the arena that it offers, 0 for none.
	arena uint32

	allocated, released int
}

// offer gives the module an arena of that size.
func (f *fake) offer(size uint32) {
	f.arena, _ = f.Store(make([]byte, 8), 4)
	begin, _ := f.Store(make([]byte, size), 1)
	m := memoryWriter(f.memory)
	m.u32(uint64(f.arena), begin)
	m.u32(uint64(f.arena)+4, begin+size)
	f.allocated = 0
}

func (f *fake) Arena(context.Context) (uint32, bool, error) { return f.arena, f.arena != 0, nil }

// firstFree is the first address that the fake allocates, after room for the 17
// arguments that a function has at most.
const firstFree = 17 * 8

// newFake returns a module that serves the provider, policy pack, or program that serving returns for the
// interfaces of the host that it may use.
func newFake[S any](host canontest.Host, serving func(canontest.Host) S) *fake {
	f := &fake{memory: make([]byte, firstFree, 1<<16), imports: host}
	f.guest = canon.NewGuest(f, guestcbor.Codec{}, limit)
	f.served = serving(canontest.Host{
		Log: canon.NewLog(f), Control: canon.NewControl(f), HTTP: canon.NewHTTP(f), TCP: canon.NewTCP(f),
		Files: canon.NewFiles(f), Assets: canon.NewAssets(f), KV: canon.NewKV(f), Monitor: canon.NewMonitor(f),
	})
	return f
}

func (f *fake) Call(ctx context.Context, export int, stack []uint64) error {
	switch {
	case export == 0:
		ptr, err := f.Store(make([]byte, stack[3]), uint32(stack[2]))
		stack[0] = uint64(ptr)
		return err
	case export%2 == 0:
		f.released++
		return nil
	}
	function := (export - 1) / 2
	var iface string
	var serve func(params []byte) (uint32, error)
	switch served := f.served.(type) {
	case abi.Provider:
		iface, serve = "provider", func(params []byte) (uint32, error) {
			return new(canon.Server).ServeProvider(ctx, served, function, f, params)
		}
	case abi.Policy:
		iface, serve = "policy", func(params []byte) (uint32, error) {
			return new(canon.Server).ServePolicy(ctx, served, function, f, params)
		}
	case abi.Program:
		iface, serve = "program", func(params []byte) (uint32, error) {
			return new(canon.Server).ServeProgram(ctx, served, function, f, params)
		}
	}
	if f.entered != nil {
		f.entered(iface, function, stack)
	}
	params, err := canon.Params(iface, function, f, stack)
	if err != nil {
		return err
	}
	ptr, err := serve(params)
	if f.left != nil && err == nil {
		f.left(iface, function, uint64(ptr))
	}
	stack[0] = uint64(ptr)
	return err
}

// Begin begins a call of an import by the module.
func (f *fake) Begin(ctx context.Context, function *canon.Function) canon.Frame {
	return &fakeImport{f, ctx, function}
}

type fakeImport struct {
	*fake
	ctx      context.Context
	function *canon.Function
}

func (i *fakeImport) Imported() bool { return true }

func (i *fakeImport) End(error) {}

func (i *fakeImport) Call(args []uint64) (uint64, error) {
	for _, entry := range canon.ImportTable() {
		if entry.Module != canon.Package+"/"+i.function.Interface+"@"+canon.Version || entry.Name != i.function.Name {
			continue
		}
		if i.entered != nil {
			i.entered(i.function.Interface, i.function.Index, args)
		}
		stack := append(append([]uint64(nil), args...), 0)
		if err := entry.Call(i.ctx, i.guest, &i.imports, stack); err != nil {
			return 0, err
		}
		if i.left != nil {
			result := stack[0]
			if len(entry.Results) == 0 && len(args) > 0 {
				result = args[len(args)-1]
			}
			i.left(i.function.Interface, i.function.Index, result)
		}
		return stack[0], nil
	}
	panic("no such import")
}

func (f *fake) Memory() canon.LinearMemory { return f }

func (f *fake) Read(offset, n uint32) ([]byte, bool) {
	if uint64(offset)+uint64(n) > uint64(len(f.memory)) {
		return nil, false
	}
	return f.memory[offset : offset+n], true
}

func (f *fake) Write(offset uint32, data []byte) bool {
	to, ok := f.Read(offset, uint32(len(data)))
	copy(to, data)
	return ok
}

func (f *fake) View(ptr, n uint32) ([]byte, error) {
	if data, ok := f.Read(ptr, n); ok {
		return data, nil
	}
	return nil, canon.ErrOutOfBounds
}

func (f *fake) Take(ptr, n uint32) ([]byte, error) {
	data, err := f.View(ptr, n)
	return append([]byte(nil), data...), err
}

func (f *fake) Charge(uint64) error { return nil }

func (f *fake) Store(data []byte, align uint32) (uint32, error) {
	for len(f.memory)%int(align) != 0 {
		f.memory = append(f.memory, 0xee)
	}
	ptr := uint32(len(f.memory))
	f.memory = append(f.memory, data...)
	f.allocated++
	return ptr, nil
}

func (f *fake) Codec() canon.Codec { return guestcbor.Codec{} }
