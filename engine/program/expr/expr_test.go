package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/stretchr/testify/require"
)

// read parses the text of one expression.
func read(t testing.TB, text string) (Expr, *source.Report) {
	t.Helper()
	r := &source.Report{File: source.NewFile("f.yaml", []byte(text))}
	root, err := source.Parse(r.File, []byte(text))
	require.NoError(t, err)
	return Parse(r, root), r
}

// show writes an expression as a term.
func show(e Expr) string {
	list := func(elements []Expr) string {
		shown := make([]string, len(elements))
		for i, e := range elements {
			shown[i] = show(e)
		}
		return strings.Join(shown, ", ")
	}
	switch e := e.(type) {
	case *Literal:
		switch e.Value.Kind() {
		case property.KindNull:
			return "null"
		case property.KindBool:
			b, _ := e.Value.AsBool()
			return fmt.Sprint(b)
		case property.KindNumber:
			f, _ := e.Value.AsNumber()
			return fmt.Sprint(f)
		}
		s, _ := e.Value.AsString()
		return fmt.Sprintf("%q", s)
	case *Access:
		return e.String()
	case *Text:
		var b strings.Builder
		for _, p := range e.Parts {
			b.WriteString(p.Text)
			if p.Access != nil {
				b.WriteString(p.Access.String())
			}
		}
		return "`" + b.String() + "`"
	case *List:
		return "[" + list(e.Elements) + "]"
	case *Object:
		shown := make([]string, len(e.Entries))
		for i, entry := range e.Entries {
			shown[i] = show(entry.Key) + ": " + show(entry.Value)
		}
		return "{" + strings.Join(shown, ", ") + "}"
	case *Call:
		return e.Function.String() + "(" + list(e.Args) + ")"
	case *Invoke:
		s := e.Token + "(" + show(e.Args) + ")"
		if e.Return != "" {
			s += "." + e.Return
		}
		for name, option := range map[string]Expr{"parent": e.Parent, "provider": e.Provider, "dependsOn": e.DependsOn} {
			if option != nil {
				s += " " + name + "=" + show(option)
			}
		}
		if e.Version != "" {
			s += " version=" + e.Version
		}
		return s
	}
	return fmt.Sprintf("%T", e)
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"[~, null]":                  `[null, null]`,
		"true":                       `true`,
		"12":                         `12`,
		"0x10":                       `16`,
		"1.5e3":                      `1500`,
		`"12"`:                       `"12"`,
		"2001-01-01":                 `"2001-01-01"`,
		"yes":                        `"yes"`,
		"plain":                      `"plain"`,
		"${a}":                       `${a}`,
		"${a.b.c}":                   `${a.b.c}`,
		"${a[0].b[1][2]}":            `${a[0].b[1][2]}`,
		`${a["b c"].d}`:              `${a["b c"].d}`,
		`'${a["say \"hi\""]}'`:       `${a["say \"hi\""]}`,
		`'${["a.b"].c}'`:             `${a.b.c}`,
		"${aws:region}":              `${aws:region}`,
		"${my-pet.id}":               `${my-pet.id}`,
		"x ${a} y ${b.c}":            "`x ${a} y ${b.c}`",
		"${a}${b}":                   "`${a}${b}`",
		"$${a}":                      `"${a}"`,
		"$$${a}":                     "`$${a}`",
		"costs $5 or $$6":            `"costs $5 or $6"`,
		`[1, "${a}"]`:                `[1, ${a}]`,
		"{a: 1, b: [x]}":             `{"a": 1, "b": ["x"]}`,
		`{"${a}": 1, "x-${b}": 2}`:   "{${a}: 1, `x-${b}`: 2}",
		"fn::join: [',', [a, b]]":    `fn::join(",", ["a", "b"])`,
		"Fn::Join: [',', '${list}']": `fn::join(",", ${list})`,
		"fn::toJSON: {a: 1}":         `fn::toJSON({"a": 1})`,
		"fn::secret: '${a}'":         `fn::secret(${a})`,
		"fn::select: [0, [a]]":       `fn::select(0, ["a"])`,
		"fn::assetArchive: {a: {fn::stringAsset: x}}": `fn::assetArchive({"a": fn::stringAsset("x")})`,
		"fn::local:readFile: {path: x}":               `local:readFile({"path": "x"})`,
		"fn::local:index:readFile: ":                  `local:index:readFile({})`,
		"fn::invoke: {function: 'a:b:c', arguments: {d: '${e}'}, return: f, options: {version: 1.2.3, parent: '${p}'}}": `a:b:c({"d": ${e}}).f parent=${p} version=1.2.3`,
		"{fn: 1}": `{"fn": 1}`,
	} {
		e, r := read(t, text)
		require.Empty(t, r.Diagnostics(), text)
		require.Equal(t, want, show(e), text)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a ${b": `
f.yaml:1:3: this ${ has no closing }; for the text itself write $${
    1 | a ${b
      |   ^`,
		"é ${} ${c": `
f.yaml:1:5: the expression ${} names nothing
    1 | é ${} ${c
      |     ^`,
		"${a.}": `
f.yaml:1:5: a name is missing before the }
    1 | ${a.}
      |     ^`,
		"${a..b}": `
f.yaml:1:5: a name is missing before '.', or it must be quoted: ["a.name"]
    1 | ${a..b}
      |     ^`,
		"x: ${a b}": `
f.yaml:1:7: an expression has no spaces; a name with spaces is written ["a name"]
    1 | x: ${a b}
      |       ^`,
		"${[0].a}": `
f.yaml:1:3: an expression begins with a name, not with an index
    1 | ${[0].a}
      |   ^`,
		"${.a}": `
f.yaml:1:3: an expression begins with a name, not with a dot
    1 | ${.a}
      |   ^`,
		"${a[b]}": `
f.yaml:1:5: "b" is not an index; a key must be quoted: ["key"]
    1 | ${a[b]}
      |     ^`,
		"${a[99999999999]}": `
f.yaml:1:5: "99999999999" is not an index; a key must be quoted: ["key"]
    1 | ${a[99999999999]}
      |     ^`,
		"${a[0}": `
f.yaml:1:4: this [ has no closing ]
    1 | ${a[0}
      |    ^`,
		`${a["b}`: `
f.yaml:1:5: this quoted key has no closing "
    1 | ${a["b}
      |     ^`,
		`${a["b"}`: `
f.yaml:1:7: a ] must follow the quoted key
    1 | ${a["b"}
      |       ^`,
		`${a[0]b}`: `
f.yaml:1:7: a "." or "[" must stand before the next name
    1 | ${a[0]b}
      |       ^`,
		"text: |\n  first\n  ${a} ${b": `
f.yaml:3:8: this ${ has no closing }; for the text itself write $${
    3 |   ${a} ${b
      |        ^`,
		"fn::jion: [a, b]": `
f.yaml:1:1: unknown function "fn::jion"; did you mean "fn::join"?
    1 | fn::jion: [a, b]
      | ^
  a provider's function is called as fn::<package>:<module>:<function>`,
		"fn::join: [',', [a], b]": `
f.yaml:1:11: fn::join takes a list of 2: [delimiter, list]
    1 | fn::join: [',', [a], b]
      |           ^`,
		"fn::secret: 1\nother: 2": `
f.yaml:1:1: fn::secret must stand in a mapping of its own
    1 | fn::secret: 1
      | ^`,
		"fn::invoke: {arguments: {}}": `
f.yaml:1:1: fn::invoke has no function: it needs "function: <package>:<module>:<function>"
    1 | fn::invoke: {arguments: {}}
      | ^`,
		"fn::invoke: {function: '${a}'}": `
f.yaml:1:24: the function's name must be written out, it cannot be computed
    1 | fn::invoke: {function: '${a}'}
      |                        ^`,
		"fn::invoke: {function: 'a:b', args: {}, options: {versoin: 1}}": `
f.yaml:1:31: unknown key "args" in fn::invoke
    1 | fn::invoke: {function: 'a:b', args: {}, options: {versoin: 1}}
      |                               ^
  known keys: function, arguments, options, return
f.yaml:1:51: unknown key "versoin" in the options of a function; did you mean "version"?
    1 | fn::invoke: {function: 'a:b', args: {}, options: {versoin: 1}}
      |                                                   ^`,
		"fn::local:readFile: path": `
f.yaml:1:21: the arguments of a function are a mapping of names to values, not text
    1 | fn::local:readFile: path
      |                     ^`,
		"!Ref x": `
f.yaml:1:1: the YAML tag !Ref has no meaning here; remove it
    1 | !Ref x
      | ^`,
		"a: .nan": `
f.yaml:1:4: this is not a number that a property can hold; quote it if it is text
    1 | a: .nan
      |    ^`,
		"{a: 1, a: 2}": `
f.yaml:1:8: the key "a" is given twice; the first is on line 1
    1 | {a: 1, a: 2}
      |        ^`,
	} {
		_, r := read(t, text)
		require.Equal(t, strings.TrimPrefix(want, "\n"), r.Diagnostics().Error(), text)
	}
}

// A function's mistake inside a secret does not show the secret.
func TestSecretsAreNotShown(t *testing.T) {
	_, r := read(t, "a:\n  fn::secret: hunter2 ${x\nb: ${y\n")
	require.Equal(t, strings.TrimPrefix(`
f.yaml:2:23: this ${ has no closing }; for the text itself write $${
f.yaml:3:4: this ${ has no closing }; for the text itself write $${
    3 | b: ${y
      |    ^`, "\n"), r.Diagnostics().Error())
}

func TestAccesses(t *testing.T) {
	e, r := read(t, `
a: ["${one.x[2]}", "text ${two} ${three.y}"]
b:
  fn::invoke: {function: 'p:f', arguments: {z: '${four}'}, options: {provider: '${five}', dependsOn: ['${six}']}}
"${seven}": {fn::toJSON: '${eight}'}
`)
	require.Empty(t, r.Diagnostics())
	var names []string
	positions := map[string]source.Position{}
	Accesses(e, func(a *Access) {
		names = append(names, a.Name)
		positions[a.Name] = a.Position(r.File, 0)
		if a.Name == "one" {
			require.Equal(t, source.Position{Line: 2, Column: 12}, a.Position(r.File, 1))
			require.Equal(t, source.Position{Line: 2, Column: 13}, a.Position(r.File, 2))
		}
	})
	require.Equal(t, []string{"one", "two", "three", "four", "five", "six", "seven", "eight"}, names)
	require.Equal(t, source.Position{Line: 2, Column: 8}, positions["one"])
	require.Equal(t, source.Position{Line: 2, Column: 35}, positions["three"])
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"${a.b[0][\"c\"]} $${d} x", "fn::join: [',', ['${a}', b]]", "fn::invoke: {function: 'a:b:c', arguments: {}, return: x}",
		"fn::a:b: {c: 1}", "{a: {b: [1, 2.5, true, ~]}}", "${", "${}", "${a[", "é ${a", "fn::secret: |\n  x ${y\n",
		"&a {b: *a}", "a: &x 1\nb: *x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &source.Report{File: source.NewFile("f.yaml", []byte(text))}
		root, err := source.Parse(r.File, []byte(text))
		if err != nil {
			return
		}
		e := Parse(r, root)
		require.NotNil(t, e)
		show(e)
		Accesses(e, func(a *Access) {
			for i := range len(a.Path) + 1 {
				require.Positive(t, a.Position(r.File, i).Line)
			}
			if !strings.ContainsAny(a.Name, "[]") {
				again, _, err := parseAccess(strings.TrimPrefix(a.String(), "${"))
				if err == nil {
					require.Equal(t, a.Path.String(), again.Path.String())
				}
			}
		})
		for _, d := range r.Diagnostics() {
			require.Positive(t, d.Line)
		}
	})
}
