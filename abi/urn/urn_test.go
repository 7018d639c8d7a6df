package urn_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/urn"
)

const root = urn.URN("urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev")

func TestNew(t *testing.T) {
	vpc := urn.New("dev", "shop", "", "acme:net:Vpc", "main")
	subnet := urn.New("dev", "shop", vpc, "acme:net:Subnet", "a")
	for _, test := range []struct {
		name string
		got  urn.URN
		want urn.URN
	}{
		{"no parent", vpc, "urn:pulumi:dev::shop::acme:net:Vpc::main"},
		{"the stack as parent is left out", urn.New("dev", "shop", root, "acme:net:Vpc", "main"), "urn:pulumi:dev::shop::acme:net:Vpc::main"},
		{"a parent", subnet, "urn:pulumi:dev::shop::acme:net:Vpc$acme:net:Subnet::a"},
		{"a chain of parents", urn.New("dev", "shop", subnet, "aws:ec2/instance:Instance", "b"),
			"urn:pulumi:dev::shop::acme:net:Vpc$acme:net:Subnet$aws:ec2/instance:Instance::b"},
		{"a name with separators", urn.New("dev", "shop", vpc, "t", "a::b$c::"), "urn:pulumi:dev::shop::acme:net:Vpc$t::a::b$c::"},
		{"a parent whose name has separators", urn.New("dev", "shop", "urn:pulumi:dev::shop::p::a::b$c", "t", "x"), "urn:pulumi:dev::shop::p$t::x"},
		{"the stack itself", urn.New("dev", "shop", "", urn.RootType, "shop-dev"), root},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, test.got)
		})
	}
}

func TestParts(t *testing.T) {
	for _, test := range []struct {
		urn                                      urn.URN
		stack, project, qualifiedType, typ, name string
	}{
		{root, "dev", "shop", urn.RootType, urn.RootType, "shop-dev"},
		{"urn:pulumi:dev::shop::a:b:C$d:e:F::name", "dev", "shop", "a:b:C$d:e:F", "d:e:F", "name"},
		{"urn:pulumi:dev::shop::t::a::b::$c", "dev", "shop", "t", "t", "a::b::$c"},
		{"urn:pulumi:dev::shop::t::", "dev", "shop", "t", "t", ""},
		{"urn:pulumi:dev::shop::t:::x", "dev", "shop", "t", "t", ":x"},
		{"urn:pulumi:dev::shop::t", "", "", "", "", ""},
		{"no URN::a::b::c", "", "", "", "", ""},
		{"", "", "", "", "", ""},
	} {
		t.Run(string(test.urn), func(t *testing.T) {
			require.Equal(t, test.stack, test.urn.Stack())
			require.Equal(t, test.project, test.urn.Project())
			require.Equal(t, test.qualifiedType, test.urn.QualifiedType())
			require.Equal(t, test.typ, test.urn.Type())
			require.Equal(t, test.name, test.urn.Name())
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ in, err string }{
		{"", `invalid URN "": it must start with "urn:pulumi:"`},
		{"URN:pulumi:a::b::c::d", `invalid URN "URN:pulumi:a::b::c::d": it must start with "urn:pulumi:"`},
		{"urn:pulumi:a::b::c", `invalid URN "urn:pulumi:a::b::c": it must have the form urn:pulumi:<stack>::<project>::<type>::<name>`},
		{"urn:pulumi:::b::c::d", `invalid URN "urn:pulumi:::b::c::d": its stack is empty`},
		{"urn:pulumi:a::::c::d", `invalid URN "urn:pulumi:a::::c::d": its project is empty`},
		{"urn:pulumi:a::b::::d", `invalid URN "urn:pulumi:a::b::::d": its type is empty`},
		{"urn:pulumi:a::b::c$::d", `invalid URN "urn:pulumi:a::b::c$::d": its type chain has an empty type`},
		{"urn:pulumi:a::b::$c::d", `invalid URN "urn:pulumi:a::b::$c::d": its type chain has an empty type`},
		{"urn:pulumi:a::b::c::\xff", "invalid URN \"urn:pulumi:a::b::c::\uFFFD\": it is not valid UTF-8"},
		{"\"\x1b[31m", "invalid URN \"\\\"\uFFFD[31m\": it must start with \"urn:pulumi:\""},
	} {
		t.Run(test.in, func(t *testing.T) {
			_, err := urn.Parse(test.in)
			require.EqualError(t, err, test.err)
			var syntax *urn.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Equal(t, test.in, syntax.Input)
		})
	}
}

// TestNewThenParse: the parts that a URN was made of are found in it.
func TestNewThenParse(t *testing.T) {
	part := rapid.StringMatching(`[a-zA-Z0-9._/-]{1,8}`)
	typ := rapid.StringMatching(`[a-z]{1,4}:[a-z/]{1,4}:[A-Z][a-z]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		stack, project := part.Draw(t, "stack"), part.Draw(t, "project")
		var parent urn.URN
		var want string
		for i, typ := range rapid.SliceOfN(typ, 1, 4).Draw(t, "types") {
			if want += typ; i > 0 {
				want = parent.QualifiedType() + "$" + typ
			}
			name := rapid.String().Draw(t, "name")
			u, err := urn.Parse(string(urn.New(stack, project, parent, typ, name)))
			require.NoError(t, err)
			require.Equal(t, stack, u.Stack())
			require.Equal(t, project, u.Project())
			require.Equal(t, want, u.QualifiedType())
			require.Equal(t, typ, u.Type())
			require.Equal(t, name, u.Name())
			parent = u
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{string(root), "urn:pulumi:a::b::c$d::e::f", "urn:pulumi:a::b::c", "urn:pulumi:::::::", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := urn.Parse(s)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		again := urn.New(u.Stack(), u.Project(), "", u.QualifiedType(), u.Name())
		require.Equal(t, u, again)
		child := urn.New(u.Stack(), u.Project(), u, "x:y:Z", "child")
		_, err = urn.Parse(string(child))
		require.NoError(t, err)
		require.Equal(t, "x:y:Z", child.Type())
	})
}
