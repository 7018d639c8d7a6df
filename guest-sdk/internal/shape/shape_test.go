package shape

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

type colour string

type inner struct {
	Name  string  `husk:"name"`
	Next  *inner  `husk:"next"`
	Inner []inner `husk:"inner,optional"`
}

type embedded struct {
	Flag bool `husk:"flag"`
}

type everything struct {
	embedded
	B   bool                        `husk:"b"`
	I8  int8                        `husk:"i8"`
	I16 int16                       `husk:"i16"`
	I32 int32                       `husk:"i32"`
	I64 int64                       `husk:"i64"`
	I   int                         `husk:"i"`
	U8  uint8                       `husk:"u8"`
	U16 uint16                      `husk:"u16"`
	U32 uint32                      `husk:"u32"`
	U64 uint64                      `husk:"u64"`
	U   uint                        `husk:"u"`
	F32 float32                     `husk:"f32"`
	F64 float64                     `husk:"f64"`
	S   string                      `husk:"s"`
	C   colour                      `husk:"c"`
	PB  *bool                       `husk:"pb"`
	PI  *int16                      `husk:"pi"`
	PF  *float64                    `husk:"pf"`
	PS  *colour                     `husk:"ps"`
	PN  *inner                      `husk:"pn"`
	LS  []string                    `husk:"ls"`
	LB  []bool                      `husk:"lb"`
	LI  []int32                     `husk:"li"`
	LP  []*string                   `husk:"lp"`
	LN  []inner                     `husk:"ln"`
	LL  [][]uint16                  `husk:"ll"`
	LM  []map[string]string         `husk:"lm"`
	MS  map[string]string           `husk:"ms"`
	MC  map[colour]colour           `husk:"mc"`
	MB  map[string]bool             `husk:"mb"`
	M16 map[string]int16            `husk:"m16"`
	M32 map[string]float32          `husk:"m32"`
	M64 map[string]uint64           `husk:"m64"`
	MP  map[string]*inner           `husk:"mp"`
	ML  map[string][]inner          `husk:"ml"`
	MM  map[string]map[string]*int8 `husk:"mm"`
	N   inner                       `husk:"n"`
	V   property.Value              `husk:"v,optional"`
	P   property.Map                `husk:"p"`
	A   property.Asset              `husk:"a"`
	R   property.Archive            `husk:"r"`
	E   property.ResourceReference  `husk:"e"`
	Not chan int                    `husk:"-"`
}

func outputs(t require.TestingT, v any) *Shape {
	b := Builder{Package: "p"}
	s, err := b.Outputs(reflect.TypeOf(v))
	require.NoError(t, err)
	return s
}

func anInner(depth int) *rapid.Generator[inner] {
	return rapid.Custom(func(t *rapid.T) inner {
		n := inner{Name: rapid.String().Draw(t, "name")}
		if depth > 0 {
			n.Next = rapid.Ptr(anInner(depth-1), true).Draw(t, "next")
			n.Inner = rapid.SliceOfN(anInner(depth-1), 0, 2).Draw(t, "inner")
		}
		return n
	})
}

// anEverything generates values of every kind.
func anEverything() *rapid.Generator[everything] {
	safe := rapid.Int64Range(-integerLimit, integerLimit)
	str := rapid.String()
	n := anInner(2)
	return rapid.Custom(func(t *rapid.T) everything {
		return everything{
			embedded: embedded{rapid.Bool().Draw(t, "flag")},
			B:        rapid.Bool().Draw(t, "b"), I8: rapid.Int8().Draw(t, "i8"), I16: rapid.Int16().Draw(t, "i16"),
			I32: rapid.Int32().Draw(t, "i32"), I64: safe.Draw(t, "i64"), I: int(safe.Draw(t, "i")),
			U8: rapid.Uint8().Draw(t, "u8"), U16: rapid.Uint16().Draw(t, "u16"), U32: rapid.Uint32().Draw(t, "u32"),
			U64: rapid.Uint64Range(0, integerLimit).Draw(t, "u64"), U: uint(rapid.Uint64Range(0, integerLimit).Draw(t, "u")),
			F32: rapid.Float32().Draw(t, "f32"), F64: rapid.Float64().Draw(t, "f64"),
			S: str.Draw(t, "s"), C: colour(str.Draw(t, "c")),
			PB: rapid.Ptr(rapid.Bool(), true).Draw(t, "pb"), PI: rapid.Ptr(rapid.Int16(), true).Draw(t, "pi"),
			PF: rapid.Ptr(rapid.Float64(), true).Draw(t, "pf"),
			PS: rapid.Ptr(rapid.Map(str, func(s string) colour { return colour(s) }), true).Draw(t, "ps"),
			PN: rapid.Ptr(n, true).Draw(t, "pn"),
			LS: rapid.SliceOf(str).Draw(t, "ls"), LB: rapid.SliceOf(rapid.Bool()).Draw(t, "lb"),
			LI: rapid.SliceOf(rapid.Int32()).Draw(t, "li"), LP: rapid.SliceOf(rapid.Ptr(str, false)).Draw(t, "lp"),
			LN: rapid.SliceOfN(n, 0, 3).Draw(t, "ln"), LL: rapid.SliceOf(rapid.SliceOf(rapid.Uint16())).Draw(t, "ll"),
			LM: rapid.SliceOfN(rapid.MapOf(str, str), 0, 3).Draw(t, "lm"), MS: rapid.MapOf(str, str).Draw(t, "ms"),
			MC: map[colour]colour{colour(str.Draw(t, "mck")): colour(str.Draw(t, "mcv"))},
			MB: rapid.MapOf(str, rapid.Bool()).Draw(t, "mb"), M16: rapid.MapOf(str, rapid.Int16()).Draw(t, "m16"),
			M32: rapid.MapOf(str, rapid.Float32()).Draw(t, "m32"),
			M64: rapid.MapOf(str, rapid.Uint64Range(0, integerLimit)).Draw(t, "m64"),
			MP:  rapid.MapOfN(str, rapid.Ptr(n, false), 0, 3).Draw(t, "mp"),
			ML:  rapid.MapOfN(str, rapid.SliceOfN(n, 0, 2), 0, 3).Draw(t, "ml"),
			MM:  rapid.MapOfN(str, rapid.MapOf(str, rapid.Ptr(rapid.Int8(), false)), 0, 3).Draw(t, "mm"),
			N:   n.Draw(t, "n"),
			V:   property.Array(property.Bool(true), property.Secret(property.String("x")), property.Unknown),
			P:   property.NewMap(property.Entry{Key: "k", Value: property.Null}),
			A:   property.Asset{Source: property.SourceText, Text: str.Draw(t, "a")},
			R:   property.Archive{Source: property.SourcePath, Path: str.Draw(t, "r")},
			E:   property.ResourceReference{URN: "u", HasID: true, ID: str.Draw(t, "e")},
		}
	})
}

// Every value that a Go type can hold comes back from its properties.
func TestStoreThenLoad(t *testing.T) {
	s := outputs(t, everything{})
	rapid.Check(t, func(t *rapid.T) {
		in := anEverything().Draw(t, "in")
		m, err := s.Store(unsafe.Pointer(&in))
		require.NoError(t, err)
		var out everything
		require.NoError(t, s.Load(m, unsafe.Pointer(&out)))
		require.Equal(t, in, out)
	})
}

func TestNilIsLeftOut(t *testing.T) {
	m, err := outputs(t, everything{}).Store(unsafe.Pointer(&everything{}))
	require.NoError(t, err)
	for _, name := range []string{"pb", "pi", "pn", "ls", "ln", "ms", "mp", "v"} {
		require.False(t, m.Has(name), name)
	}
	for _, name := range []string{"b", "i", "s", "n", "p", "flag"} {
		require.True(t, m.Has(name), name)
	}
	// What is empty is not nil.
	m, err = outputs(t, everything{}).Store(unsafe.Pointer(&everything{LS: []string{}, LN: []inner{}, MS: map[string]string{}}))
	require.NoError(t, err)
	var out everything
	require.NoError(t, outputs(t, everything{}).Load(m, unsafe.Pointer(&out)))
	require.NotNil(t, out.LS)
	require.NotNil(t, out.LN)
	require.NotNil(t, out.MS)
}

type optionals struct {
	Needed  string   `husk:"needed"`
	Zero    string   `husk:"zero,optional"`
	Default int      `husk:"default,default=3"`
	Nested  switches `husk:"nested,optional"`
}

type switches struct {
	Off bool `husk:"off,optional"`
}

func TestOptionalZeros(t *testing.T) {
	b := Builder{Package: "p"}
	in, err := b.Inputs(reflect.TypeFor[optionals]())
	require.NoError(t, err)
	m, err := in.Store(unsafe.Pointer(&optionals{}))
	require.NoError(t, err)
	require.Equal(t, []string{"default", "needed"}, m.Keys(), "of inputs, optional zeros are left out")

	m, err = outputs(t, optionals{}).Store(unsafe.Pointer(&optionals{}))
	require.NoError(t, err)
	require.Equal(t, []string{"default", "needed", "nested", "zero"}, m.Keys(), "of outputs, nothing is")
}

func TestLoadMismatch(t *testing.T) {
	s := outputs(t, everything{})
	object := func(pairs ...any) property.Value {
		m := map[string]property.Value{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1].(property.Value)
		}
		return property.Object(property.MapOf(m))
	}
	str, num := property.String("x"), func(f float64) property.Value { return property.Number(f) }
	for _, test := range []struct {
		name    string
		value   property.Value
		path    string
		message string
	}{
		{"b", str, "b", "expected bool, got string"},
		{"s", num(1), "s", "expected string, got number"},
		{"i", str, "i", "expected integer, got string"},
		{"i", num(1.5), "i", "expected integer, got number"},
		{"i8", num(128), "i8", "out of range"},
		{"i16", num(-40000), "i16", "out of range"},
		{"i32", num(1 << 31), "i32", "out of range"},
		{"u8", num(-1), "u8", "out of range"},
		{"u16", num(1 << 16), "u16", "out of range"},
		{"u32", num(1 << 32), "u32", "out of range"},
		{"u64", num(-1), "u64", "out of range"},
		{"i64", num(1e18), "i64", "expected integer"},
		{"f64", str, "f64", "expected number, got string"},
		{"ps", num(1), "ps", "expected string, got number"},
		{"pn", object("next", object("name", num(1))), "pn.next.name", "expected string, got number"},
		{"ls", property.Array(str, num(1)), "ls[1]", "expected string, got number"},
		{"ln", str, "ln", "expected array of object p:index/inner:Inner, got string"},
		{"ms", object("a b", num(1)), `ms["a b"]`, "expected string, got number"},
		{"mp", object("k", object("name", num(1))), "mp.k.name", "expected string, got number"},
		{"ml", object("k", property.Array(str)), "ml.k[0]", "expected object p:index/inner:Inner, got string"},
		{"n", str, "n", "expected object p:index/inner:Inner, got string"},
		{"p", str, "p", "expected map, got string"},
		{"a", str, "a", "expected asset, got string"},
		{"r", str, "r", "expected archive, got string"},
		{"e", num(1), "e", "expected resource, got number"},
	} {
		t.Run(test.path, func(t *testing.T) {
			var out everything
			err := s.Load(property.NewMap(property.Entry{Key: test.name, Value: property.Secret(test.value)}), unsafe.Pointer(&out))
			require.ErrorIs(t, err, abi.ErrInvalidArgument)
			require.Equal(t, test.path, abi.AsError(err).Path)
			require.ErrorContains(t, err, test.message)
		})
	}
}

func TestStoreBeyondDoubles(t *testing.T) {
	s := outputs(t, everything{})
	for path, v := range map[string]everything{
		"i64":   {I64: integerLimit + 1},
		"u64":   {U64: 1 << 63},
		"m64.k": {M64: map[string]uint64{"k": 1<<64 - 1}},
	} {
		_, err := s.Store(unsafe.Pointer(&v))
		require.Error(t, err)
		require.Equal(t, path, abi.AsError(err).Path)
	}
}

// Unknown and null properties leave a field at its zero; those without a field are
// passed over.
func TestLoadLeavesZeros(t *testing.T) {
	out := everything{}
	m := property.MapOf(map[string]property.Value{
		"s": property.Unknown, "i": property.Null, "ps": property.Secret(property.Unknown), "other": property.Bool(true),
		"ls": property.Array(property.Unknown, property.String("x")),
	})
	require.NoError(t, outputs(t, out).Load(m, unsafe.Pointer(&out)))
	require.Equal(t, everything{LS: []string{"", "x"}}, out)
}

func TestProperties(t *testing.T) {
	type tagged struct {
		Count  int      `husk:"count,default=2,min=1,max=10,replace" doc:"How many."`
		Sep    string   `husk:"sep,default=', ',oneof=', '|;"`
		Ratio  *float64 `husk:"ratio,min=0.5" deprecated:"Use count."`
		Chosen string   `husk:"chosen,computed,secret"`
		Fixed  string   `husk:"fixed,stable"`
	}
	b := Builder{Package: "p"}
	s, err := b.Inputs(reflect.TypeFor[tagged]())
	require.NoError(t, err)
	ref := func(f float64) *float64 { return &f }
	require.Equal(t, []schema.Property{
		{Name: "chosen", Type: &schema.Type{Kind: schema.KindString}, Computed: true, Secret: true},
		{Name: "count", Type: &schema.Type{Kind: schema.KindInteger}, Description: "How many.", Default: property.Number(2),
			Minimum: ref(1), Maximum: ref(10), Replace: true},
		{Name: "fixed", Type: &schema.Type{Kind: schema.KindString}, Required: true, Stable: true},
		{Name: "ratio", Type: &schema.Type{Kind: schema.KindNumber}, Minimum: ref(0.5), Deprecation: "Use count."},
		{Name: "sep", Type: &schema.Type{Kind: schema.KindString}, Default: property.String(", "),
			OneOf: []property.Value{property.String(", "), property.String(";")}},
	}, s.Object.Properties)

	out, err := b.Outputs(reflect.TypeFor[tagged]())
	require.NoError(t, err)
	require.Equal(t, schema.Property{Name: "count", Type: &schema.Type{Kind: schema.KindInteger}, Description: "How many.", Required: true},
		*out.Object.Property("count"), "what is about inputs does not count for outputs")
	require.False(t, out.Object.Property("ratio").Required)
}

func TestRefusedTypes(t *testing.T) {
	type Other struct {
		X int `husk:"x"`
	}
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"interface itself": {nil, "an interface is not a struct"},
		"no struct":        {1, "int is not a struct"},
		"no tag":           {struct{ Name string }{}, `.Name: it has no husk tag: name the property, as in husk:"length", or exclude the field with husk:"-"`},
		"no name": {struct {
			A string `husk:",optional"`
		}{}, `must begin with the property's name (letters, digits, and "_"), but begins with ""`},
		"strange name": {struct {
			A string `husk:"a-b"`
		}{}, `but begins with "a-b"`},
		"unknown option": {struct {
			A string `husk:"a,optinal"`
		}{}, `.A: the husk tag has "optinal", but its options are optional, computed,`},
		"option value": {struct {
			A string `husk:"a,default"`
		}{}, `has "default"`},
		"open quote": {struct {
			A string `husk:"a,default='x"`
		}{}, "an opening ' without a closing one"},
		"default": {struct {
			A int `husk:"a,default=x"`
		}{}, `.A: default: "x" is not a valid integer`},
		"fraction": {struct {
			A int `husk:"a,default=1.5"`
		}{}, `default: "1.5" is not a valid integer`},
		"bool": {struct {
			A bool `husk:"a,default=yes"`
		}{}, `default: "yes" is not a valid bool`},
		"default of a list": {struct {
			A []string `husk:"a,default=x"`
		}{}, "default: only a bool, number, or string can have it, not array of string"},
		"bound of a string": {struct {
			A string `husk:"a,min=1"`
		}{}, "min: only a number can have it, not string"},
		"bound": {struct {
			A int `husk:"a,max=x"`
		}{}, `max: "x" is not a valid integer`},
		"oneof": {struct {
			A int `husk:"a,oneof=1|b"`
		}{}, `oneof: "b" is not a valid integer`},
		"default of oneof": {struct {
			A string `husk:"a,oneof=x|y,default=z"`
		}{}, "default: z is not among the values of oneof"},
		"twice": {struct {
			A, B string `husk:"a"`
		}{}, `.B: the property "a" exists already`},
		"not exported": {struct {
			a string `husk:"a"`
		}{}, "it has a husk tag but is not exported"},
		"channel": {struct {
			A chan int `husk:"a"`
		}{}, "fields of type chan int are not supported"},
		"interface": {struct {
			A any `husk:"a"`
		}{}, "fields of type interface {} are not supported"},
		"bytes": {struct {
			A []byte `husk:"a"`
		}{}, "bytes are not supported; use a string"},
		"pointers": {struct {
			A **int `husk:"a"`
		}{}, "a pointer to ptr is not supported"},
		"pointer to slice": {struct {
			A *[]int `husk:"a"`
		}{}, "a pointer to slice is not supported; slice alone can be left out"},
		"map of structs": {struct {
			A map[string]Other `husk:"a"`
		}{}, "is not supported; use a map of pointers to it"},
		"map keys": {struct {
			A map[int]string `husk:"a"`
		}{}, "the keys of a map must be strings, not int"},
		"anonymous struct": {struct {
			A struct {
				B int `husk:"b"`
			} `husk:"a"`
		}{}, "a nested struct needs a name of its own"},
		"no properties": {struct {
			A reflect.Value `husk:"a"`
		}{}, "reflect.Value has no fields with husk tags"},
		"nested": {struct {
			A *switches
			B Other `husk:"b"`
		}{}, ".A: it has no husk tag"},
	} {
		t.Run(name, func(t *testing.T) {
			b := Builder{Package: "p"}
			_, err := b.Inputs(reflect.TypeOf(test.value))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestRefusedNamesakes(t *testing.T) {
	type inner struct {
		X int `husk:"x"`
	}
	b := Builder{Package: "p"}
	_, err := b.Inputs(reflect.TypeFor[everything]())
	require.NoError(t, err)
	_, err = b.Inputs(reflect.TypeFor[struct {
		A inner `husk:"a"`
	}]())
	require.ErrorContains(t, err, "would both be the type p:index/inner:Inner; rename one")
}
