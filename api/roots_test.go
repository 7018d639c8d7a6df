package api

import (
	"bufio"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// know are the packages that know what a project says: what it names is opened by projectroot.Root there, and addresses are
// reached by internal/base/egress.
var know = []string{
	"cmd/husk/internal/cli", "cmd/husk/internal/conform", "cmd/husk/internal/deploycmd", "cmd/husk/internal/editorcmd",
	"cmd/husk/internal/providercmd", "cmd/husk/internal/registrycmd", "cmd/husk/internal/root", "cmd/husk/internal/stackcmd",
	"cmd/husk/internal/watch", "engine/contents", "engine/program/...", "internal/backend/keyservice", "internal/base/gitcommand",
	"internal/console", "internal/lsp", "internal/plugins", "internal/plugins/install", "internal/plugins/lockfile",
	"internal/pulumi/pulumiplugin", "internal/pulumi/pulumiprogram", "internal/registry", "internal/run/stackrun",
	"internal/workspace", "internal/workspace/bundle", "internal/workspace/doctor", "internal/workspace/validation",
}

// opening are the functions and methods that open, walk, change, or start what a path or an address names.
var opening = regexp.MustCompile(`^(` + strings.Join([]string{
	`os\.(Chdir|Chmod|Chtimes|CopyFS|Create|CreateTemp|DirFS|Link|Lstat|Mkdir|MkdirAll|MkdirTemp|Open|OpenFile|OpenInRoot|OpenRoot|ReadDir|ReadFile|Readlink|Remove|RemoveAll|Rename|StartProcess|Stat|Symlink|Truncate|WriteFile)`,
	`io/ioutil\.\w+`,
	`path/filepath\.(EvalSymlinks|Glob|Walk|WalkDir)`,
	`os/exec\.(Command|CommandContext)`,
	`net\.(Dial\w*|Listen\w*|Lookup\w+|\(Dialer\)\.Dial\w*|\(Resolver\)\.Lookup\w+)`,
	`net/http\.(Get|Head|Post|PostForm|NewRequest|NewRequestWithContext|\(Client\)\.\w+)`,
	`crypto/tls\.(Dial\w*|LoadX509KeyPair)`,
	`syscall\.(Open|Exec|ForkExec)`,
	module + `internal/base/atomicfile\.\w+`,
	module + `engine/program/source\.Read`,
	module + `internal/base/confined\.OpenRoot`,
}, "|") + `)$`)

// In the packages that know projects, nothing is opened but by the project's root, except for the calls in testdata/roots.txt, which are
// listed by the reason why no project that is not trusted chooses what they open.
func TestProjectsOpenNothingThemselves(t *testing.T) {
	listed := listed(t, "testdata/roots.txt")
	var patterns []string
	for _, pkg := range know {
		patterns = append(patterns, "./"+pkg)
	}
	all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo, Dir: ".."}, patterns...)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	var found []string
	for _, p := range all {
		require.Empty(t, p.Errors)
		for _, f := range p.Syntax {
			found = append(found, uses(p, f)...)
		}
	}
	for _, line := range found {
		if listed[line] == "" {
			t.Errorf("%s\n\topens what a project could name: open it by the project's Root, or add this line to api/testdata/roots.txt, below the reason why no project that is not trusted chooses what it opens", line)
		}
		delete(listed, line)
	}
	for line := range listed {
		t.Errorf("%s\n\tis not so any more: correct the line in api/testdata/roots.txt, or remove it", line)
	}
}

// listed returns the lines of a file, each with the reason that stands above it.
func listed(t *testing.T, name string) map[string]string {
	reasons := make(map[string]string)
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	reason := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		switch line := lines.Text(); {
		case line == "":
			reason = ""
		case strings.HasPrefix(line, "# "):
			reason += line[1:]
		default:
			require.NotEmpty(t, reason, "%s has no reason above it", line)
			require.Empty(t, reasons[line], "%s is listed twice", line)
			reasons[line] = reason
		}
	}
	return reasons
}

// uses returns the functions of a file that open something, each with what it opens it by. Who passes such a function on uses
// it as well.
func uses(p *packages.Package, f *ast.File) (lines []string) {
	file := strings.TrimPrefix(p.PkgPath, module) + "/" + filepath.Base(p.Fset.Position(f.Pos()).Filename)
	all := make(map[string][]string)
	for _, declared := range f.Decls {
		within := "(package)"
		if d, ok := declared.(*ast.FuncDecl); ok {
			within = d.Name.Name
		}
		ast.Inspect(declared, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			fn, ok := p.TypesInfo.Uses[id].(*types.Func)
			if !ok || fn.Pkg() == nil {
				return true
			}
			if called := nameOf(fn); opening.MatchString(called) {
				all[within] = append(all[within], strings.TrimPrefix(called, module))
			}
			return true
		})
	}
	for within, called := range all {
		slices.Sort(called)
		lines = append(lines, file+" "+within+": "+strings.Join(slices.Compact(called), " "))
	}
	slices.Sort(lines)
	return lines
}

// nameOf returns the full name of a function, with the type of a method.
func nameOf(fn *types.Func) string {
	name := fn.Pkg().Path() + "."
	if r := fn.Signature().Recv(); r != nil {
		typ := r.Type()
		if pointer, ok := typ.(*types.Pointer); ok {
			typ = pointer.Elem()
		}
		if named, ok := typ.(*types.Named); ok {
			name += "(" + named.Obj().Name() + ")."
		}
	}
	return name + fn.Name()
}
