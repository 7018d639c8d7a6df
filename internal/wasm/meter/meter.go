// Package meter rewrites modules so that their work is bounded. A rewritten module counts its work
// down in a private global, its fuel, and calls the host when that runs out, in the middle of any
// loop or recursion. The host then ends it, or lets the garbage collector and other goroutines run,
// and grants more. Otherwise a guest stops the whole host, because Go's garbage collector waits for
// it.
//
// Everything else stays as it was. Guest code cannot reach the additions, because each of its
// indexes names something of the original module (see package wasmfile). An invalid module stays
// invalid.
//
// # What work costs
//
// An instruction costs 1. A region lies between two places that take fuel: a function without its
// loops, or the body of a loop without inner loops. Entering a region pays for all of it, so no work
// is unpaid. The same input costs the same in each run, on each engine. Operations on memory and
// tables pay for their length, too.
package meter

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Names of the additions. Modules that use them themselves are refused.
const (
	// Module is the module of the imported function Refill, of the type [i64] -> [i64]. Its
	// parameter is the fuel that is left, negative if more was used than there was. Its result is
	// the fuel from then on.
	Module = "husk:meter"
	Refill = "refill"

	// prefix begins the names of exports.
	prefix = Module + "/"
	// Fuel is the exported global, of type i64, that counts down. It is 0 at the start.
	Fuel = prefix + "fuel"
	// Refused is the exported global, of type i32, that is set to 1 when a table is refused more
	// elements. A module has it if it grows tables and none of these has a lower maximum of its own.
	Refused = prefix + "refused"
)

// Version changes with the output of Rewrite. It is part of the key of each cached module.
const Version = 4

// GlobalName is the name under which a mutable global of numeric type is exported for images of
// instances. The index is that in the original module.
func GlobalName(index int) string { return prefix + "global/" + strconv.Itoa(index) }

// ReservedError is a module that uses a name of this package.
type ReservedError struct {
	// Name is the name of an export, or of the module of an import.
	Name string
}

func (e *ReservedError) Error() string {
	return fmt.Sprintf("the module uses the name %q, which is reserved for the host", e.Name)
}

// Options are the maxima for memories and tables that the module defines, unless it has lower ones.
// Their minima are granted in any case.
type Options struct {
	// MemoryPages bounds the memory in pages of 64 KiB; 0 leaves it as it is.
	MemoryPages uint32
	// TableElements bounds all tables together; 0 leaves them as they are.
	TableElements uint32
	// Detach leaves out the data segments and makes the start function the export [Start], for a
	// host that lays out the memory itself. The module must be [Detachable].
	Detach bool
}

// Rewrite returns the metered module. Its only error is a *[ReservedError].
func Rewrite(m *wasmfile.Module, options Options) ([]byte, error) {
	if err := Check(m); err != nil {
		return nil, err
	}
	size := m.Size()
	w := &rewriter{m: m, options: options, out: make([]byte, 0, size+size/16+1024)}
	w.plan()
	w.module()
	return w.out, w.err
}

// Check returns a *[ReservedError] if Rewrite would.
func Check(m *wasmfile.Module) error {
	for _, i := range m.Imports {
		if i.Module == Module || strings.HasPrefix(i.Module, prefix) {
			return &ReservedError{i.Module}
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, prefix) {
			return &ReservedError{e.Name}
		}
	}
	return nil
}

type rewriter struct {
	m       *wasmfile.Module
	options Options
	out     []byte
	err     error

	// fuel is the index of the added global, and refused of the one after it, if any.
	fuel, refused uint32
	refuses       bool
	// refillType, slowType and the rest are the indexes of the added types.
	refillType, slowType, chargeType, fillType uint32
	// refill, slow and the rest are the indexes of the added functions.
	refill, slow, bytes, elements, grownPages, grownElements, fill uint32

	// refs are the indexes of functions that were not written yet.
	refs []wasmfile.FuncRef
	// data are the merged data segments, nil if the segments stay as they are.
	data []merged
	body function
}

// plan gives the additions their indexes. Each comes last in its index space, except for the
// imported function, which moves the module's own functions.
func (w *rewriter) plan() {
	m := w.m
	types := uint32(len(m.Types))
	w.refillType, w.slowType, w.chargeType, w.fillType = types, types+1, types+2, types+3
	w.fuel = uint32(len(m.Globals))
	w.refused = w.fuel + 1
	w.refuses = m.ChangesTables && len(m.Tables) > 0 && !slices.ContainsFunc(m.Tables, func(t wasmfile.Table) bool {
		return !w.bounds(t)
	})
	w.refill = uint32(m.ImportedFunctions)
	w.slow = uint32(len(m.Functions)) + 1
	w.bytes, w.elements, w.grownPages, w.grownElements, w.fill = w.slow+1, w.slow+2, w.slow+3, w.slow+4, w.slow+5
	w.refs = m.FuncRefs
	w.data = merge(m)
}

// moved is the new index of a function.
func (w *rewriter) moved(function uint32) uint32 {
	if function >= w.refill {
		return function + 1
	}
	return function
}

func (w *rewriter) module() {
	w.out = append(w.out, w.m.Bytes(0, wasmfile.HeaderSize)...)
	for _, s := range w.m.SectionsWith(
		wasmfile.SectionType, wasmfile.SectionImport, wasmfile.SectionFunction,
		wasmfile.SectionGlobal, wasmfile.SectionExport, wasmfile.SectionCode,
	) {
		switch {
		case s.ID == wasmfile.SectionCustom:
			w.custom(s)
		case w.options.Detach && detached(s.ID):
			w.skip(s)
		default:
			w.section(s)
		}
	}
}

// section writes one section; it is empty if the module has none.
func (w *rewriter) section(s wasmfile.Section) {
	w.out = append(w.out, s.ID)
	size := w.reserve()
	switch s.ID {
	case wasmfile.SectionType:
		w.types(s)
	case wasmfile.SectionImport:
		w.imports(s)
	case wasmfile.SectionFunction:
		w.items(s, "\x06")
		w.uleb(w.slowType)
		w.uleb(w.chargeType)
		w.uleb(w.chargeType)
		w.uleb(w.chargeType)
		w.uleb(w.chargeType)
		w.uleb(w.fillType)
	case wasmfile.SectionTable:
		w.tables()
	case wasmfile.SectionMemory:
		w.memories()
	case wasmfile.SectionGlobal:
		w.globals(s)
	case wasmfile.SectionExport:
		w.exports(s)
	case wasmfile.SectionStart:
		w.copy(s.Items, s.End)
	case wasmfile.SectionCode:
		w.code(s)
	case wasmfile.SectionData:
		w.segments(s)
	case wasmfile.SectionDataCount:
		if w.data != nil {
			w.uleb(uint32(len(w.data)))
		} else {
			w.copy(s.Items, s.End)
		}
	default:
		w.uleb(uint32(s.Count))
		w.copy(s.Items, s.End)
	}
	w.close(size)
}

// custom keeps a custom section, except for debugging information, whose offsets into the code are
// wrong now, and for an empty one, which wazero cannot read at the end of a module.
func (w *rewriter) custom(s wasmfile.Section) {
	custom := w.m.Customs[s.Custom]
	if strings.HasPrefix(custom.Name, ".debug_") || len(custom.Data) == 0 && custom.Name != wasmfile.NameSection {
		return
	}
	data := custom.Data
	if custom.Name == wasmfile.NameSection {
		var err error
		data, err = wasmfile.InsertFunction(data, wasmfile.NamedFunction{Index: w.refill, Name: Module + "." + Refill},
			wasmfile.NamedFunction{Index: w.slow, Name: prefix + "slow"},
			wasmfile.NamedFunction{Index: w.bytes, Name: prefix + "bytes"},
			wasmfile.NamedFunction{Index: w.elements, Name: prefix + "elements"},
			wasmfile.NamedFunction{Index: w.grownPages, Name: prefix + "grown-pages"},
			wasmfile.NamedFunction{Index: w.grownElements, Name: prefix + "grown-elements"},
			wasmfile.NamedFunction{Index: w.fill, Name: prefix + "fill"})
		if err != nil && w.err == nil {
			w.err = err
		}
	}
	w.out = append(w.out, s.ID)
	size := w.reserve()
	w.name(custom.Name)
	w.out = append(w.out, data...)
	w.close(size)
}

// types adds the types of refill, slow, the charging functions, and fill.
func (w *rewriter) types(s wasmfile.Section) {
	const (
		refill = "\x60\x01\x7e\x01\x7e"
		slow   = "\x60\x00\x00"
		charge = "\x60\x02\x7f\x7f\x01\x7f"
		fill   = "\x60\x03\x7f\x7f\x7f\x00"
	)
	w.items(s, "\x04")
	w.out = append(w.out, refill+slow+charge+fill...)
}

func (w *rewriter) imports(s wasmfile.Section) {
	w.items(s, "\x01")
	w.name(Module)
	w.name(Refill)
	w.out = append(w.out, api.ExternTypeFunc)
	w.uleb(w.refillType)
}

func (w *rewriter) globals(s wasmfile.Section) {
	added := "\x01"
	if w.refuses {
		added = "\x02"
	}
	w.items(s, added)
	w.out = append(w.out, api.ValueTypeI64, 1, byte(wasmfile.OpI64Const), 0, byte(wasmfile.OpEnd))
	if w.refuses {
		w.out = append(w.out, api.ValueTypeI32, 1, byte(wasmfile.OpI32Const), 0, byte(wasmfile.OpEnd))
	}
}

func (w *rewriter) exports(s wasmfile.Section) {
	var indexes []int
	for i, g := range w.m.Globals[w.m.ImportedGlobals:] {
		if g.Mutable && numeric(g.Type) {
			indexes = append(indexes, w.m.ImportedGlobals+i)
		}
	}
	start := w.options.Detach && w.m.HasStart
	added := len(indexes) + 1
	if start {
		added++
	}
	if w.refuses {
		added++
	}
	w.uleb(uint32(s.Count + added))
	w.copy(s.Items, s.End)
	if start {
		w.name(Start)
		w.out = append(w.out, api.ExternTypeFunc)
		w.uleb(w.moved(w.m.Start))
	}
	for _, index := range indexes {
		w.name(GlobalName(index))
		w.out = append(w.out, api.ExternTypeGlobal)
		w.uleb(uint32(index))
	}
	w.name(Fuel)
	w.out = append(w.out, api.ExternTypeGlobal)
	w.uleb(w.fuel)
	if w.refuses {
		w.name(Refused)
		w.out = append(w.out, api.ExternTypeGlobal)
		w.uleb(w.refused)
	}
}

func (w *rewriter) tables() {
	w.uleb(uint32(len(w.m.Tables)))
	for _, t := range w.m.Tables {
		w.out = append(w.out, t.Type)
		w.limits(t.Range, w.mostElements())
	}
}

// mostElements is the maximum of one table, 0 for none.
func (w *rewriter) mostElements() uint32 {
	if w.options.TableElements == 0 {
		return 0
	}
	return max(1, w.options.TableElements/uint32(len(w.m.Tables)))
}

// bounds reports whether the maximum of the table is the one of the options.
func (w *rewriter) bounds(t wasmfile.Table) bool {
	most := w.mostElements()
	return most != 0 && (!t.HasMax || t.Max > most)
}

func (w *rewriter) memories() {
	w.uleb(uint32(len(w.m.Memories)))
	for _, m := range w.m.Memories {
		w.limits(m, w.options.MemoryPages)
	}
}

// limits writes the lower maximum of the module's own and most. A maximum below the minimum stays,
// because it makes the module invalid.
func (w *rewriter) limits(r wasmfile.Range, most uint32) {
	if most != 0 {
		most = max(most, r.Min)
		if !r.HasMax || r.Max > most {
			r.Max, r.HasMax = most, true
		}
	}
	if !r.HasMax {
		w.out = append(w.out, 0)
		w.uleb(r.Min)
		return
	}
	w.out = append(w.out, 1)
	w.uleb(r.Min)
	w.uleb(r.Max)
}

// items writes the items of a section and announces more.
func (w *rewriter) items(s wasmfile.Section, more string) {
	w.uleb(uint32(s.Count) + uint32(more[0]))
	w.copy(s.Items, s.End)
}

// copy writes a part of the file, with the new indexes of functions.
func (w *rewriter) copy(start, end int) {
	for len(w.refs) > 0 && w.refs[0].Start < end {
		ref := w.refs[0]
		w.refs = w.refs[1:]
		w.out = append(w.out, w.m.Bytes(start, ref.Start)...)
		w.uleb(w.moved(ref.Index))
		start = ref.End
	}
	w.out = append(w.out, w.m.Bytes(start, end)...)
}

func (w *rewriter) uleb(v uint32) { w.out = binary.AppendUvarint(w.out, uint64(v)) }

func (w *rewriter) name(s string) {
	w.uleb(uint32(len(s)))
	w.out = append(w.out, s...)
}

// reserve leaves room for the length of the following bytes. close fills it in.
func (w *rewriter) reserve() (at int) {
	w.out = append(w.out, 0, 0, 0, 0, 0)
	return len(w.out)
}

func (w *rewriter) close(at int) { putPadded(w.out[at-paddedSize:at], uint64(len(w.out)-at)) }

// paddedSize is the length of a padded LEB128 number of 32 bits.
const paddedSize = 5

// putPadded writes a LEB128 number of that length, signed or unsigned, below 1<<34.
func putPadded(to []byte, v uint64) {
	for i := range paddedSize {
		to[i] = byte(v&0x7f) | 0x80
		v >>= 7
	}
	to[paddedSize-1] &= 0x7f
}
