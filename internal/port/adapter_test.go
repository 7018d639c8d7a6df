package port

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/port/mapping"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// The keys of a mapping are those of the adapter's type.
func TestTheMappingIsTheAdapters(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../guest-sdk/terraform/mapping.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	adapters := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			tag, err := strconv.Unquote(f.Tag.Value)
			require.NoError(t, err)
			key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			adapters[spec.Name.Name] = append(adapters[spec.Name.Name], key)
		}
		return false
	})
	own := map[string][]string{}
	for name, of := range map[string]any{"Mapping": mapping.Mapping{}, "Resource": mapping.Resource{}, "Function": mapping.Function{}, "Field": mapping.Field{}, "Autoname": mapping.Autoname{}} {
		for i := range reflect.TypeOf(of).NumField() {
			field := reflect.TypeOf(of).Field(i)
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			require.Equal(t, key, field.Tag.Get("yaml"))
			own[name] = append(own[name], key)
		}
	}
	require.Equal(t, adapters, own)
}

// The builder finds the tags of the adapter's files in the files themselves.
func TestTheTagsAreTheAdapters(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../guest-sdk/terraform/versions.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var want []string
	oldest := ""
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		switch value := spec.Values[0].(type) {
		case *ast.CompositeLit:
			for _, version := range value.Elts {
				want = append(want, "plugingo_before_0_"+version.(*ast.BasicLit).Value)
			}
		case *ast.BasicLit:
			oldest = value.Value
		}
		return false
	})
	slices.Sort(want)
	b := &porter{dir: t.TempDir()}
	terraform := kindOf(func(pkg string) bool { return pkg == sdkV2+"/plugin" })
	kit, err := b.prepareSDK(terraform, "1.21")
	require.NoError(t, err)
	require.Equal(t, want, kit.tags)
	require.True(t, strings.HasPrefix(terraform.oldest[pluginGo], "v0."+oldest+"."))
}
