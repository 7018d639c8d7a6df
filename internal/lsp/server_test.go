package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/lsp"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// editor is an editor with one session of a server, in a directory of its own.
type editor struct {
	*testing.T
	dir    string
	client *jrpc2.Client
	// published are the diagnostics that the server sends.
	published chan published
	versions  map[string]int
	// progress has the kinds and titles of what the server says about its work.
	progress chan string
	ended    chan error
}

type published struct {
	URI         string
	Version     *int
	Diagnostics []struct {
		Range    lspRange
		Severity int
		Message  string
	}
}

type lspPosition struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type lspRange struct {
	Start lspPosition `json:"start"`
	End   lspPosition `json:"end"`
}

type edit struct {
	Range   lspRange
	NewText string
}

type any0 = map[string]any

// newEditor returns an editor in a directory that has the provider random.
func newEditor(t *testing.T) *editor {
	t.Helper()
	testmodule.Skip(t)
	e := newBareEditor(t)
	e.write("random.wasm", string(testmodule.Build(t, "../../examples/providers/random")))
	return e
}

func newBareEditor(t *testing.T) *editor {
	t.Helper()
	cache, err := testmodule.Cache()
	require.NoError(t, err)
	return newEditorWithCache(t, cache)
}

func newEditorWithCache(t *testing.T, cache string) *editor {
	t.Helper()
	return newEditorOf(t, cache, trusted)
}

func newEditorOf(t *testing.T, cache string, root func(dir string) *projectroot.Root) *editor {
	t.Helper()
	e := &editor{T: t, dir: t.TempDir(), published: make(chan published, 1<<14), versions: map[string]int{}, progress: make(chan string, 100), ended: make(chan error, 1)}
	fromEditor, toServer := io.Pipe()
	fromServer, toEditor := io.Pipe()
	go func() {
		e.ended <- lsp.Serve(t.Context(), fromEditor, toEditor, lsp.Options{Version: "test", Root: root, Plugins: plugins.Options{Places: plugins.Places{Cache: cache}}})
		toEditor.Close()
	}()
	e.client = jrpc2.NewClient(channel.LSP(fromServer, toServer), &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) {
		var p published
		if r.Method() == "textDocument/publishDiagnostics" && r.UnmarshalParams(&p) == nil {
			e.published <- p
		}
		var progress struct{ Value struct{ Kind, Title string } }
		if r.Method() == "$/progress" && r.UnmarshalParams(&progress) == nil {
			e.progress <- strings.TrimSpace(progress.Value.Kind + " " + progress.Value.Title)
		}
	}, OnCallback: func(context.Context, *jrpc2.Request) (any, error) { return nil, nil }})
	t.Cleanup(func() {
		_ = e.client.Close()
		_ = toServer.Close()
	})
	var initialized struct {
		Capabilities struct{ PositionEncoding string }
	}
	e.call("initialize", any0{"processId": nil, "rootUri": nil, "capabilities": any0{"window": any0{"workDoneProgress": true}}}, &initialized)
	require.Equal(t, "utf-16", initialized.Capabilities.PositionEncoding)
	e.notify("initialized", any0{})
	return e
}

func (e *editor) write(name, text string) {
	e.Helper()
	require.NoError(e, os.MkdirAll(filepath.Dir(filepath.Join(e.dir, name)), 0o755))
	require.NoError(e, os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o644))
}

func (e *editor) uri(name string) string { return "file://" + filepath.Join(e.dir, name) }

func (e *editor) call(method string, params, result any) {
	e.Helper()
	require.NoError(e, e.client.CallResult(e.Context(), method, params, result))
}

func (e *editor) notify(method string, params any) {
	e.Helper()
	require.NoError(e, e.client.Notify(e.Context(), method, params))
}

// show opens a document with a text that is not saved, or changes its text.
func (e *editor) show(name, text string) {
	e.Helper()
	e.versions[name]++
	if v := e.versions[name]; v > 1 {
		e.notify("textDocument/didChange", any0{"textDocument": any0{"uri": e.uri(name), "version": v}, "contentChanges": []any0{{"text": text}}})
		return
	}
	e.notify("textDocument/didOpen", any0{"textDocument": any0{"uri": e.uri(name), "languageId": "yaml", "version": 1, "text": text}})
}

// diagnostics waits for the diagnostics of the shown version of a document. Each begins with its line, its column, and what
// it underlines.
func (e *editor) diagnostics(name, text string) []string {
	e.Helper()
	for {
		var p published
		select {
		case p = <-e.published:
		case err := <-e.ended:
			require.FailNow(e, "the server ended", "%v", err)
		}
		if p.URI != e.uri(name) || p.Version == nil || *p.Version != e.versions[name] {
			continue
		}
		out := []string{}
		for _, d := range p.Diagnostics {
			kind := map[int]string{1: "", 2: "warning: "}[d.Severity]
			out = append(out, fmt.Sprintf("%d:%d %q %s%s", d.Range.Start.Line+1, d.Range.Start.Character+1, cut(text, d.Range), kind, d.Message))
		}
		return out
	}
}

func (e *editor) check(name, text string) []string {
	e.Helper()
	e.show(name, text)
	return e.diagnostics(name, text)
}

// offset returns the offset of a position, whose characters are UTF-16 code units.
func offset(text string, p lspPosition) int {
	lines := strings.SplitAfter(text, "\n")
	before := strings.Join(lines[:p.Line], "")
	return len(before) + len(string(utf16.Decode(utf16.Encode([]rune(lines[p.Line]))[:p.Character])))
}

func cut(text string, r lspRange) string { return text[offset(text, r.Start):offset(text, r.End)] }

func apply(text string, edits []edit) string {
	slices.SortFunc(edits, func(a, b edit) int { return offset(text, b.Range.Start) - offset(text, a.Range.Start) })
	for _, e := range edits {
		text = text[:offset(text, e.Range.Start)] + e.NewText + text[offset(text, e.Range.End):]
	}
	return text
}

// at shows a text without its mark ‸, and returns it and the position of the mark.
func (e *editor) at(name, marked string) (text string, params any0) {
	e.Helper()
	before, after, ok := strings.Cut(marked, "‸")
	require.True(e, ok)
	e.show(name, before+after)
	last := before[strings.LastIndexByte(before, '\n')+1:]
	return before + after, any0{
		"textDocument": any0{"uri": e.uri(name)},
		"position":     lspPosition{strings.Count(before, "\n"), len(utf16.Encode([]rune(last)))},
	}
}

const header = `name: shop
runtime: yaml
plugins:
  providers:
    - name: random
      path: random.wasm
`

// What the editor has is checked, saved or not, and all of what is wrong is told at once.
func TestDiagnostics(t *testing.T) {
	e := newEditor(t)
	require.Empty(t, e.check("Husk.yaml", header), "it is not on disk")
	text := header + `resources:
  pet:
    type: random:RandomPet
    properties: {lenght: 3, prefix: 💡}
  other:
    type: random:RandomPt
outputs:
  a: 💡 ${pet.ide} ${pat.id}
`
	require.Equal(t, []string{
		`10:18 "lenght" property "lenght" of "pet": no such property; did you mean "length"?`,
		`12:11 "random:RandomPt" the package "random" has no resource type "random:RandomPt"; did you mean "random:RandomPet"?`,
		`14:15 "ide" "pet", random:RandomPet, has no property "ide"; did you mean "id"?`,
		`14:22 "pat" there is no resource, variable, or configuration key "pat"; did you mean "pet"?`,
	}, e.check("Husk.yaml", text), "the columns are UTF-16 code units")

	// A change is of a range, and what is mended is not wrong any more.
	e.versions["Husk.yaml"]++
	e.notify("textDocument/didChange", any0{
		"textDocument": any0{"uri": e.uri("Husk.yaml"), "version": e.versions["Husk.yaml"]},
		"contentChanges": []any0{
			{"range": lspRange{lspPosition{13, 21}, lspPosition{13, 24}}, "text": "pet"},
			{"range": lspRange{lspPosition{13, 14}, lspPosition{13, 17}}, "text": "id"},
		},
	})
	require.Len(t, e.diagnostics("Husk.yaml", text), 2)
}

// Blocks that are no YAML are told of, and the rest is checked. What follows from what they lack is not told.
func TestDiagnosticsOfBrokenYAML(t *testing.T) {
	e := newEditor(t)
	require.Equal(t, []string{
		`9:5 "typ random" this line is neither "key: value" nor a list item` + "\nwrite a colon and a space behind the key",
		`13:17 "{length: 3" the { that begins here is not closed, or a comma is missing`,
		`16:18 "lenght" property "lenght" of "third": no such property; did you mean "length"?`,
		`20:14 "ide" "third", random:RandomPet, has no property "ide"; did you mean "id"?`,
	}, e.check("Husk.yaml", header+`resources:
  first:
    typ random
    options: {protect: true}
  second:
    type: random:RandomPet
    properties: {length: 3
  third:
    type: random:RandomPet
    properties: {lenght: 3}
outputs:
  a: ${first.id}
  b: ${second.id}
  c: ${third.ide}
`))
	// Mistakes of the project do not hide those of the program.
	require.Equal(t, []string{
		`1:1 "nam" the project has no name` + "\n" + `add a line such as "name: my-project"`,
		`1:1 "nam" unknown key "nam" in the project file; did you mean "name"?`,
		`6:8 "pat" there is no resource, variable, or configuration key "pat"; did you mean "pet"?`,
	}, e.check("Husk.yaml", "nam: shop\nplugins:\n  providers:\n    - {name: random, path: random.wasm}\noutputs:\n  a: ${pat.id}\nresources: {pet: {type: random:RandomPet}}\n"))
}

// The program may have a file of its own, and each stack its configuration, which are checked together.
func TestSeveralDocuments(t *testing.T) {
	e := newEditor(t)
	e.write("Husk.yaml", header+"main: infra\nconfig:\n  length: {type: integer}\n")
	e.write("infra/Main.yaml", "outputs: {a: b}\n")
	require.Equal(t, []string{
		`4:18 "lenght" property "lenght" of "pet": no such property; did you mean "length"?`,
	}, e.check("infra/Main.yaml", "resources:\n  pet:\n    type: random:RandomPet\n    properties: {lenght: \"${length}\"}\n"))
	e.show("Husk.yaml", header+"main: infra\nconfig:\n  length: {type: integer}\n")
	require.Equal(t, []string{
		`2:16 "many" the value of the configuration key "length" cannot be used: it must be an integer` + "\nit is declared in Husk.yaml:9",
	}, e.check("Husk.prod.yaml", "config:\n  shop:length: many\n"))
	require.Equal(t, []string{`1:1 "confg" unknown key "confg" in a stack's configuration; did you mean "config"?`}, e.check("Husk.prod.yaml", "confg: {}\n"))
}

func (e *editor) proposals(marked string) map[string]string {
	e.Helper()
	return e.proposalsIn("Husk.yaml", marked)
}

func (e *editor) proposalsIn(name, marked string) map[string]string {
	e.Helper()
	text, params := e.at(name, marked)
	var list struct {
		Items []struct {
			Label    string
			TextEdit edit
		}
	}
	e.call("textDocument/completion", params, &list)
	out := map[string]string{}
	for _, item := range list.Items {
		line := strings.Split(apply(text, []edit{item.TextEdit}), "\n")[item.TextEdit.Range.Start.Line]
		out[item.Label] = strings.TrimSpace(line)
	}
	return out
}

// Proposals fit the place, in all ways to write YAML, also where the document is not valid yet.
func TestCompletion(t *testing.T) {
	e := newEditor(t)
	for marked, want := range map[string]map[string]string{
		"‸":             {"resources": "resources:", "name": "name:"},
		header + "res‸": {"resources": "resources:"},
		header + "resources:\n  pet:\n    type: ‸":                                                                       {"random:RandomPet": "type: random:RandomPet", "pulumi:providers:random": "type: pulumi:providers:random", "pulumi:pulumi:StackReference": ""},
		header + "resources:\n  pet:\n    type:‸":                                                                        {"random:RandomPet": "type: random:RandomPet"},
		header + "resources:\n  pet:\n    type: random:Ra‸":                                                              {"random:RandomPet": "type: random:RandomPet"},
		header + "resources:\n  pet:\n    type: \"random:Ra‸\"":                                                          {"random:RandomPet": `type: "random:RandomPet"`},
		header + "resources:\n  pet: {type: ran‸}":                                                                       {"random:RandomPet": "pet: {type: random:RandomPet}"},
		header + "resources:\n  pet: {type: ran‸":                                                                        {"random:RandomPet": "pet: {type: random:RandomPet"},
		header + "resources:\n  pet:\n    ‸\noutputs: {}\n":                                                              {"type": "type:", "options": "options:", "properties": "properties:"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    prop‸\n    options: {}\n":                          {"properties": "properties:"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    properties:\n      ‸\n    options: {}\n":           {"length": "length:", "separator": "separator:"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    properties: {‸}\n":                                 {"length": "properties: {length: }"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    properties: {length: 3, se‸\n  b: [\n":             {"separator": "properties: {length: 3, separator:"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    options:\n      pro‸\n":                            {"protect": "protect:", "provider": "provider:"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    options:\n      protect: ‸\n":                      {"true": "protect: true"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    options:\n      ignoreChanges: [len‸]\n":           {"length": "ignoreChanges: [length]"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    options:\n      ignoreChanges:\n        - len‸\n":  {"length": "- length"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n  b:\n    options:\n      dependsOn: [‸]\n":            {"${pet}": `dependsOn: ["${pet}"]`},
		header + "resources:\n  p:\n    type: random:RandomPassword\n    properties:\n      special: ‸\n":                {"true": "special: true"},
		header + "      grants:\n        ‸\n":                                                                            {"fs": "fs:", "kv": "kv:", "http": "http:"},
		header + "      grants:\n        fs:\n          - path: x\n            mode: ‸\n":                                {"ro": "mode: ro", "rw": "mode: rw"},
		header + "      grants:\n        fs:\n          - ‸\n":                                                           {"path": "- path:"},
		header + "resources:\n  pet:\n    type: random:RandomPet\noutputs:\n  a: ${‸\n":                                  {"pet": "a: ${pet", "pulumi": "a: ${pulumi"},
		header + "resources:\n  pet:\n    type: random:RandomPet\noutputs:\n  a: \"x ${pe‸} y\"\n":                       {"pet": `a: "x ${pet} y"`},
		header + "resources:\n  pet:\n    type: random:RandomPet\noutputs:\n  a: ${pet.‸}\n":                             {"id": "a: ${pet.id}", "urn": "a: ${pet.urn}", "separator": "a: ${pet.separator}"},
		header + "resources:\n  pet:\n    type: random:RandomPet\nvariables:\n  v: ${pet}\noutputs:\n  a: ${v.‸\n":       {"id": "a: ${v.id"},
		header + "resources:\n  pet: {\n    type: random:RandomPet,\n    properties: {\n      len‸\n    }\n  }\n":        {"length": "length:"},
		header + "resources:\n  pet: {\n    type: random:RandomPet,\n    properties: {prefix: a,\n      ‸}}\n":           {"length": "length: }}"},
		header + "resources:\n  pet: {\n    type: ran‸,\n    properties: {}}\n":                                          {"random:RandomPet": "type: random:RandomPet,"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    properties:\n      len‸: 3\n      prefix: a\n":     {"length": "length: 3"},
		header + "resources:\n  pet:\n    type: random:RandomPet\n    properties: {len‸\n    options: {protect: true}\n": {"length": "properties: {length:"},
		header + "outputs:\n  a: |\n    first\n    ${pul‸\n":                                                             {"pulumi": "${pulumi"},
		header + "outputs:\n  a:\n    - fn::to‸\n":                                                                       {"fn::toJSON": "- fn::toJSON:"},
		header + "outputs:\n  a: {fn::to‸}\n":                                                                            {"fn::toJSON": "a: {fn::toJSON: }"},
		header + "outputs:\n  a:\n    fn::pulumi:pulumi:getResource: {ur‸}\n":                                            {"urn": "fn::pulumi:pulumi:getResource: {urn: }"},
		header + "outputs:\n  a: ${pulumi.st‸}\n":                                                                        {"stack": "a: ${pulumi.stack}"},
		header + "outputs:\n  a:\n    fn::to‸\n":                                                                         {"fn::toJSON": "fn::toJSON:", "fn::invoke": "fn::invoke:"},
		header + "outputs:\n  a:\n    fn::invoke:\n      fun‸\n":                                                         {"function": "function:"},
		header + "outputs:\n  a:\n    fn::invoke:\n      function: ‸\n":                                                  {"pulumi:getResource": "", "pulumi:pulumi:getResource": "function: pulumi:pulumi:getResource"},
	} {
		got := e.proposals(marked)
		for label, line := range want {
			if line != "" {
				require.Equal(t, line, got[label], "%s of %s", label, marked)
			}
		}
		require.NotContains(t, got, "nothing")
	}
	require.NotContains(t, e.proposals(header+"resources:\n  pet:\n    type: random:RandomPet\n    properties:\n      length: 2\n      ‸\n"), "length", "it is there already")
	require.NotContains(t, e.proposals(header+"outputs: {a: '$${‸'}"), "pulumi", "it is text")
}

// A program in a file of its own, and the configuration of a stack, have what the project declares.
func TestCompletionInOtherDocuments(t *testing.T) {
	e := newEditor(t)
	e.write("Husk.yaml", header+"main: infra\nconfig:\n  size: {type: integer}\n  aws:region: {type: string}\n")
	e.write("infra/Main.yaml", "resources: {}\n")
	program := e.proposalsIn("infra/Main.yaml", "resources:\n  pet:\n    type: random:RandomPet\n    properties:\n      length: ${‸}\n")
	require.Equal(t, "length: ${size}", program["size"])
	require.Equal(t, "length: ${pulumi}", program["pulumi"])
	require.Equal(t, "type: random:RandomId", e.proposalsIn("infra/Main.yaml", "resources:\n  pet:\n    type: ‸\n")["random:RandomId"])
	require.Equal(t, map[string]string{"shop:size": "shop:size:"}, e.proposalsIn("Husk.dev.yaml", "config:\n  aws:region: x\n  ‸\n"))
	require.Equal(t, "config:", e.proposalsIn("Husk.dev.yaml", "‸")["config"])
}

// The settings of default providers in the configuration of a stack are held against their schemas.
func TestSettingsOfProviders(t *testing.T) {
	e := newEditor(t)
	e.write("Husk.yaml", header+"resources: {pet: {type: random:RandomPet}}\n")
	require.Equal(t, []string{`2:3 "random:foo" random:foo: no such configuration key; there are none`}, e.check("Husk.dev.yaml", "config:\n  random:foo: 1\n"))
	require.Empty(t, e.check("Husk.dev.yaml", "config:\n  other:foo: 1\n"))
}

func (e *editor) hover(marked string) string {
	e.Helper()
	_, params := e.at("Husk.yaml", marked)
	var result *struct{ Contents struct{ Kind, Value string } }
	e.call("textDocument/hover", params, &result)
	if result == nil {
		return ""
	}
	require.Equal(e, "markdown", result.Contents.Kind)
	return result.Contents.Value
}

// What a schema says of something is shown where it is written, and where it is referred to.
func TestHover(t *testing.T) {
	e := newEditor(t)
	program := header + "resources:\n  pet:\n    type: random:RandomPet\n    properties: {length: 3}\noutputs:\n  a: ${pet.separator}\n"
	mark := func(old, new string) string { return strings.Replace(program, old, new, 1) }
	require.Equal(t, "`length` — integer\n\nHow many words the name has, without the prefix; 2 where it is less than 1.\n\nA change replaces the resource. Default: `2`. At most 1024.", e.hover(mark("length", "len‸gth")))
	require.Contains(t, e.hover(mark("random:RandomPet", "random:Ran‸domPet")), "**Inputs**")
	require.Contains(t, e.hover(mark("random:RandomPet", "random:Ran‸domPet")), "- `separator` (string) What stands between the words.\n", "an output is not required")
	require.NotContains(t, e.hover(mark("random:RandomPet", "random:Ran‸domPet")), "required")
	require.Contains(t, e.hover(mark("random:RandomPet", "random:Ran‸domPet")), "- `length` (integer, default 2, replaces) ")
	require.Contains(t, e.hover(mark("${pet", "${p‸et")), "`pet: random:RandomPet` — resource")
	require.Contains(t, e.hover(mark("separator", "sepa‸rator")), "What stands between the words.")
	require.Contains(t, e.hover(mark("runtime", "‸runtime")), "What runs the program.")
	require.Contains(t, e.hover(mark("path", "‸path")), "A .wasm file")
	require.Empty(t, e.hover(mark("name: shop", "name: sh‸op")))
}

const references = header + `config:
  size: {type: integer, default: 3}
resources:
  pet:
    type: random:RandomPet
    properties:
      length: ${size}
  second: {type: random:RandomPet, properties: {prefix: "${pet.id}"}}
variables:
  both: ${pet.id}-${second.id}
outputs:
  a: ${both}
`

func TestDefinitionAndReferences(t *testing.T) {
	e := newEditor(t)
	locations := func(method, marked string) (lines []int) {
		text, params := e.at("Husk.yaml", marked)
		params["context"] = any0{"includeDeclaration": true}
		var found []struct {
			URI   string
			Range lspRange
		}
		e.call(method, params, &found)
		for _, f := range found {
			require.Equal(t, e.uri("Husk.yaml"), f.URI)
			require.NotEmpty(t, cut(text, f.Range))
			lines = append(lines, f.Range.Start.Line+1)
		}
		return lines
	}
	mark := func(old, new string) string { return strings.Replace(references, old, new, 1) }
	require.Equal(t, []int{10}, locations("textDocument/definition", mark("${pet", "${p‸et")))
	require.Equal(t, []int{8}, locations("textDocument/definition", mark("${size", "${‸size")))
	require.Equal(t, []int{16}, locations("textDocument/definition", mark("${both", "${both‸")))
	require.Equal(t, []int{5}, locations("textDocument/definition", mark("type: random", "type: ran‸dom")), "where the provider is listed")
	require.Empty(t, locations("textDocument/definition", mark("${pet.id", "${pet.i‸d")))
	require.Equal(t, []int{10, 14, 16}, locations("textDocument/references", mark("pet:", "p‸et:")))

	_, params := e.at("Husk.yaml", references+"‸")
	var symbols []struct {
		Name     string
		Children []struct{ Name, Detail string }
	}
	e.call("textDocument/documentSymbol", params, &symbols)
	require.Equal(t, "resources", symbols[4].Name)
	require.Equal(t, "random:RandomPet", symbols[4].Children[1].Detail)
}

func (e *editor) rename(marked, name string) (string, error) {
	e.Helper()
	text, params := e.at("Husk.yaml", marked)
	params["newName"] = name
	var result struct{ Changes map[string][]edit }
	if err := e.client.CallResult(e.Context(), "textDocument/rename", params, &result); err != nil {
		return "", err
	}
	return apply(text, result.Changes[e.uri("Husk.yaml")]), nil
}

// A renamed resource keeps its object: its earlier name is among its aliases.
func TestRename(t *testing.T) {
	e := newEditor(t)
	const rest = "outputs: {a: \"${pet.id}\"}\n"
	for options, want := range map[string]string{
		"":                                      "    options: {aliases: [{name: pet}]}\n    type: random:RandomPet\n",
		"    options:\n      protect: true\n":   "    type: random:RandomPet\n    options:\n      aliases: [{name: pet}]\n      protect: true\n",
		"    options: {protect: true}\n":        "    type: random:RandomPet\n    options: {aliases: [{name: pet}], protect: true}\n",
		"    options:\n":                        "    type: random:RandomPet\n    options: {aliases: [{name: pet}]}\n",
		"    options: {aliases: [{name: a}]}\n": "    type: random:RandomPet\n    options: {aliases: [{name: pet}, {name: a}]}\n",
		"    options:\n      aliases:\n        - name: a\n": "    type: random:RandomPet\n    options:\n      aliases:\n        - {name: pet}\n        - name: a\n",
		"    options: {aliases: [{name: dog}]}\n":           "    type: random:RandomPet\n    options: {aliases: [{name: dog}]}\n",
		"    name: fixed\n":                                 "    type: random:RandomPet\n    name: fixed\n",
	} {
		before := header + "resources:\n  pet:\n    type: random:RandomPet\n" + options + rest
		after := header + "resources:\n  dog:\n" + want + strings.ReplaceAll(rest, "pet", "dog")
		got, err := e.rename(strings.Replace(before, "  pet", "  p‸et", 1), "dog")
		require.NoError(t, err)
		require.Equal(t, after, got)
		require.Empty(t, e.check("Husk.yaml", got))
		fromReference, err := e.rename(strings.Replace(before, "${pet", "${pe‸t", 1), "dog")
		require.NoError(t, err)
		require.Equal(t, after, fromReference)
	}
	got, err := e.rename(strings.Replace(references, "second: {", "sec‸ond: {", 1), "third")
	require.NoError(t, err)
	require.Contains(t, got, `  third: {options: {aliases: [{name: second}]}, type: random:RandomPet, properties: {prefix: "${pet.id}"}}`)
	require.Contains(t, got, "${third.id}")
	got, err = e.rename(strings.Replace(references, "both:", "bo‸th:", 1), "all")
	require.NoError(t, err)
	require.Contains(t, got, "  a: ${all}\n")

	for marked, c := range map[string][2]string{
		strings.Replace(references, "pet:", "p‸et:", 1):         {"second", `the name "second" is taken, on line 14 of Husk.yaml`},
		strings.Replace(references, "${pet", "${pet‸", 1):       {"a b", `"a b" cannot be the name: use letters, digits, - and _ only`},
		strings.Replace(references, "${size", "${‸size", 1):     {"x", `"size" is a configuration key`},
		strings.Replace(references, "name: sh", "name: s‸h", 1): {"x", `there is no name of a resource, variable, or action here`},
	} {
		_, err := e.rename(marked, c[0])
		require.ErrorContains(t, err, c[1])
	}
}

func (e *editor) fix(text, title string) string {
	e.Helper()
	e.check("Husk.yaml", text)
	var found []struct {
		Title string
		Edit  struct{ Changes map[string][]edit }
	}
	e.call("textDocument/codeAction", any0{
		"textDocument": any0{"uri": e.uri("Husk.yaml")}, "context": any0{"diagnostics": []any0{}},
		"range": lspRange{End: lspPosition{Line: strings.Count(text, "\n")}},
	}, &found)
	for _, f := range found {
		if f.Title == title {
			return apply(text, f.Edit.Changes[e.uri("Husk.yaml")])
		}
	}
	raw, _ := json.Marshal(found)
	require.Fail(e, "no such action", "%s is not in %s", title, raw)
	return ""
}

// What a diagnostic suggests is written in the place of the mistake, and nothing else changes.
func TestCorrections(t *testing.T) {
	e := newEditor(t)
	const pet = "resources:\n  pet:\n    type: random:RandomPet\n"
	for _, c := range []struct{ wrong, written, meant string }{
		{"resources:\n  pet: {type: random:RandomPt}\n", "random:RandomPt", "random:RandomPet"},
		{"resources:\n  pet: {type: \"random:RandomPt\"}\n", "random:RandomPt", "random:RandomPet"},
		{"resources:\n  pet:\n    typ: random:RandomPet\n", "typ", "type"},
		{pet + "    properties: {\"lenght\": 3}\n", "lenght", "length"},
		{pet + "    properties:\n      lenght: 3 # long\n", "lenght", "length"},
		{pet + "outputs:\n  a: x ${pat.id} y\n", "pat", "pet"},
		{pet + "outputs:\n  a: x ${pet.lenght} y\n", "lenght", "length"},
		{"outputs:\n  a: {fn::jion: [a, [b]]}\n", "fn::jion", "fn::join"},
		{"outputs:\n  a: {fn::pulumi:getResorce: {}}\n", "getResorce", "getResource"},
		{"output:\n  a: b\n", "output", "outputs"},
	} {
		title := fmt.Sprintf("Change to %q", c.meant)
		if c.written == "getResorce" {
			title = `Change to "pulumi:pulumi:getResource"`
			c.written, c.meant = "pulumi:getResorce", "pulumi:pulumi:getResource"
		}
		require.Equal(t, header+strings.Replace(c.wrong, c.written, c.meant, 1), e.fix(header+c.wrong, title))
	}
}

// An editor ends a session in order, and the server does not outlive one that is gone.
func TestEndOfSession(t *testing.T) {
	e := newBareEditor(t)
	e.call("shutdown", nil, new(any))
	e.notify("exit", nil)
	require.NoError(t, <-e.ended)

	gone := newBareEditor(t)
	require.NoError(t, gone.client.Close())
	require.ErrorIs(t, <-gone.ended, lsp.ErrNoShutdown)
}

// A request that no document answers is no error.
func TestDocumentsOfNoProject(t *testing.T) {
	e := newBareEditor(t)
	_, params := e.at("values.yaml", "a: ‸b\n")
	for _, method := range []string{"completion", "hover", "definition", "references", "documentSymbol", "codeAction"} {
		var result any
		e.call("textDocument/"+method, params, &result)
	}
	_, err := e.client.Call(context.Background(), "textDocument/unknown", params)
	require.ErrorContains(t, err, "method not found")
}

// What a provider needs is granted in its entry, however that is written.
func TestMissingGrants(t *testing.T) {
	e := newEditor(t)
	e.write("postgresql.wasm", string(testmodule.Build(t, "../../examples/providers/postgresql")))
	const project, use = "name: shop\nplugins:\n  providers:\n", "resources:\n  db: {type: \"postgresql:Database\", properties: {name: a}}\n"
	for entry, want := range map[string]string{
		"    - name: postgresql\n      path: postgresql.wasm\n":                                  "    - name: postgresql\n      path: postgresql.wasm\n      grants: {tcp: [\"<host>:<port>\"]}\n",
		"    - {name: postgresql, path: postgresql.wasm}\n":                                      "    - {grants: {tcp: [\"<host>:<port>\"]}, name: postgresql, path: postgresql.wasm}\n",
		"    - name: postgresql\n      path: postgresql.wasm\n      grants:\n        kv: true\n": "    - name: postgresql\n      path: postgresql.wasm\n      grants:\n        tcp: [\"<host>:<port>\"]\n        kv: true\n",
		"    - name: postgresql\n      path: postgresql.wasm\n      grants: {kv: true}\n":        "    - name: postgresql\n      path: postgresql.wasm\n      grants: {tcp: [\"<host>:<port>\"], kv: true}\n",
		"    - name: postgresql\n      path: postgresql.wasm\n      grants: {tcp: []}\n":         "    - name: postgresql\n      path: postgresql.wasm\n      grants: {tcp: [\"<host>:<port>\"]}\n",
	} {
		require.Equal(t, project+want+use, e.fix(project+entry+use, "Grant what the provider needs"))
	}
}

// Who types fast gets the diagnostics of what was typed last, and answers meanwhile.
func TestManyChanges(t *testing.T) {
	e := newBareEditor(t)
	var text string
	for i := range 200 {
		text = fmt.Sprintf("name: shop\noutputs:\n  a: ${missing%d}\nresources: {", i)
		e.show("Husk.yaml", text)
		if i%10 == 0 {
			var symbols []any
			e.call("textDocument/documentSymbol", any0{"textDocument": any0{"uri": e.uri("Husk.yaml")}}, &symbols)
			require.NotEmpty(t, symbols)
		}
	}
	require.Equal(t, []string{
		`3:8 "missing199" there is no resource, variable, or configuration key "missing199"`,
		`4:12 "{" the { that begins here is not closed, or a comma is missing`,
	}, e.diagnostics("Husk.yaml", text))
}

// Whatever is typed, character by character, and wherever the cursor is, each request is answered.
func TestTyping(t *testing.T) {
	e := newBareEditor(t)
	const program = "name: shop # é💡\nplugins:\n  providers:\n    - name: random\n      path: none.wasm\n      grants: {fs: [{path: a, mode: rw}]}\n" +
		"config:\n  size: {type: integer, default: 3}\nresources:\n  a:\n    type: pulumi:Stash\n    properties:\n      input: \"x ${size} $${y}\"\n" +
		"    options: {dependsOn: [\"${b}\"], protect: true}\n  \"b\": {type: 'pulumi:Stash', properties: {input: {fn::toJSON: [1, ${a[\"b c\"][0].d}]}}}\n" +
		"variables:\n  v:\n    fn::invoke:\n      function: pulumi:pulumi:getResource\n      arguments: {urn: ${a.urn}}\n  w: |\n    ${v.state} [{\n   x\n" +
		"outputs:\n  - ${w\n  ? [a]\n  : &x *x\n\t<<: {}\n"
	characters := []rune(program)
	ask := func(text string, at int) {
		e.show("Husk.yaml", text)
		before := text[:at]
		last := before[strings.LastIndexByte(before, '\n')+1:]
		position := lspPosition{strings.Count(before, "\n"), len(utf16.Encode([]rune(last)))}
		for _, method := range []string{"completion", "hover", "definition", "references", "documentSymbol", "codeAction", "rename", "prepareRename", "documentHighlight", "signatureHelp", "inlayHint", "foldingRange", "semanticTokens/full", "documentLink"} {
			_, err := e.client.Call(t.Context(), "textDocument/"+method, any0{
				"textDocument": any0{"uri": e.uri("Husk.yaml")}, "position": position, "newName": "renamed", "range": lspRange{End: position},
			})
			if err != nil {
				require.Contains(t, method, "ename", "%v", err) // what cannot be renamed is refused
			}
		}
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for i := 0; i < len(characters); i += step {
		ask(string(characters[:i+1]), len(string(characters[:i+1])))
	}
	for i := 0; i < len(characters); i += 3 * step {
		ask(string(characters[:i])+string(characters[i+1:]), len(string(characters[:i])))
	}
	e.diagnostics("Husk.yaml", program)
}

// The editor shows what a user waits for.
func TestProgress(t *testing.T) {
	testmodule.Skip(t)
	e := newEditorWithCache(t, t.TempDir())
	e.write("random.wasm", string(testmodule.Build(t, "../../examples/providers/random")))
	require.Empty(t, e.check("Husk.yaml", header+"resources:\n  pet: {type: random:RandomPet}\n"))
	require.Equal(t, "begin Husk: compiling random", <-e.progress)
	require.Equal(t, "end", <-e.progress)
}

func trusted(dir string) *projectroot.Root { return projectroot.New(dir, projectroot.Trusted) }
