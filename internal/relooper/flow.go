package relooper

import (
	"encoding/binary"

	"github.com/husk-dev/husk/internal/wasmfile"
)

// flow is a function as Go's compiler writes it:
//
//	prologue
//	block                  where it calls a function: to leave it is to leave the goroutine
//	  loop                 where it jumps: to repeat it is to go on with another region
//	    block ... block    one for each region
//	      local.get 0
//	      br_table
//	    end
//	    region 0
//	    end
//	    region 1 ...
//	  end
//	  unreachable
//	end
//	rest
//
// The parameter selects the region to begin with, 0 the first one. A jump sets it, and repeats
// the loop. Nothing else reads what a jump has set; that this is so is not looked at here, see [Rewrite].
type flow struct {
	prologue []byte
	// unwinds reports whether there is the outer block.
	unwinds bool
	regions []region
	// code is that of the regions, one piece after the other.
	code []byte
	rest []byte
}

type region struct {
	pieces []piece
	// falls reports whether it may go on with the next region.
	falls bool
}

// piece is code up to the end of the region, or to a branch out of it.
type piece struct {
	start, end int // in flow.code, without the branch
	// op is br or br_if, or 0 at the end of a region.
	op wasmfile.Opcode
	// to is the target region of the branch, or unwind.
	to int
	// inside is the number of blocks of the region around the branch.
	inside int
}

// unwind is the target of a branch that leaves the goroutine.
const unwind = -1

// mostRegions bounds the work for one function. Go's have fewer, but for tables that are
// filled at the start, where nothing is to be gained.
const mostRegions = 4000

// read returns the flow of the i-th function that the module defines, nil for one of another form.
func read(m *wasmfile.Module, i int) *flow {
	code := m.Code(i)
	r := &flowReader{code: code, raw: code.Bytes()}
	if !r.head() || !r.table() {
		return nil
	}
	for at := range r.regions {
		if !r.region(at) {
			return nil
		}
	}
	if last := &r.regions[len(r.regions)-1]; last.falls {
		if !r.loops || r.raw[r.in.End] != byte(wasmfile.OpUnreachable) {
			return nil
		}
		r.out = append(r.out, byte(wasmfile.OpUnreachable))
		last.pieces[len(last.pieces)-1].end, last.falls = len(r.out), false
	}
	r.flow.code = r.out
	r.rest = r.raw[r.in.End:]
	if !r.loops {
		r.rest = r.raw[r.in.Start:]
	}
	return &r.flow
}

type flowReader struct {
	flow
	emitter
	code wasmfile.Code
	raw  []byte
	in   wasmfile.Instruction
	// opened are the blocks and loops before the table, outermost first.
	opened []wasmfile.Opcode
	// entries are the regions by the parameter, the last one for all others.
	entries []int
	loops   bool
}

// head reads up to the table.
func (r *flowReader) head() bool {
	for r.code.Next(&r.in) {
		switch r.in.Op {
		case wasmfile.OpBlock, wasmfile.OpLoop:
			if len(r.opened) == 0 {
				r.prologue = r.raw[:r.in.Start]
			}
			if r.raw[r.in.Start+1] != wasmfile.BlockEmpty {
				return false
			}
			r.opened = append(r.opened, r.in.Op)
		case wasmfile.OpLocalGet:
			return len(r.opened) > 0 && r.in.Index == 0 && r.code.Next(&r.in) && r.in.Op == wasmfile.OpBrTable
		case wasmfile.OpGlobalGet, wasmfile.OpLocalSet:
			if len(r.opened) > 0 || r.in.Op == wasmfile.OpLocalSet && r.in.Index == 0 {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// table reads the jump table, and the end of the innermost block.
func (r *flowReader) table() bool {
	labels := r.raw[r.in.Start+1 : r.in.End]
	_, n := binary.Uvarint(labels)
	blocks := 0
	for labels = labels[n:]; len(labels) > 0; labels = labels[n:] {
		var to uint64
		to, n = binary.Uvarint(labels)
		if to >= uint64(min(len(r.opened), mostRegions)) {
			return false
		}
		r.entries = append(r.entries, int(to))
		blocks = max(blocks, int(to)+1)
	}
	outer := r.opened[:len(r.opened)-blocks]
	if len(outer) > 0 && outer[0] == wasmfile.OpBlock {
		r.unwinds, outer = true, outer[1:]
	}
	if len(outer) > 0 && outer[0] == wasmfile.OpLoop {
		r.loops, outer = true, outer[1:]
	}
	if len(outer) > 0 || r.entries[0] != 0 {
		return false
	}
	for _, op := range r.opened[len(r.opened)-blocks:] {
		if op != wasmfile.OpBlock {
			return false
		}
	}
	r.regions = make([]region, blocks)
	return r.code.Next(&r.in) && r.in.Op == wasmfile.OpEnd
}

// region reads one region, and the end of its block.
func (r *flowReader) region(at int) bool {
	here := &r.regions[at]
	start, inside := len(r.out), 0
	last := wasmfile.OpNop
	for r.code.Next(&r.in) {
		switch r.in.Op {
		case wasmfile.OpBlock, wasmfile.OpLoop, wasmfile.OpIf:
			inside++
		case wasmfile.OpEnd:
			if inside == 0 {
				r.boundary()
				here.pieces = append(here.pieces, piece{start: start, end: len(r.out)})
				here.falls = !leaves(last)
				return true
			}
			inside--
		case wasmfile.OpBrTable:
			return false
		case wasmfile.OpBr, wasmfile.OpBrIf:
			label := int(r.in.Index)
			if label < inside {
				break
			}
			p := piece{start: start, op: r.in.Op, inside: inside}
			var ok bool
			if p.to, ok = r.target(at, label-inside); !ok {
				return false
			}
			if r.in.Op == wasmfile.OpBrIf {
				r.condition()
			}
			r.boundary()
			p.end = len(r.out)
			start = p.end
			here.pieces = append(here.pieces, p)
			if inside == 0 {
				last = r.in.Op
			}
			continue
		}
		if inside == 0 {
			last = r.in.Op
		}
		r.emit(&r.in, r.raw[r.in.Start:r.in.End])
	}
	return false
}

// target returns the target of a branch that leaves label blocks around a region. For a jump it
// takes back the instructions that set the parameter.
func (r *flowReader) target(at, label int) (to int, ok bool) {
	after := len(r.regions) - 1 - at
	if label < after {
		return at + 1 + label, true
	}
	label -= after
	if r.loops {
		if label == 0 {
			parameter, ok := r.takeParameter()
			if !ok || r.in.Op != wasmfile.OpBr {
				return 0, false
			}
			return r.entries[min(parameter, uint32(len(r.entries)-1))], true
		}
		label--
	}
	return unwind, label == 0 && r.unwinds
}

// leaves reports whether the code after an instruction is unreachable from there.
func leaves(op wasmfile.Opcode) bool {
	return op == wasmfile.OpBr || op == wasmfile.OpReturn || op == wasmfile.OpUnreachable
}
