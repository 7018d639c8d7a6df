package host

import (
	"errors"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/relooper"
	"github.com/husk-dev/husk/internal/rewriting"
	"github.com/husk-dev/husk/internal/wasmfile"
	"github.com/husk-dev/husk/internal/wasmsubset"
)

// Of a provider written in Go, a tenth of the code runs until its first calls are answered. All
// of it is 20 MB of machine code, which wazero takes 20 ms to load. So the cache also keeps
// a part of each module: the functions that ran in a rehearsal, when it was installed. What
// else there is traps at once. Instances of a process begin with the part; where one traps, it
// ends, and its call is made again with the whole module, as later ones are.
//
// A call can be made again since it has done nothing yet that anybody could notice: the part
// can import nothing that has an effect. And an instance has nothing to lose, since all that it
// knows is the image that it began with, its setup, and what it has made of calls that were
// answered, which any instance may lose between two calls. A stream, whose instance must
// stay, begins with the whole module.

// firstPart is the part of a module that is loaded first.
type firstPart struct {
	// code is nil where there is no part.
	code func() (wazero.CompiledModule, error)
	// outgrown is set once the whole module is needed.
	outgrown atomic.Bool
}

// layout is what has become of a module that is compiled.
type layout struct {
	decoded *wasmfile.Module
	metered []byte
	// copied are the functions that have copies, see [relooper.Rewrite].
	copied []int
}

// relooped is a module whose functions that ran in the rehearsal, and will run most, are made
// faster; nil where none can be.
func (h *Host) relooped(decoded *wasmfile.Module, of *rehearsal) *layout {
	if of == nil && h.rewriting != rewriting.All {
		return nil
	}
	rewritten, copied := relooper.Rewrite(decoded, h.config.limits.Module(), func(function int) bool {
		return h.rewriting == rewriting.All || did(of.ran, function+1)
	})
	if rewritten == nil {
		return nil
	}
	metered, err := h.meter(rewritten)
	if err != nil {
		return nil
	}
	return &layout{rewritten, metered, copied}
}

// partOf answers a module of what runs in the rehearsal, nil where that is none worth having.
func (h *Host) partOf(whole *layout, of *rehearsal) []byte {
	m, err := wasmfile.Read(whole.metered, wasmfile.Limits(h.config.limits.Module()))
	if err != nil {
		return nil // the rewriter has added more than the module may have
	}
	var imported []wasmfile.Import
	for _, i := range m.Imports {
		if i.Kind == api.ExternTypeFunc {
			imported = append(imported, i)
		}
	}
	// The rewriter has added an imported function, and some after all others, those that were
	// copied too.
	copies := len(whole.decoded.Functions) + 1 - len(whole.copied)
	small := wasmsubset.Extract(m, func(function int) bool {
		switch n := function - copies; {
		case function < len(imported):
			return harmless(imported[function])
		case n < 0:
			return did(of.ran, function)
		case n < len(whole.copied):
			return did(of.resumed, whole.copied[n]+1)
		}
		return did(of.ran, function-len(whole.copied))
	})
	if len(small) > len(whole.metered)/2 && h.rewriting != rewriting.All {
		return nil
	}
	return small
}

// Preload has all of the module's code loaded in the background, for a caller that will make
// calls with an effect. Those before them are served by the part meanwhile.
func (m *Module) Preload() {
	if m.part.inUse() {
		m.host.background(func() { _, _ = m.code() }) // who needs it gets the error, too
	}
}

// inUse tells whether instances begin with the part.
func (p *firstPart) inUse() bool { return p.code != nil && !p.outgrown.Load() }

// errPart is a call that needs more than the part of the module. It is made again with the
// whole, and so nobody outside of the package sees it.
var errPart = errors.New("the whole module is needed")

// codeFor answers the code for an instance that begins with the image, and whether it is a
// part.
func (m *Module) codeFor(from *snapshot) (code wazero.CompiledModule, partial bool, err error) {
	if m.part.inUse() && from != nil && from.base != nil {
		if code, err := m.part.code(); err == nil {
			return code, true, nil
		}
		m.part.outgrown.Store(true) // it is only slower without
	}
	code, err = m.code()
	return code, false, err
}

// fetchCode loads what the first instance needs.
func (s *sandbox) fetchCode() {
	load := s.module.code
	if s.module.part.inUse() && s.beginsWithBase() {
		load = s.module.part.code
	}
	_, _ = load() // who needs it gets the error, too
}

// outgrows tells whether a call has failed for want of the whole module. The instance must
// not serve again then.
func (i *instance) outgrows(r *running, err error) bool {
	if _, answered := errors.AsType[*abi.Error](err); answered || !isTrap(err) || r.hard().Err() != nil || i.bare == nil || !i.bare.partial {
		return false
	}
	i.sandbox.needWhole()
	i.outgrown, i.spoiled = true, true
	return true
}

// needWhole has calls from now on made with the whole module.
func (s *sandbox) needWhole() {
	if part := &s.module.part; part.inUse() {
		part.outgrown.Store(true)
	}
}

// useless tells whether a bare is of a part that the module has outgrown.
func (m *Module) useless(b *bare) bool { return b.partial && m.part.outgrown.Load() }
