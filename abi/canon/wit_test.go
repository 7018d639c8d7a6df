package canon_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.bytecodealliance.org/wit"

	"github.com/husk-dev/husk/abi/canon"
)

// witReader reads values by the WIT alone, as the canonical ABI's specification
// does, and shows them as canontest.Dump does. It shares nothing with the code that
// it checks but the parser of the WIT.
type witReader struct {
	memory []byte
}

func (r witReader) load(t wit.TypeDefKind, at uint32) string {
	u := func(n uint32) uint64 {
		var b [8]byte
		copy(b[:], r.memory[at:at+n])
		return binary.LittleEndian.Uint64(b[:])
	}
	if uintptr(at)%t.Align() != 0 {
		return fmt.Sprintf("misaligned %d", at)
	}
	name := typeName(t)
	switch k := root(t).(type) {
	case wit.Bool:
		return strconv.FormatBool(u(1) == 1)
	case wit.U8:
		return fmt.Sprint(u(1))
	case wit.U16:
		return fmt.Sprint(u(2))
	case wit.U32:
		return fmt.Sprint(u(4))
	case wit.U64:
		return fmt.Sprint(u(8))
	case wit.F64:
		return fmt.Sprint(math.Float64frombits(u(8)))
	case wit.String, *wit.List:
		ptr := uint32(u(4))
		at += 4
		return r.list(k, ptr, uint32(u(4)))
	case *wit.Enum:
		return k.Cases[u(1)].Name
	case *wit.Flags:
		return fmt.Sprint(u(1))
	case *wit.Record:
		var fields []string
		offset := uintptr(at)
		for _, f := range k.Fields {
			offset = wit.Align(offset, f.Type.Align())
			fields = append(fields, plain(f.Name)+": "+r.load(f.Type, uint32(offset)))
			offset += f.Type.Size()
		}
		return "{" + strings.Join(fields, ", ") + "}"
	default:
		v := wit.Despecialize(k).(*wit.Variant)
		c := v.Cases[u(1)]
		if c.Type == nil {
			return showCase(k, name, c.Name, "")
		}
		align := uintptr(1)
		for _, other := range v.Cases {
			if other.Type != nil {
				align = max(align, other.Type.Align())
			}
		}
		return showCase(k, name, c.Name, r.load(c.Type, uint32(wit.Align(uintptr(at)+1, align))))
	}
}

func (r witReader) list(k wit.TypeDefKind, ptr, n uint32) string {
	l, ok := k.(*wit.List)
	switch {
	case !ok:
		return strconv.Quote(string(r.memory[ptr : ptr+n]))
	case l.Type == wit.U8{}:
		return "0x" + hex.EncodeToString(r.memory[ptr:ptr+n])
	}
	elements := make([]string, n)
	for i := range elements {
		elements[i] = r.load(l.Type, ptr+uint32(i)*uint32(l.Type.Size()))
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

// flat reads a value that is passed in core arguments.
func (r witReader) flat(t wit.TypeDefKind, args *[]uint64) string {
	next := func() uint64 {
		v := (*args)[0]
		*args = (*args)[1:]
		return v
	}
	name := typeName(t)
	switch k := root(t).(type) {
	case wit.Bool:
		return strconv.FormatBool(next() == 1)
	case wit.U8, wit.U16, wit.U32, wit.U64, *wit.Flags:
		return fmt.Sprint(next())
	case wit.F64:
		return fmt.Sprint(math.Float64frombits(next()))
	case wit.String, *wit.List:
		ptr := uint32(next())
		return r.list(k, ptr, uint32(next()))
	case *wit.Enum:
		return k.Cases[next()].Name
	case *wit.Record:
		var fields []string
		for _, f := range k.Fields {
			fields = append(fields, plain(f.Name)+": "+r.flat(f.Type, args))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	default:
		v := wit.Despecialize(k).(*wit.Variant)
		rest := (*args)[len(v.Flat()):]
		c := v.Cases[next()]
		payload := ""
		if c.Type != nil {
			payload = r.flat(c.Type, args)
		}
		*args = rest
		return showCase(k, name, c.Name, payload)
	}
}

// params reads the parameters of a function.
func (r witReader) params(f *wit.Function, args []uint64) string {
	var texts []string
	flat := 0
	for _, p := range f.Params {
		flat += len(p.Type.Flat())
	}
	for _, p := range f.Params {
		if flat > wit.MaxFlatParams {
			texts = append(texts, r.load(p.Type, uint32(args[0]))) // our functions have one such parameter
		} else {
			texts = append(texts, r.flat(p.Type, &args))
		}
	}
	return strings.Join(texts, " ")
}

// result reads the result of a function: what Call.Answer and Call.Err hold.
func (r witReader) result(f *wit.Function, result uint64) (answer, err string) {
	if len(f.Results) == 0 {
		return "", ""
	}
	t := f.Results[0].Type
	if len(t.Flat()) == 1 {
		return r.flat(t, &[]uint64{result}), ""
	}
	text := r.load(t, uint32(result))
	if inner, ok := strings.CutPrefix(text, "error("); ok {
		return "", strings.TrimSuffix(inner, ")")
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, "ok("), ")"), ""
}

func showCase(k wit.TypeDefKind, name, c, payload string) string {
	switch k.(type) {
	case *wit.Option:
		if payload == "" {
			return "none"
		}
		return "some(" + payload + ")"
	case *wit.Result:
		return c + "(" + payload + ")"
	}
	if payload == "" {
		return plain(c)
	}
	return plain(c) + "(" + payload + ")"
}

func typeName(t wit.TypeDefKind) string {
	if td, ok := t.(*wit.TypeDef); ok {
		return td.TypeName()
	}
	return ""
}

func root(t wit.TypeDefKind) wit.TypeDefKind {
	for {
		td, ok := t.(*wit.TypeDef)
		if !ok {
			return t
		}
		t = td.Kind
	}
}

func plain(name string) string { return strings.ReplaceAll(name, "-", "") }

// coreSignature is the core type of a function by the wit package.
func coreSignature(f *wit.Function, exported bool) canon.Signature {
	direction := wit.Imported
	if exported {
		direction = wit.Exported
	}
	types := func(params []wit.Param) []canon.ValueType {
		var types []canon.ValueType
		for _, p := range params {
			switch p.Type.(type) {
			case wit.U64:
				types = append(types, canon.I64)
			case wit.F64:
				types = append(types, canon.F64)
			default:
				types = append(types, canon.I32)
			}
		}
		return types
	}
	core := f.CoreFunction(direction)
	return canon.Signature{Params: types(core.Params), Results: types(core.Results)}
}
