package projectschema

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/project.md and project.json.gz anew")

const referenceFile = "../../../docs/project.md"

const referenceHead = "# The project file\n\n" +
	"`Husk.yaml`, or `Pulumi.yaml`, is in the directory of the project. [programs.md](programs.md) explains the parts that need more than a line. " +
	"`husk schema project`\nprints this as a JSON Schema for editors, with the types of the project's providers.\n\n"

// referencePage writes the keys of the project file as Markdown, from its JSON Schema.
type referencePage struct {
	strings.Builder
	definitions map[string]any
}

func (r *referencePage) resolved(n map[string]any) map[string]any {
	if ref, ok := n["$ref"].(string); ok {
		found, _ := r.definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
		merged := maps.Clone(found)
		if text, ok := n["description"]; ok {
			merged["description"] = text
		}
		return merged
	}
	return n
}

// kinds returns what a value may be: a text, a list of mappings.
func (r *referencePage) kinds(n map[string]any) []string {
	n = r.resolved(n)
	var list []string
	for _, key := range []string{"anyOf", "oneOf"} {
		alternatives, _ := n[key].([]any)
		for _, a := range alternatives {
			list = append(list, r.kinds(a.(map[string]any))...)
		}
	}
	if values, ok := n["enum"].([]any); ok {
		for _, v := range values {
			text, _ := json.Marshal(v)
			list = append(list, "`"+strings.Trim(string(text), `"`)+"`")
		}
		return list
	}
	types, ok := n["type"].([]any)
	if !ok {
		types = []any{n["type"]}
	}
	for _, t := range types {
		switch t {
		case "array":
			of := ""
			if items, ok := n["items"].(map[string]any); ok {
				if kinds := r.kinds(items); len(kinds) > 0 {
					of = " of " + strings.Join(kinds, " or ")
				}
			}
			list = append(list, "list"+of)
		case "object":
			list = append(list, "mapping")
		case "string":
			list = append(list, "text")
		case "boolean":
			list = append(list, "true or false")
		case "number", "integer":
			list = append(list, "number")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// mappings returns the mappings with named keys that a value may be or have in it.
func (r *referencePage) mappings(n map[string]any) (list []map[string]any) {
	n = r.resolved(n)
	if properties, ok := n["properties"].(map[string]any); ok && len(properties) > 0 {
		list = append(list, n)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		alternatives, _ := n[key].([]any)
		for _, a := range alternatives {
			list = append(list, r.mappings(a.(map[string]any))...)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := n[key].(map[string]any); ok {
			list = append(list, r.mappings(inner)...)
		}
	}
	return list
}

// table writes the keys of a mapping, and then those of the mappings in it.
func (r *referencePage) table(path string, n map[string]any, depth int) {
	properties, _ := n["properties"].(map[string]any)
	required, _ := n["required"].([]any)
	fmt.Fprintf(r, "| key | is | value |\n| --- | --- | --- |\n")
	keys := slices.Sorted(maps.Keys(properties))
	for _, key := range keys {
		p := r.resolved(properties[key].(map[string]any))
		text, _ := p["description"].(string)
		if slices.Contains(required, any(key)) {
			text = cmp.Or(text, "Needed.")
			if !strings.Contains(text, "Needed") {
				text += " Needed."
			}
		}
		fmt.Fprintf(r, "| `%s` | %s | %s |\n", key, strings.NewReplacer("|", "\\|", "<", "\\<").Replace(text), strings.Join(r.kinds(p), ", "))
	}
	r.WriteString("\n")
	if depth == 0 {
		return
	}
	for _, key := range keys {
		for _, inner := range r.mappings(properties[key].(map[string]any)) {
			fmt.Fprintf(r, "### %s%s\n\n", path, key)
			if text, ok := inner["description"].(string); ok {
				r.WriteString(text + "\n\n")
			}
			r.table(path+key+".", inner, depth-1)
		}
	}
}

// The reference of the project file is its JSON Schema in words.
func TestReference(t *testing.T) {
	text, err := With(nil)
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	r := &referencePage{definitions: schema["definitions"].(map[string]any)}
	r.WriteString(referenceHead + "## Keys\n\n")
	r.table("", schema, 3)
	want := strings.TrimRight(r.String(), "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(referenceFile, []byte(want), 0o644))
	}
	got, err := os.ReadFile(referenceFile)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run go test ./internal/workspace/projectschema -update")
}

// The program has the schema as it is.
func TestCompressedSchema(t *testing.T) {
	const file = "project.json.gz"
	want, err := os.ReadFile("project.json")
	require.NoError(t, err)
	if *update {
		var out bytes.Buffer
		zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		require.NoError(t, err)
		_, err = zipped.Write(want)
		require.NoError(t, errors.Join(err, zipped.Close(), os.WriteFile(file, out.Bytes(), 0o644)))
	}
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	unzipped, err := gzip.NewReader(bytes.NewReader(written))
	require.NoError(t, err)
	got, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "go test ./internal/workspace/projectschema -update compresses it anew")
}
