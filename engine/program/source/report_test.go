package source

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func parse(t *testing.T, text string) (*Report, *yaml.Node) {
	t.Helper()
	f := NewFile("f.yaml", []byte(text))
	root, err := Parse(f, []byte(text))
	require.NoError(t, err)
	return &Report{File: f}, root
}

// However much there is to warn of, an error is told.
func TestWarningsLeaveRoomForErrors(t *testing.T) {
	r, root := parse(t, "a: 1\n")
	for i := range 2 * maxProblems {
		r.Warnf(root, "warning %d", i)
	}
	require.NoError(t, r.Diagnostics().Err())
	r.Errorf(root, "an error")
	require.ErrorContains(t, r.Diagnostics().Err(), "an error")
}

func TestFields(t *testing.T) {
	r, root := parse(t, "a: &x 1\nb: *x\na: 2\n[d]: 4\n")
	fields := r.Fields(root, "a thing")
	require.Len(t, fields, 2)
	require.Equal(t, "b", fields[1].Name)
	require.Equal(t, "1", fields[1].Value.Value, "the alias is resolved")
	require.Equal(t, strings.TrimPrefix(`
f.yaml:3:1: the key "a" is given twice; the first is on line 1
    3 | a: 2
      | ^
f.yaml:4:1: a key must be text, not a list
    4 | [d]: 4
      | ^`, "\n"), r.Diagnostics().Error())
}

func TestMergedFields(t *testing.T) {
	const anchors = "x: &one {a: 1, b: 1, c: 1}\ny: &two {<<: *one, b: 2, d: 2}\n"
	for text, want := range map[string]string{
		"{<<: *one}":                       "a1 b1 c1",
		"{b: 0, <<: *one, c: 0}":           "b0 c0 a1",
		"{<<: *two}":                       "b2 d2 a1 c1",
		"{<<: [*one, *two]}":               "a1 b1 c1 d2",
		"{<<: [*two, *one, {b: 3, e: 3}]}": "b2 d2 a1 c1 e3",
		`{"<<": 1}`:                        "<<1",
		"{<<: {}}":                         "",
	} {
		r, root := parse(t, anchors+"z: "+text+"\n")
		var got []string
		for _, f := range r.Fields(r.Fields(root, "a file")[2].Value, "a mapping") {
			got = append(got, f.Name+f.Value.Value)
		}
		require.Empty(t, r.Diagnostics(), text)
		require.Equal(t, want, strings.Join(got, " "), text)
	}
	r, root := parse(t, "<<: [1, {a: 1, a: 2}]\n<<: {}\n")
	r.Fields(root, "a thing")
	require.Equal(t, strings.TrimPrefix(`
f.yaml:1:6: << merges a mapping, or a list of mappings, not a number
    1 | <<: [1, {a: 1, a: 2}]
      |      ^
f.yaml:1:16: the key "a" is given twice; the first is on line 1
    1 | <<: [1, {a: 1, a: 2}]
      |                ^
f.yaml:2:1: the key "<<" is given twice; the first is on line 1
    2 | <<: {}
      | ^`, "\n"), r.Diagnostics().Error())
}

func TestHiddenLinesAreNotShown(t *testing.T) {
	r, root := parse(t, "list:\n  - fn::secret: |\n      hunter2\n\n      hunter3\n  - visible\nother: 1\n")
	item := r.Elements(r.Fields(root, "a file")[0].Value, "a list")[0]
	secret := r.Fields(item, "an item")[0]
	r.File.Hide(secret.Key)
	for line := 1; line <= 7; line++ {
		r.Add(r.File.Errorf(Position{line, 1}, "message"))
	}
	shown := r.Diagnostics().Error()
	require.NotContains(t, shown, "hunter")
	require.NotContains(t, shown, "fn::secret")
	require.Contains(t, shown, "visible")
	require.Contains(t, shown, "other: 1")
}

func TestWithin(t *testing.T) {
	text := "a: 'é ${x} ${y}'\nb: |\n  one ${x}\n  two $${z} ${y}\nc: \"\\x24{x}\"\n"
	r, root := parse(t, text)
	f := r.File
	fields := r.Fields(root, "a file")
	require.Equal(t, Position{1, 7}, f.Within(fields[0].Value, 0, 0))
	require.Equal(t, Position{1, 14}, f.Within(fields[0].Value, 1, 2))
	require.Equal(t, Position{3, 7}, f.Within(fields[1].Value, 0, 0))
	require.Equal(t, Position{4, 13}, f.Within(fields[1].Value, 2, 0))
	require.Equal(t, Position{5, 4}, f.Within(fields[2].Value, 0, 0), "spelt differently: the text itself")
}

func TestCaret(t *testing.T) {
	f := NewFile("f.yaml", []byte("é\tx\n"+strings.Repeat("a", 1000)+"b"+strings.Repeat("c", 1000)+"\n"))
	require.Equal(t, "f.yaml:1:3: m\n    1 | é\tx\n      |  \t^", Diagnostics{f.Errorf(Position{1, 3}, "m")}.Error())
	long := strings.Split(Diagnostics{f.Errorf(Position{2, 1001}, "m")}.Error(), "\n")
	require.Equal(t, strings.IndexByte(long[2], '^'), strings.IndexByte(long[1], 'b'))
	require.Less(t, len(long[1]), 200)
}

func TestSorted(t *testing.T) {
	f := NewFile("f.yaml", nil)
	ds := Diagnostics{f.Errorf(Position{2, 1}, "b"), f.Errorf(Position{1, 5}, "a"), f.Errorf(Position{2, 1}, "b")}
	sorted := ds.Sorted()
	require.Len(t, sorted, 2)
	require.Equal(t, "f.yaml:1:5: a", sorted[0].Error())
	require.Equal(t, "f.yaml:2:1: b", sorted[1].Error())
}

func TestDidYouMean(t *testing.T) {
	names := []string{"type", "name", "defaultProvider", "properties", "options", "get"}
	for name, want := range map[string]string{
		"propertis":   `; did you mean "properties"?`,
		"Type":        `; did you mean "type"?`,
		"tpye":        `; did you mean "type"?`,
		"typ":         `; did you mean "type"?`,
		"option":      `; did you mean "options"?`,
		"resources":   ``,
		"proprieties": `; did you mean "properties"?`,
	} {
		require.Equal(t, want, DidYouMean(name, names), name)
	}
	require.Empty(t, DidYouMean("d", []string{"a", "b"}), "nothing in common")
}

// What a diagnostic suggests can be told from its summary, for editors that mend it.
func TestSuggestion(t *testing.T) {
	f := NewFile("f.yaml", nil)
	for _, name := range []string{"length", `a "quoted" name`, `back\slash`} {
		d := f.Errorf(Position{}, "there is no x%s", DidYouMean(name+"x", []string{"other", name}))
		require.Equal(t, name, d.Suggestion())
	}
	require.Empty(t, f.Errorf(Position{}, "there is no x%s", DidYouMean("x", []string{"other"})).Suggestion())
}
