package meter_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

// value is an argument or an expected result in the standard's tests.
type value struct {
	Type  string          `json:"type"`
	Lanes string          `json:"lane_type"`
	Value json.RawMessage `json:"value"`
}

// lanes are the numbers of a value, as text, and how many bits each has.
func (v value) lanes() (texts []string, size int) {
	kind := v.Type
	if kind == "v128" {
		kind = v.Lanes
		if err := json.Unmarshal(v.Value, &texts); err != nil {
			panic(err)
		}
	} else {
		texts = make([]string, 1)
		if v.Value != nil {
			if err := json.Unmarshal(v.Value, &texts[0]); err != nil {
				panic(err)
			}
		}
	}
	switch kind {
	case "i8":
		return texts, 8
	case "i16":
		return texts, 16
	case "i32", "f32":
		return texts, 32
	}
	return texts, 64
}

// bits are the value as wazero takes it.
func (v value) bits() []uint64 {
	texts, size := v.lanes()
	out := make([]uint64, (len(texts)*size+63)/64)
	for i, text := range texts {
		out[i*size/64] |= v.lane(text, size) << (i * size % 64)
	}
	return out
}

func (v value) lane(text string, size int) uint64 {
	switch {
	case text == "null" || text == "":
		return 0
	case strings.HasPrefix(text, "nan:") && size == 32:
		return uint64(math.Float32bits(float32(math.NaN())))
	case strings.HasPrefix(text, "nan:"):
		return math.Float64bits(math.NaN())
	case strings.HasPrefix(text, "-"):
		n, err := strconv.ParseInt(text, 10, size)
		if err != nil {
			panic(err)
		}
		return uint64(n) & (1<<(size-1)<<1 - 1)
	}
	n, err := strconv.ParseUint(text, 10, size)
	if err != nil {
		panic(err)
	}
	if v.Type == "externref" {
		n++ // 0 is null
	}
	return n
}

// compare holds results against what is expected of them.
func compare(expected []value, got []uint64, types []api.ValueType) error {
	if len(types) != len(expected) {
		return fmt.Errorf("got %d results, expected %d", len(types), len(expected))
	}
	for i, v := range expected {
		texts, size := v.lanes()
		words := (len(texts)*size + 63) / 64
		for j, text := range texts {
			mask := uint64(1)<<(size-1)<<1 - 1
			lane := got[j*size/64] >> (j * size % 64) & mask
			if v.Value == nil && strings.HasSuffix(v.Type, "ref") {
				continue // any reference
			}
			if !v.accepts(text, lane, size) {
				return fmt.Errorf("result %d, part %d: got %#x, expected %s", i, j, lane, text)
			}
		}
		got = got[words:]
	}
	return nil
}

// accepts compares the bits of one number. Of numbers that are none, the standard
// leaves some bits open.
func (v value) accepts(text string, lane uint64, size int) bool {
	if !strings.HasPrefix(text, "nan:") {
		return lane == v.lane(text, size)
	}
	sign, quiet := uint64(1)<<31, uint64(0x7fc00000)
	if size == 64 {
		sign, quiet = 1<<63, 0x7ff8000000000000
	}
	if text == "nan:canonical" {
		return lane&^sign == quiet
	}
	return lane&quiet == quiet
}
