package property_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
)

func parsePath(t require.TestingT, text string) property.Path {
	path, err := property.ParsePath(text)
	require.NoError(t, err)
	return path
}

func TestParsePath(t *testing.T) {
	key, index, wildcard := property.Key, property.Index, property.Wildcard()
	for _, test := range []struct {
		text      string
		path      property.Path
		canonical string // the text where empty
	}{
		{text: ""},
		{text: "root", path: property.Path{key("root")}},
		{text: "root.nested", path: property.Path{key("root"), key("nested")}},
		{text: `root["nested"]`, path: property.Path{key("root"), key("nested")}, canonical: "root.nested"},
		{text: `["root"].nested`, path: property.Path{key("root"), key("nested")}, canonical: "root.nested"},
		{text: "root.array[0][100].x", path: property.Path{key("root"), key("array"), index(0), index(100), key("x")}},
		{text: "[1]", path: property.Path{index(1)}},
		{text: `root["key with \"quotes\""]`, path: property.Path{key("root"), key(`key with "quotes"`)}},
		{text: `["a\\b"]`, path: property.Path{key(`a\b`)}},
		{text: `["key with a ."][7]`, path: property.Path{key("key with a ."), index(7)}},
		{text: `["]"]`, path: property.Path{key("]")}},
		{text: `[""]`, path: property.Path{key("")}},
		{text: `["0"]`, path: property.Path{key("0")}},
		{text: `["\u000a\u0041"]`, path: property.Path{key("\nA")}, canonical: `["\u000aA"]`},
		{text: `["\u202e"]`, path: property.Path{key("\u202e")}},
		{text: "$id._x2", path: property.Path{key("$id"), key("_x2")}},
		{text: "#initerror", path: property.Path{key("#initerror")}, canonical: `["#initerror"]`},
		{text: "tags.cost-centre", path: property.Path{key("tags"), key("cost-centre")}, canonical: `tags["cost-centre"]`},
		{text: "größe.0", path: property.Path{key("größe"), key("0")}, canonical: `["größe"]["0"]`},
		{text: "*", path: property.Path{wildcard}},
		{text: "a.*.b", path: property.Path{key("a"), wildcard, key("b")}},
		{text: "a[*][*]", path: property.Path{key("a"), wildcard, wildcard}, canonical: "a.*.*"},
		{text: `a["*"]`, path: property.Path{key("a"), wildcard}, canonical: "a.*"},
		{text: `a["\*"]`, path: property.Path{key("a"), key("*")}},
		{text: "a*", path: property.Path{key("a*")}, canonical: `["a*"]`},
	} {
		t.Run(test.text, func(t *testing.T) {
			path := parsePath(t, test.text)
			require.Equal(t, test.path, path)
			if test.canonical == "" {
				test.canonical = test.text
			}
			require.Equal(t, test.canonical, path.String())
		})
	}
}

func TestParsePathErrors(t *testing.T) {
	for _, test := range []struct{ text, err string }{
		{".", `invalid property path ".": character 1: a path starts with a name or a bracket`},
		{".a", `invalid property path ".a": character 1: a path starts with a name or a bracket`},
		{"a.", `invalid property path "a.": character 3: a name must follow "."`},
		{"a..b", `invalid property path "a..b": character 3: a name must follow "."`},
		{"a.[0]", `invalid property path "a.[0]": character 3: a name must follow "."`},
		{"a[0]b", `invalid property path "a[0]b": character 5: "." or "[" must follow "]"`},
		{"ä]", `invalid property path "ä]": character 2: a name with this character is written ["..."]`},
		{`a"b`, `invalid property path "a\"b": character 2: a name with this character is written ["..."]`},
		{"a\nb", `invalid property path "a\u000ab": character 2: a name with this character is written ["..."]`},
		{"a[", `invalid property path "a[": character 3: "]" is missing`},
		{"a[]", `invalid property path "a[]": character 3: an index (0, 1, ...), a name in quotes, or * must follow "["`},
		{"a[b]", `invalid property path "a[b]": character 3: an index (0, 1, ...), a name in quotes, or * must follow "["`},
		{"a[-1]", `invalid property path "a[-1]": character 3: an index (0, 1, ...), a name in quotes, or * must follow "["`},
		{"a[01]", `invalid property path "a[01]": character 3: an index (0, 1, ...), a name in quotes, or * must follow "["`},
		{"a[99999999999999999999]", `invalid property path "a[99999999999999999999]": character 3: the index is too large`},
		{`a["b`, `invalid property path "a[\"b": character 5: the closing quote (") is missing`},
		{`a["b"`, `invalid property path "a[\"b\"": character 6: "]" must follow the closing quote`},
		{`["\n"]`, `invalid property path "[\"\\n\"]": character 3: a backslash in quotes is written \\`},
		{`["\u12"]`, `invalid property path "[\"\\u12\"]": character 3: a backslash in quotes is written \\`},
		{`["\ud800"]`, `invalid property path "[\"\\ud800\"]": character 3: a backslash in quotes is written \\`},
		{"a.\xff", "invalid property path \"a.\uFFFD\": character 3: text is not valid UTF-8"},
		{"[\"\xff\"]", "invalid property path \"[\\\"\uFFFD\\\"]\": character 3: text is not valid UTF-8"},
	} {
		t.Run(test.text, func(t *testing.T) {
			_, err := property.ParsePath(test.text)
			require.EqualError(t, err, test.err)
		})
	}
}

func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"", "a.b", `root["a \"b\""][0].*`, `["\*"]`, `["\u000a"]`, "a[", "a..b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := property.ParsePath(text)
		if err != nil {
			var syntax *property.PathSyntaxError
			require.ErrorAs(t, err, &syntax)
			require.LessOrEqual(t, syntax.Offset, len(text))
			require.NotEmpty(t, err.Error())
			return
		}
		again, err := property.ParsePath(path.String())
		require.NoError(t, err)
		require.True(t, path.Equal(again), "%v and %v", path, again)
	})
}

// TestPathText: the text of any path is read back as that path.
func TestPathText(t *testing.T) {
	segment := rapid.OneOf(
		rapid.Map(rapid.String(), property.Key),
		rapid.Map(rapid.SampledFrom([]string{"", "*", `\*`, `"`, "a", "0", "[0]", "\x00"}), property.Key),
		rapid.Map(rapid.IntRange(0, 1<<40), property.Index),
		rapid.Just(property.Wildcard()),
	)
	rapid.Check(t, func(t *rapid.T) {
		path := property.Path(rapid.SliceOf(segment).Draw(t, "path"))
		require.True(t, path.Equal(parsePath(t, path.String())))
	})
}

func TestPathContains(t *testing.T) {
	for _, test := range []struct {
		path, other       string
		contains, matches bool
	}{
		{"", "", true, true},
		{"", "a.b", true, false},
		{"a", "a", true, true},
		{"a", "a.b[0]", true, false},
		{"a.b", "a", false, false},
		{"a", "ab", false, false},
		{"a.*", "a.b", true, true},
		{"a.*", "a[3]", true, true},
		{"a.*", "a", false, false},
		{"a[*].c", "a[0].c", true, true},
		{"a[*].c", "a[0].c.d", true, false},
		{"a[*].c", "a[0].d", false, false},
		{"a.b", "a.*", false, false},
		{"*", "a.b", true, false},
		{`a["0"]`, "a[0]", false, false},
	} {
		t.Run(test.path+" and "+test.other, func(t *testing.T) {
			path, other := parsePath(t, test.path), parsePath(t, test.other)
			require.Equal(t, test.contains, path.Contains(other))
			require.Equal(t, test.matches, path.Matches(other))
		})
	}
}

func TestPathAppendCopies(t *testing.T) {
	path := slices.Grow(parsePath(t, "a"), 5)
	b, c := path.Append(property.Key("b")), path.Append(property.Key("c"), property.Index(0))
	require.Equal(t, "a.b", b.String())
	require.Equal(t, "a.c[0]", c.String())
	require.False(t, b.IsPattern())
	require.True(t, b.Append(property.Wildcard()).IsPattern())
}
