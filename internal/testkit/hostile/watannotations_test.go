package hostile_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnnotations(t *testing.T) {
	for name, c := range map[string]struct{ text, same string }{
		"repetition": {
			`(module (@repeat 2 (func (@repeat 2 block (@repeat 3 nop) end))))`,
			`(module (func block nop nop nop end block nop nop nop end) (func block nop nop nop end block nop nop nop end))`,
		},
		"repetition of nothing": {`(module (@repeat 0 (func)))`, `(module)`},
		"locals":                {`(module (func (local (@repeat 3 i64) i32)))`, `(module (func (local i64 i64 i64 i32)))`},
		"bytes":                 {`(module (func (@bytes "\01\01")))`, `(module (func nop nop))`},
		"custom section":        {`(module (@custom "a" "bc"))`, `(module binary "\00asm\01\00\00\00\00\04\01abc")`},
		"sizes": {
			`(module binary "\00asm\01\00\00\00" "\03" (@sized (@leb 300) "ab"))`,
			`(module binary "\00asm\01\00\00\00\03\04\ac\02ab")`,
		},
		"include": {
			`(module (func $own (export "own")) (@rest) (func (call $included)))`,
			`(module (func (export "own")) (func (call 2)) (func (call 0)))`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			includes := map[string]include{"rest": func(exported func(string) bool) string {
				require.True(t, exported("own"))
				require.False(t, exported("other"))
				return "(func $included (call $own))"
			}}
			got, err := assembleText(c.text, includes)
			require.NoError(t, err)
			want, err := assembleText(c.same, nil)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestTextThatIsNoModule(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        "line 1: the text is not one module",
		"(module":                                 "line 1: a parenthesis is missing",
		"(module))":                               "line 1: a parenthesis too many",
		"(module (; (; ;) )":                      "line 1: a comment that does not end",
		"(module (data \"\\q\"))":                 "line 1: an escape that there is not",
		"(module\n(func (call $f)))":              "line 2: there is no $f",
		"(module\n(func (br $l)))":                "line 2: no block is named $l",
		"(module\n(func (i32.cons 1)))":           `line 2: there is no instruction "i32.cons"`,
		"(module\n(func\ni32.const))":             "line 3: something is missing at the end",
		"(module (func (i32.const 4294967296)))":  `line 1: "4294967296" is no number of 32 bits`,
		"(module (func (i32.const -2147483649)))": `line 1: "-2147483649" is no number of 32 bits`,
		"(module (func (local i33)))":             `line 1: "i33" is no type of values`,
		"(module (func block))":                   "line 1: a block does not end",
		"(module (func end))":                     "line 1: no block is open",
		"(module (@rest))":                        `line 1: "@rest" is no field of a module`,
		"(module (@repeat 10000001 (func)))":      "line 1: that is repeated too often",
	} {
		_, err := assembleText(text, nil)
		require.EqualError(t, err, want, text)
	}
}
