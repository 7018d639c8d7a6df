package main_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goName is what looks like a name of Go's in a text: with a capital letter inside, or of a
// package.
var goName = regexp.MustCompile(`\b(?:[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|(?:host|engine|abi|guest)\.[A-Z]\w*|Readmit)\b`)

// rightOfS3 is a right as S3's policies name it.
var rightOfS3 = regexp.MustCompile(`\bs3:[A-Z]\w+`)

// ofGo are texts for programs that embed the library. The command has its own advice in their
// place, or refuses the combination of flags before.
var ofGo = map[string]bool{
	"make it anew or Readmit it to try again": true,

	"TargetDependents adds what depends on Targets, and there are none":                       true,
	"ExcludeDependents adds what depends on Excludes, and there are none":                     true,
	"ExcludeProtected is an option of Destroy: other operations leave protected resources be": true,
	"Up: DraftPlan is an option of Preview: use the plan in its result":                       true,
}

// No text of the command, nor of the packages that it is made of, sends its user to the
// documentation of a Go package.
func TestNoTextNamesWhatGoCallsIt(t *testing.T) {
	names := exportedNames(t)
	for _, file := range sources(t) {
		if strings.Contains(filepath.ToSlash(file), "/netoverlay/") {
			continue // its texts are code that takes the place of Go's
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			if !strings.Contains(text, " ") || ofGo[text] {
				return true
			}
			for _, name := range goName.FindAllString(rightOfS3.ReplaceAllString(text, ""), -1) {
				_, own, _ := strings.Cut(name, ".")
				if names[name] || names[own] || name == "Readmit" {
					t.Errorf("%s: %q names %s", file, text, name)
				}
			}
			return true
		})
	}
}

// sources are the files of the module's own packages that the command is made of.
func sources(t *testing.T) (files []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=Dir,GoFiles,Module", ".").Output()
	require.NoError(t, err)
	for packages := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir     string
			GoFiles []string
			Module  *struct{ Main bool }
		}
		if err := packages.Decode(&p); err == io.EOF {
			return files
		} else {
			require.NoError(t, err)
		}
		if p.Module != nil && p.Module.Main {
			for _, name := range p.GoFiles {
				files = append(files, filepath.Join(p.Dir, name))
			}
		}
	}
}

// exportedNames are those of the functions, methods, types, constants, and fields in these files.
func exportedNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	note := func(idents ...*ast.Ident) {
		for _, ident := range idents {
			if ident.IsExported() {
				names[ident.Name] = true
			}
		}
	}
	for _, file := range sources(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				note(n.Name)
			case *ast.TypeSpec:
				note(n.Name)
			case *ast.ValueSpec:
				note(n.Names...)
			case *ast.Field:
				note(n.Names...)
			}
			return true
		})
	}
	return names
}
