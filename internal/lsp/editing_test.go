package lsp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// request asks about a place of a document, which ‸ marks.
func (e *editor) request(method, name, marked string, result any) (text string) {
	e.Helper()
	text, params := e.at(name, marked)
	params["range"] = lspRange{End: lspPosition{Line: strings.Count(text, "\n")}}
	e.call("textDocument/"+method, params, result)
	return text
}

// A document gets the form of husk fmt, by an edit of the lines that lack it.
func TestFormatting(t *testing.T) {
	e := newBareEditor(t)
	for text, want := range map[string]string{
		"name: shop\nruntime: yaml\n":                              "name: shop\nruntime: yaml\n",
		"name: shop\noutputs:\n    a:   1\n\n\n    b: 2\n":         "name: shop\noutputs:\n  a: 1\n\n  b: 2\n",
		"name: shop\nruntime: yaml":                                "name: shop\nruntime: yaml\n",
		"name: shop\nruntime: yaml\n\n\n":                          "name: shop\nruntime: yaml\n",
		"\n\nname:  shop":                                          "name: shop\n",
		"name: shop\noutputs:\n  a: 1\n  b:   💡 # é\n  c: 3\n":     "name: shop\noutputs:\n  a: 1\n  b: 💡 # é\n  c: 3\n",
		"name: shop\noutputs:\n  a:   1\nvariables:\n  b:     2\n": "name: shop\noutputs:\n  a: 1\nvariables:\n  b: 2\n",
		"name: shop\nresources: {a:   {type: b}}\noutputs: {}":     "name: shop\nresources: {a: {type: b}}\noutputs: {}\n",
	} {
		var edits []edit
		shown := e.request("formatting", "Husk.yaml", text+"‸", &edits)
		require.Equal(t, want, apply(shown, edits), text)
		require.Equal(t, text == want, len(edits) == 0)
	}
	var edits []edit
	shown := e.request("formatting", "Husk.yaml", "name: shop\n# a\noutputs:\n  a:   1\nruntime: yaml‸\n", &edits)
	require.Equal(t, "  a:   1\n", cut(shown, edits[0].Range), "other lines stay as they are")
	e.write("Husk.yaml", "name: shop\n")
	shown = e.request("formatting", "Husk.dev.yaml", "config:\n      shop:a:   1‸\n", &edits)
	require.Equal(t, "config:\n  shop:a: 1\n", apply(shown, edits))

	_, params := e.at("Husk.yaml", "name: [‸")
	_, err := e.client.Call(t.Context(), "textDocument/formatting", params)
	require.ErrorContains(t, err, "Husk.yaml cannot be formatted")
}

func TestFolding(t *testing.T) {
	e := newBareEditor(t)
	text := "# One\n# Two\nname: shop # no comment of its own\nresources:\n  a:\n    type: b:c:D\n    options: {\n\n  # of b\n  b:\n    properties:\n      list:\n      - x: 1\n        y: 2\n      - z\n\n# the end\noutputs:\n  text: |\n    a\n    b\n"
	var ranges []struct {
		StartLine, EndLine int
		Kind               string
	}
	e.request("foldingRange", "Husk.yaml", text+"‸", &ranges)
	found := map[string]string{}
	lines := strings.Split(text, "\n")
	for _, r := range ranges {
		found[strings.TrimSpace(lines[r.StartLine])] = strings.TrimSpace(lines[r.EndLine]) + r.Kind
	}
	require.Equal(t, map[string]string{
		"# One": "# Twocomment", "resources:": "- z", "a:": "options: {", "b:": "- z", "properties:": "- z", "list:": "- z", "- x: 1": "y: 2",
		"outputs:": "b", "text: |": "b",
	}, found, "also where a line is not finished")
}

func TestHighlights(t *testing.T) {
	e := newBareEditor(t)
	var found []struct {
		Range lspRange
		Kind  int
	}
	text := e.request("documentHighlight", "Husk.yaml", "name: shop\nvariables:\n  one: 1\n  two: ${o‸ne} ${one}\noutputs:\n  one: ${two}\n", &found)
	require.Len(t, found, 3)
	for i, f := range found {
		require.Equal(t, "one", cut(text, f.Range))
		require.Equal(t, []int{3, 2, 2}[i], f.Kind, "the declaration is written, and the others read")
	}
	require.Equal(t, 2, found[0].Range.Start.Line)
	e.request("documentHighlight", "Husk.yaml", "name: s‸hop\n", &found)
	require.Empty(t, found)
}

// What a word is does not depend on how YAML writes it.
func TestSemanticTokens(t *testing.T) {
	e := newBareEditor(t)
	var found struct{ Data []int }
	text := e.request("semanticTokens/full", "Husk.yaml", "name: shop # é\nresources:\n  'a':\n    type: pulumi:Stash\n    properties: {input: \"💡 ${b[0].c}\"}\nvariables:\n  b: {fn::toJSON: 1}\n‸", &found)
	kinds := []string{"namespace", "class", "function", "variable", "property"}
	var tokens []string
	at := lspPosition{}
	for d := found.Data; len(d) > 0; d = d[5:] {
		if d[0] > 0 {
			at.Character = 0
		}
		at = lspPosition{at.Line + d[0], at.Character + d[1]}
		token := kinds[d[3]] + " " + cut(text, lspRange{at, lspPosition{at.Line, at.Character + d[2]}})
		if d[4] == 1 {
			token = "declared " + token
		}
		tokens = append(tokens, token)
	}
	require.Equal(t, []string{
		"namespace name", "namespace resources", "declared variable a", "property type", "class pulumi:Stash", "property properties", "property input",
		"variable b", "property [0]", "property c", "namespace variables", "declared variable b", "function fn::toJSON",
	}, tokens)
}

// A variable and an output show the type that their schema gives them.
func TestInlayHints(t *testing.T) {
	e := newEditor(t)
	var hints []struct {
		Position lspPosition
		Label    string
	}
	text := e.request("inlayHint", "Husk.yaml", header+"resources:\n  pet: {type: random:RandomPet}\nvariables:\n  words: ${pet.length}\n  text: a\noutputs:\n  id: ${pet.id}\n  copy: {fn::secret: \"${words}\"}\n‸", &hints)
	var lines []string
	for _, h := range hints {
		line := strings.Split(text, "\n")[h.Position.Line]
		lines = append(lines, strings.TrimSpace(line[:h.Position.Character])+h.Label)
	}
	require.Equal(t, []string{"words: integer", "id: string", "copy: integer"}, lines)
}

// The files that a project names are proposed where they are named, and lead to themselves.
func TestPaths(t *testing.T) {
	e := newBareEditor(t)
	for _, name := range []string{"modules/a.wasm", "modules/b.wasm", "modules/notes.txt", "modules/.hidden.wasm", "infra/Main.yaml", "infra/text/motd.txt"} {
		e.write(name, "a: b\n")
	}
	providers := "name: shop\nplugins:\n  providers:\n    - name: a\n      path: "
	require.Equal(t, map[string]string{"modules": "path: modules", "infra": "path: infra"}, e.proposals(providers+"‸\n"))
	require.Equal(t, map[string]string{"modules/a.wasm": "path: modules/a.wasm", "modules/b.wasm": "path: modules/b.wasm"}, e.proposals(providers+"modules/‸\n"))
	require.Equal(t, map[string]string{"./modules/a.wasm": "path: ./modules/a.wasm", "./modules/b.wasm": "path: ./modules/b.wasm"}, e.proposals(providers+"./modules/x‸\n"))
	e.write("Husk.yaml", "name: shop\nmain: infra\n")
	e.show("Husk.yaml", "name: shop\nmain: infra\n")
	require.Equal(t, map[string]string{"text/motd.txt": "a: {fn::readFile: text/motd.txt}"}, e.proposalsIn("infra/Main.yaml", "outputs:\n  a: {fn::readFile: text/‸}\n"))

	targets := func(name, text string) (out []string) {
		var links []struct {
			Range  lspRange
			Target string
		}
		e.request("documentLink", name, text, &links)
		for _, l := range links {
			out = append(out, cut(strings.Replace(text, "‸", "", 1), l.Range)+" "+strings.TrimPrefix(l.Target, e.uri("")+"/"))
		}
		return out
	}
	require.Equal(t, []string{"text/motd.txt text/motd.txt"}, trimmed(targets("infra/Main.yaml", "outputs:\n  a: {fn::readFile: text/motd.txt}\n  b: {fn::readFile: none.txt}\n‸"), "infra/"))
	require.Equal(t, []string{"infra infra/Main.yaml", "modules/a.wasm modules/a.wasm"},
		targets("Husk.yaml", "name: shop\nmain: infra\nplugins:\n  providers:\n    - {name: a, path: modules/a.wasm}\n    - {name: b, path: none.wasm}\n‸"))
}

// trimmed returns texts without the first directory of their last word.
func trimmed(texts []string, dir string) (out []string) {
	for _, text := range texts {
		out = append(out, strings.Replace(text, " "+dir, " ", 1))
	}
	return out
}

// A call shows its parameters, and which of them the cursor is in.
func TestSignatureHelp(t *testing.T) {
	e := newBareEditor(t)
	const getResource = "pulumi:pulumi:getResource(urn: string) urn"
	for marked, want := range map[string]string{
		"outputs:\n  a: {fn::join: [‸]}\n":                                                                     "fn::join: [delimiter, list] delimiter",
		"outputs:\n  a: {fn::join: [\",\", ‸]}\n":                                                              "fn::join: [delimiter, list] list",
		"outputs:\n  a: {fn::join: [\",\", [a, ‸]]}\n":                                                         "fn::join: [delimiter, list] list",
		"outputs:\n  a:\n    fn::select:\n      - 0\n      - ‸\n":                                              "fn::select: [index, list] list",
		"outputs:\n  a: {fn::toBase64: ‸}\n":                                                                   "fn::toBase64",
		"outputs:\n  a:\n    fn::pulumi:pulumi:getResource: {urn: ‸}\n":                                        getResource,
		"outputs:\n  a:\n    fn::invoke:\n      function: pulumi:pulumi:getResource\n      arguments: {ur‸}\n": getResource,
		"outputs:\n  a: ‸\n":                                                                                   "",
		"outputs:\n  a:\n    fn::invoke:\n      function: ‸\n":                                                 "",
	} {
		var help *struct {
			Signatures []struct {
				Label      string
				Parameters []struct{ Label string }
			}
			ActiveParameter int
		}
		e.request("signatureHelp", "Husk.yaml", "name: shop\n"+marked, &help)
		got := ""
		if help != nil {
			signature := help.Signatures[0]
			got = signature.Label
			if n := help.ActiveParameter; n < len(signature.Parameters) {
				parameter, _, _ := strings.Cut(signature.Parameters[n].Label, ":")
				got += " " + parameter
			}
		}
		require.Equal(t, want, got, marked)
	}
}

func TestWorkspaceSymbols(t *testing.T) {
	e := newBareEditor(t)
	e.show("Husk.yaml", "name: shop\nconfig: {database-size: {type: integer}}\nresources:\n  database: {type: pulumi:Stash}\n  web: {type: pulumi:Stash}\n")
	var symbols []struct {
		Name, ContainerName string
		Location            struct{ URI string }
	}
	e.call("workspace/symbol", any0{"query": "Data"}, &symbols)
	require.Len(t, symbols, 2)
	require.Equal(t, "database", symbols[0].Name)
	require.Equal(t, "pulumi:Stash", symbols[0].ContainerName)
	require.Equal(t, "database-size", symbols[1].Name)
	require.Equal(t, e.uri("Husk.yaml"), symbols[1].Location.URI)
}

// The configuration of a stack is completed, explained, and followed to where the project declares it.
func TestConfigurationOfAStack(t *testing.T) {
	e := newEditor(t)
	e.write("Husk.yaml", header+"config:\n  size: {type: integer, default: 3, description: How many.}\n  debug: {type: boolean}\n  regions: {type: array, items: {type: string}}\n  tags: {type: object}\n")
	proposals := func(text string) map[string]string { return e.proposalsIn("Husk.dev.yaml", text) }
	require.Contains(t, proposals("conf‸"), "encryptionsalt")
	require.Equal(t, map[string]string{"shop:debug": "shop:debug:", "shop:regions": "shop:regions:", "shop:tags": "shop:tags:"},
		proposals("config:\n  size: 1\n  ‸\n"), "a key may lack the project's name")
	require.Equal(t, "shop:debug:", proposals("config:\n  shop:‸\n")["shop:debug"])
	require.Equal(t, map[string]string{"true": "shop:debug: true", "false": "shop:debug: false"}, proposals("config:\n  shop:debug: ‸\n"))
	require.Empty(t, proposals("config:\n  shop:tags:\n    ‸\n"), "data has no functions")

	hover := func(marked string) string {
		var result *struct{ Contents struct{ Value string } }
		e.request("hover", "Husk.dev.yaml", marked, &result)
		if result == nil {
			return ""
		}
		return result.Contents.Value
	}
	require.Equal(t, "`shop:size` — integer\n\nHow many.\n\nDefault: `3`.", hover("config:\n  shop:si‸ze: 4\n"))
	require.Equal(t, "`shop:debug` — bool, required", hover("config:\n  deb‸ug: true\n"))
	require.Contains(t, hover("con‸fig:\n  size: 4\n"), "The configuration of the stack")
	require.Empty(t, hover("config:\n  unk‸nown: 4\n"))

	var found []struct {
		URI   string
		Range lspRange
	}
	e.request("definition", "Husk.dev.yaml", "config:\n  shop:si‸ze: 4\n", &found)
	require.Len(t, found, 1)
	require.Equal(t, e.uri("Husk.yaml"), found[0].URI)
	require.Equal(t, 7, found[0].Range.Start.Line)

	var symbols []struct {
		Name     string
		Children []struct{ Name string }
	}
	e.request("documentSymbol", "Husk.dev.yaml", "config:\n  shop:size: 4\n  other:x: 1\n‸", &symbols)
	require.Equal(t, "config", symbols[0].Name)
	require.Equal(t, "other:x", symbols[0].Children[1].Name)

	e.write("Husk.yaml", header+"config:\n  note: {secret: true}\n")
	require.Equal(t, "`shop:note` — any value, required\n\nThe value is a secret.", hover("config:\n  no‸te: x\n"))
}
