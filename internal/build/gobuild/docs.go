package gobuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
)

// docsPackage is the package of the SDK whose text.go gets the comments.
const docsPackage = "github.com/husk-dev/husk/guest-sdk/internal/docs"

// goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Module     *struct{ Main bool }

	set   *token.FileSet
	files []*ast.File
}

// list returns the packages that the one in dir is built of, none if the go command fails, which the build
// explains.
func list(ctx context.Context, command, dir string) (packages []*goPackage, err error) {
	cmd := exec.CommandContext(ctx, command, "list", "-deps", "-json=ImportPath,Name,Dir,GoFiles,Module", ".")
	cmd.Dir = dir
	cmd.Env = append(named.Environment(), environment...)
	output, err := processgroup.Output(ctx, cmd)
	if err != nil {
		return nil, ctx.Err()
	}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the list of packages: %w", err)
		}
		packages = append(packages, &p)
	}
}

// docFiles returns the files that replace a file of the SDK in a build of the package in dir. They have its doc comments, and are
// in place. There is none without the SDK.
func docFiles(ctx context.Context, command, dir, place string) (map[string]string, error) {
	listed, err := list(ctx, command, dir)
	if err != nil {
		return nil, err
	}
	var packages []*goPackage
	used := map[string]bool{}
	replaced := ""
	for _, p := range listed {
		switch {
		case p.ImportPath == docsPackage:
			replaced = filepath.Join(p.Dir, "text.go")
		case p.Module != nil && p.Module.Main && !p.isSDK():
			if err := p.parse(); err != nil {
				return nil, nil // the compiler has the better error
			}
			p.namePassed(used)
			packages = append(packages, p)
		}
	}
	comments := map[string]string{}
	for _, p := range packages {
		if err := p.comments(used, comments); err != nil {
			return nil, nil
		}
	}
	if replaced == "" || len(comments) == 0 {
		return nil, nil
	}
	source := filepath.Join(place, "docs.go")
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(comments)) {
		text.WriteString(name + "\t" + strings.ReplaceAll(comments[name], "\n", "\v") + "\n")
	}
	if err := os.WriteFile(source, fmt.Appendf(nil, "package docs\n\nconst Text = %q\n", text.String()), 0o600); err != nil {
		return nil, fmt.Errorf("writing doc comments for the build: %w", err)
	}
	return map[string]string{replaced: source}, nil
}

// isSDK reports whether the package is of the SDK, which a provider here has in its main module.
func (p *goPackage) isSDK() bool {
	const project = "github.com/husk-dev/husk/"
	return p.Name != "main" && (strings.HasPrefix(p.ImportPath, project+"abi") || strings.HasPrefix(p.ImportPath, project+"guest-sdk"))
}

func (p *goPackage) parse() error {
	p.set = token.NewFileSet()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(p.set, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files = append(p.files, f)
	}
	return nil
}

// comments adds the comments that can appear in a schema, and of functions those with a name in used.
func (p *goPackage) comments(used map[string]bool, to map[string]string) error {
	path := p.ImportPath
	if p.Name == "main" {
		path = "main" // as the program itself calls it
	}
	pkg, err := doc.NewFromFiles(p.set, p.files, p.ImportPath, doc.AllDecls)
	if err != nil {
		return err
	}
	printer := pkg.Printer()
	printer.HeadingID = func(*comment.Heading) string { return "" }
	printer.DocLinkURL = func(*comment.DocLink) string { return "" } // the package has no page
	add := func(name, text string) {
		markdown := strings.TrimSpace(string(printer.Markdown(pkg.Parser().Parse(text))))
		if markdown != "" {
			to[path+"."+name] = markdown
		}
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			switch {
			case !used[f.Name]:
			case f.Recv == "":
				add(f.Name, f.Doc)
			case f.Recv[0] == '*':
				add("("+f.Recv+")."+f.Name, f.Doc)
			default:
				add(f.Recv+"."+f.Name, f.Doc)
			}
		}
	}
	functions(pkg.Funcs)
	for _, t := range pkg.Types {
		functions(t.Funcs)
		functions(t.Methods)
		fields := taggedFields(t)
		manages := slices.ContainsFunc(t.Methods, func(f *doc.Func) bool { return f.Name == "Create" || f.Name == "Construct" })
		if len(fields) > 0 || manages {
			add(t.Name, t.Doc)
		}
		for _, f := range fields {
			text := f.Doc.Text()
			if text == "" {
				text = f.Comment.Text() // behind the field
			}
			for _, name := range f.Names {
				add(t.Name+"."+name.Name, text)
			}
		}
	}
	return nil
}

func taggedFields(t *doc.Type) (fields []*ast.Field) {
	for _, spec := range t.Decl.Specs {
		spec, ok := spec.(*ast.TypeSpec)
		if !ok || spec.Name.Name != t.Name {
			continue
		}
		if structure, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range structure.Fields.List {
				if f.Tag != nil && strings.Contains(f.Tag.Value, "husk:") {
					fields = append(fields, f)
				}
			}
		}
	}
	return fields
}

// namePassed adds the names of Go functions that become functions and methods of a schema.
func (p *goPackage) namePassed(used map[string]bool) {
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			callee := call.Fun
			if explicit, ok := callee.(*ast.IndexListExpr); ok {
				callee = explicit.X // with type arguments
			}
			maker, ok := callee.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"FunctionOf", "StreamOf", "MethodOf"}, maker.Sel.Name) {
				return true
			}
			switch function := call.Args[1].(type) {
			case *ast.Ident:
				used[function.Name] = true
			case *ast.SelectorExpr:
				used[function.Sel.Name] = true
			}
			return true
		})
	}
}
