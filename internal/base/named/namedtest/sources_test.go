package namedtest_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked are the uses of the environment, and of clients and ways to the network, in packages that open what somebody has named,
// with the reason why they need not be asked of a named.URL or of internal/base/egress.
var asked = map[string]string{
	"internal/backend/postgres/config.go os.Getenv":                "whether PGSERVICE is set, which is refused",
	"internal/backend/postgres/pool.go os.Environ":                 "the key of a pool of the operator's URL",
	"internal/backend/remote/client.go os.Getenv":                  "KnownVariable and UnrecordedVariable, which are no credentials",
	"internal/backend/remote/client.go http.Client":                "the client of one server, with the token for its URL",
	"internal/backend/remote/client.go http.Transport":             "the same",
	"internal/backend/s3/open.go http.Client":                      "asks for the credentials of the machine, for the operator's URL",
	"internal/backend/keyservice/aws.go os.Getenv":                 "the accounts whose keys the operator uses",
	"internal/backend/keyservice/keyservice.go http.Client":        "the operator's server of keys, by the environment",
	"internal/backend/keyservice/keyservice.go os.Getenv":          "the operator's server of keys, with its token",
	"internal/registry/client.go http.Client":                      "sends by the transport of its options",
	"internal/registry/client.go http.DefaultTransport":            "the settings of the transport of its options",
	"engine/contents/fetch.go http.Client":                         "sends by egress.Transport",
	"engine/contents/fetch.go http.Transport":                      "the settings of egress.Transport",
	"internal/run/stackrun/stackrun.go http.ProxyFromEnvironment":  "the operator's proxy, for egress.Transport",
	"internal/backend/remote/client.go http.ProxyFromEnvironment":  "the operator's proxy",
	"internal/pulumi/pulumiprogram/languagehost.go http.Client":    "the language host on this machine, which runs for trusted projects only",
	"internal/pulumi/pulumiprogram/languagehost.go http.Transport": "the same",
	"internal/pulumi/pulumiprogram/service.go http.Client":         "callbacks of a program of a trusted project",
	"internal/pulumi/pulumiprogram/service.go http.Transport":      "the same",
}

// What opens an address that somebody has named asks the address for credentials, and package egress for the way.
func TestCredentialsAndWaysAreAsked(t *testing.T) {
	suspicious := []string{"http.Client", "http.DefaultClient", "http.DefaultTransport", "http.Get", "http.Post", "http.PostForm", "http.Head", "http.ProxyFromEnvironment", "http.Transport",
		"net.Dial", "net.DialTimeout", "net.Dialer", "tls.Dial", "tls.Dialer"}
	environment := []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "syscall.Getenv"}
	withEnvironment := []string{"internal/backend/postgres", "internal/backend/remote", "internal/backend/s3", "internal/registry", "internal/backend/keyservice", "engine/contents"}
	found := make(map[string]bool)
	for _, dir := range append(slices.Clone(withEnvironment), "internal/base/gitcommand", "internal/plugins", "internal/workspace", "internal/run/stackrun", "internal/plugins/lockfile", "internal/plugins/install", "internal/workspace/bundle", "internal/pulumi/pulumiprogram", "engine/program") {
		eachSource(t, dir, func(name string, file *ast.File) {
			ast.Inspect(file, func(n ast.Node) bool {
				var typ ast.Expr
				switch n := n.(type) {
				case *ast.StarExpr: // a type that is named, and not made
					_, isName := n.X.(*ast.SelectorExpr)
					return !isName
				case *ast.Field:
					return false
				case *ast.SelectorExpr:
					typ = n
				default:
					return true
				}
				s := typ.(*ast.SelectorExpr)
				if x, ok := s.X.(*ast.Ident); ok {
					use := x.Name + "." + s.Sel.Name
					if slices.Contains(suspicious, use) || slices.Contains(environment, use) && slices.Contains(withEnvironment, dir) {
						use = name + " " + use
						found[use] = true
						if asked[use] == "" {
							t.Errorf("%s: ask the named.URL for credentials and internal/base/egress for the way, or say in this test why not", use)
						}
					}
				}
				return true
			})
		})
	}
	for use := range asked {
		require.True(t, found[use], "%s is not there any more", use)
	}
}

// eachSource visits the files of a directory of the project and of those below it, without tests and packages for tests.
func eachSource(t *testing.T, dir string, visit func(name string, file *ast.File)) {
	t.Helper()
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(filepath.Join("../../../..", dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "testkit" || strings.HasSuffix(d.Name(), "test")) {
			return cmp.Or(err, fs.SkipDir)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		name, err := filepath.Rel("../../../..", path)
		visit(filepath.ToSlash(name), file)
		return err
	}))
}

// whole are the functions that start a process with all of the environment, or with one of their own, and why it is no process that
// runs code of a project or of a plugin. All others ask named.Environment.
var whole = map[string]string{
	"cmd/husk/internal/cli/become_other.go become":            "husk-full",
	"cmd/husk/internal/cli/become_unix.go become":             "husk-full",
	"cmd/husk/internal/remotecmd/start_unix.go start":         "husk-server",
	"internal/worker/confine/landlock_linux.go Enter":         "husk itself, confined",
	"cmd/husk/internal/cli/whole.go buildWhole":               "husk's own source",
	"cmd/husk/internal/deploycmd/watch.go watchStranger":      "husk",
	"cmd/husk/internal/newcmd/new.go fetch":                   "fetches husk's source",
	"cmd/husk/internal/remotecmd/start_other.go start":        "husk-server",
	"cmd/husk/internal/stackcmd/stateeditor.go runEditor":     "the editor of the user",
	"internal/backend/keyservice/aws.go run":                  "AWS's command, with the operator's credentials, for a key of the operator's account",
	"internal/backend/keyservice/keyservice.go run":           "the operator's program, which has a key",
	"internal/base/processgroup/processgroup_windows.go Kill": "taskkill",
	"internal/port/mapping/generate/main.go git":              "reads repositories that a maintainer has named",
	"internal/worker/process.go husk":                         "the process of a run: environment.go decides",
}

// starts are what starts processes.
var starts = []string{"exec.Command", "exec.CommandContext", "exec.Cmd{}", "os.StartProcess", "syscall.Exec", "syscall.ForkExec", "unix.Exec"}

// Each process that husk starts runs without husk's own credentials, or is one that no project or plugin has a say in.
func TestProcessesHaveNoCredentialsOfHusk(t *testing.T) {
	found, told := 0, make(map[string]bool)
	for _, dir := range []string{"cmd/husk", "internal", "engine", "host", "loader", "automation", "abi"} {
		eachSource(t, dir, func(name string, file *ast.File) {
			for _, declared := range file.Decls {
				function, is := declared.(*ast.FuncDecl)
				if !is {
					continue
				}
				uses := map[string]bool{}
				ast.Inspect(function, func(n ast.Node) bool {
					if made, is := n.(*ast.CompositeLit); is && made.Type != nil && types.ExprString(made.Type) == "exec.Cmd" {
						uses["exec.Cmd{}"] = true
					}
					if s, is := n.(*ast.SelectorExpr); is {
						if x, is := s.X.(*ast.Ident); is {
							uses[x.Name+"."+s.Sel.Name] = true
						}
					}
					return true
				})
				if !slices.ContainsFunc(starts, func(use string) bool { return uses[use] }) {
					continue
				}
				where := name + " " + function.Name.Name
				if found++; uses["os.Environ"] || !uses["named.Environment"] && !uses["named.ProgramEnvironment"] && !uses["p.environment"] {
					told[where] = true
					if whole[where] == "" {
						t.Errorf("%s: give the process named.Environment(), or say in this test why it may have all", where)
					}
				}
			}
		})
	}
	require.Greater(t, found, 20)
	for where := range whole {
		require.True(t, told[where], "%s starts no process any more, or has named.Environment()", where)
	}
}
