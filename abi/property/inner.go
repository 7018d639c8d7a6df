package property

// The functions of this file are for inner loops, in decoders and in guests. They do the work of Value's methods without copies:
// a Value is large, and in a guest a copy of one takes longer than most operations on it.

// KindIn is v.Kind.
func KindIn(v *Value) Kind { return v.kind }

// BoolIn is v.AsBool.
func BoolIn(v *Value) (b, ok bool) { return v.num != 0, v.kind == KindBool }

// NumberIn is v.AsNumber.
func NumberIn(v *Value) (f float64, ok bool) { return v.num, v.kind == KindNumber }

// IntegerIn returns the integer that v is, see Value.IsInteger.
func IntegerIn(v *Value) (i int64, ok bool) {
	i = int64(v.num)
	return i, v.kind == KindNumber && float64(i) == v.num && i >= -1<<53 && i <= 1<<53
}

// StringIn is v.AsString.
func StringIn(v *Value) (s string, ok bool) { return v.str, v.kind == KindString }

// ObjectIn is v.AsObject.
func ObjectIn(v *Value) (m Map, ok bool) {
	o, ok := v.ref.(*object)
	return Map{o: o}, ok
}

// PlainIn is v.Plain. Nobody may change the value behind the result.
func PlainIn(v *Value) *Value {
	for {
		switch v.kind {
		case KindSecret:
			v = v.ref.(*Value)
		case KindOutput:
			v = &v.ref.(*Output).Value
		default:
			return v
		}
	}
}

// PutString makes null, such as an element of a new slice, the value String(s).
func PutString(null *Value, s string) { null.kind, null.str = KindString, s }

// PutNumber makes null the value Number(f).
func PutNumber(null *Value, f float64) { null.kind, null.num = KindNumber, f }

// PutObject makes null the value Object(m).
func PutObject(null *Value, m Map) { null.kind, null.ref = KindObject, m.o }

// SeekKey returns the index of key in entries, which are in the order of CompareKeys, searching from
// an index on. If it is not there, the result is -1 minus the index where it belongs. Looking for
// several keys in that order takes one pass.
func SeekKey(entries []Entry, from int, key string) int { return seekKey(entries, from, key) }
