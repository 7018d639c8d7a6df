package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// decoding are functions that make values of a text, by the import of their package.
var decoding = map[string]*regexp.Regexp{
	"encoding/json":                                 regexp.MustCompile(`^(Unmarshal|NewDecoder)$`),
	"github.com/go-json-experiment/json":            regexp.MustCompile(`^(Unmarshal\w*)$`),
	"github.com/go-json-experiment/json/jsontext":   regexp.MustCompile(`^NewDecoder$`),
	"github.com/fxamacker/cbor/v2":                  regexp.MustCompile(`^(Unmarshal\w*|NewDecoder|DecOptions)$`),
	"go.yaml.in/yaml/v3":                            regexp.MustCompile(`^(Unmarshal|NewDecoder)$`),
	"archive/zip":                                   regexp.MustCompile(`^(NewReader|OpenReader)$`),
	"archive/tar":                                   regexp.MustCompile(`^NewReader$`),
	"compress/gzip":                                 regexp.MustCompile(`^NewReader$`),
	"compress/flate":                                regexp.MustCompile(`^NewReader\w*$`),
	"compress/zlib":                                 regexp.MustCompile(`^NewReader\w*$`),
	"compress/bzip2":                                regexp.MustCompile(`^NewReader$`),
	"compress/lzw":                                  regexp.MustCompile(`^NewReader$`),
	"github.com/klauspost/compress/gzip":            regexp.MustCompile(`^NewReader$`),
	"github.com/klauspost/compress/zstd":            regexp.MustCompile(`^NewReader$`),
	"encoding/xml":                                  regexp.MustCompile(`^(Unmarshal|NewDecoder)$`),
	"encoding/gob":                                  regexp.MustCompile(`^NewDecoder$`),
	"encoding/csv":                                  regexp.MustCompile(`^NewReader$`),
	"encoding/asn1":                                 regexp.MustCompile(`^Unmarshal\w*$`),
	"google.golang.org/protobuf/proto":              regexp.MustCompile(`^Unmarshal$`),
	"google.golang.org/protobuf/encoding/protojson": regexp.MustCompile(`^Unmarshal$`),
	"github.com/BurntSushi/toml":                    regexp.MustCompile(`^(Decode\w*|Unmarshal|NewDecoder)$`),
	module + "internal/base/jsonerror":              regexp.MustCompile(`^Unmarshal$`),
	module + "internal/base/checkedjson":            regexp.MustCompile(`^Unmarshal$`),
	module + "internal/base/checkedcbor":            regexp.MustCompile(`^Unmarshal$`),
	module + "internal/base/strictcbor":             regexp.MustCompile(`^Unmarshal\w*$`),
	module + "abi/property/guestcbor":               regexp.MustCompile(`^(Unmarshal\w*|Codec)$`),
	module + "internal/wasm/wasmfile":               regexp.MustCompile(`^Read$`),
	module + "internal/base/intake":                 regexp.MustCompile(`^NewTar$`),
	module + "engine/program/source":                regexp.MustCompile(`^Parse\w*$`),
}

// Whatever decodes a text is in testdata/decoders.txt with the number of its calls in a package, below the row of the table of what decoders take that is about it, or
// below the reason why nobody but the user sends it. The functions of internal/base/intake count before they decode, and need not be.
func TestEachDecoderIsInATable(t *testing.T) {
	reasons := listed(t, "testdata/decoders.txt")
	document, err := os.ReadFile("../docs/security.md")
	require.NoError(t, err)
	measured, err := os.ReadFile("../internal/base/intake/decoders_test.go")
	require.NoError(t, err)
	row := regexp.MustCompile(`In the table: ([^.]+)\.`)
	for line, reason := range reasons {
		if of := row.FindStringSubmatch(reason); of != nil {
			require.Regexp(t, `(?m)^\| [^|]*`+regexp.QuoteMeta(of[1])+`[^|]* \|`, string(document), "%s: docs/security.md has no row for it", line)
			require.Contains(t, string(measured), strconv.Quote(of[1])+": {", "%s: nothing measures it", line)
		}
	}
	calls := make(map[string]int)
	for _, dir := range []string{"abi", "automation", "conformance", "engine", "host", "internal", "cmd/husk", "cmd/husk-server"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", filepath.FromSlash(dir)), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if name := d.Name(); d.IsDir() && (name == "testdata" || name == "_shims" || strings.HasSuffix(name, "test") || name == "fakeservice") {
				return filepath.SkipDir
			}
			if !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				for _, call := range decoders(t, path) {
					calls[call]++
				}
			}
			return nil
		}))
	}
	require.NotEmpty(t, calls)
	for call, times := range calls {
		line := fmt.Sprintf("%s: %d", call, times)
		if reasons[line] == "" {
			t.Errorf("%s\n\tdecodes a text: measure it in internal/base/intake/decoders_test.go, and add this line to api/testdata/decoders.txt below its row, or below the reason why only the user sends it", line)
		}
		delete(reasons, line)
	}
	for line := range reasons {
		t.Errorf("%s\n\tis not so any more: correct the line in api/testdata/decoders.txt, or remove it", line)
	}
}

// decoders returns the functions by which a file decodes something, each with its package.
func decoders(t *testing.T, path string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	of := make(map[string]string)
	for _, i := range file.Imports {
		from, err := strconv.Unquote(i.Path.Value)
		require.NoError(t, err)
		if decoding[from] == nil {
			continue
		}
		parts := strings.Split(from, "/")
		name := parts[len(parts)-1]
		if version := regexp.MustCompile(`^v\d+$`); version.MatchString(name) {
			name = parts[len(parts)-2]
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		of[name] = from
	}
	if len(of) == 0 {
		return nil
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && of[x.Name] != "" && decoding[of[x.Name]].MatchString(s.Sel.Name) {
				all = append(all, strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")+" "+x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return all
}
