package namedtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	"internal/backend/keyservice/keyservice.go http.Client":        "the operator's server of keys, by the environment",
	"internal/backend/keyservice/keyservice.go os.Getenv":          "the operator's server of keys, with its token",
	"internal/registry/client.go http.Client":                      "sends by the transport of its options",
	"internal/registry/client.go http.DefaultTransport":            "the settings of the transport of its options",
	"internal/base/gitcommand/gitcommand.go os.Environ":            "without what is for any server: isOfCredentials",
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
		files := token.NewFileSet()
		require.NoError(t, filepath.WalkDir(filepath.Join("../../../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") || strings.Contains(path, "testdata") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			name, err := filepath.Rel("../../../..", path)
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
					if slices.Contains(suspicious, use) || slices.Contains(environment, use) && (slices.Contains(withEnvironment, dir) || name == "internal/base/gitcommand/gitcommand.go") {
						use = filepath.ToSlash(name) + " " + use
						found[use] = true
						if asked[use] == "" {
							t.Errorf("%s: ask the named.URL for credentials and internal/base/egress for the way, or say in this test why not", use)
						}
					}
				}
				return true
			})
			return err
		}))
	}
	for use := range asked {
		require.True(t, found[use], "%s is not there any more", use)
	}
}
