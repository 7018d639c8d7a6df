package meter

import (
	"cmp"
	"slices"

	"github.com/husk-dev/husk/internal/base/sorted"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// merged is a data segment of the rewritten module: near segments of the original, in the order of
// addresses.
type merged []wasmfile.Segment

// largestGap is the number of zero bytes between segments that are cheaper than another segment. wazero keeps 24 bytes of a
// segment for each instance.
const largestGap = 64

// pageSize is the page size of memory, in bytes.
const pageSize = 64 << 10

// merge joins data segments. Go's linker writes one for each few bytes that are not zero, up to
// 100,000. It returns nil if that could make a difference: if segments overlap, do not fit, or are
// used by code, or the memory is imported.
func merge(m *wasmfile.Module) []merged {
	if len(m.Segments) < 2 || !Detachable(m) {
		return nil
	}
	segments := slices.Clone(m.Segments)
	byOffset := func(a, b wasmfile.Segment) int { return cmp.Compare(a.Offset, b.Offset) }
	if !slices.IsSortedFunc(segments, byOffset) {
		sorted.By(segments, byOffset)
	}
	var all []merged
	end := uint64(0) // of the segment before
	first := 0
	for i, s := range segments {
		if uint64(s.Offset) < end {
			return nil
		}
		if i > 0 && uint64(s.Offset)-end > largestGap {
			all = append(all, segments[first:i])
			first = i
		}
		end = uint64(s.Offset) + uint64(len(s.Data))
	}
	return append(all, segments[first:])
}

func (w *rewriter) segments(s wasmfile.Section) {
	if w.data == nil {
		w.uleb(uint32(s.Count))
		w.copy(s.Items, s.End)
		return
	}
	w.uleb(uint32(len(w.data)))
	for _, group := range w.data {
		start, last := group[0].Offset, group[len(group)-1]
		w.out = wasmfile.AppendConst(append(w.out, 0), wasmfile.OpI32Const, int64(int32(start)))
		w.out = wasmfile.AppendOps(w.out, wasmfile.OpEnd)
		w.uleb(last.Offset + uint32(len(last.Data)) - start)
		at := start
		for _, segment := range group {
			w.out = append(w.out, zeros[:segment.Offset-at]...)
			w.out = append(w.out, segment.Data...)
			at = segment.Offset + uint32(len(segment.Data))
		}
	}
}

// zeros fill gaps.
const zeros = "" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
