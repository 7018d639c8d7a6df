package port

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/husk-dev/husk/internal/build/husksource"
)

// project is the module of Husk. Its packages for guests have no requirements.
const project = husksource.Module

// sdkLanguage is the version of Go that the SDK and the adapters are written in. Each of their files names
// it, because the version in go.mod would be raised in the provider's, too, and change what its code means.
const sdkLanguage = "go1.26"

// sdk is the source of the SDK and an adapter as a port uses it, without parts that guests do not need.
type sdk struct {
	// husk and adapter are the directories of the modules.
	husk, adapter string
	// module is the path of the adapter's module.
	module string
	// tags are the build tags of the adapter's files that depend on the version of a library.
	tags []string
}

// findSDK returns the directory of Husk's source, and the directory of an adapter in it. The source is the directory that the
// user names, the checkout that this program was built from, or the program's own copy.
func (b *porter) findSDK(adapter string) (husk, adapterDir string, err error) {
	inside := filepath.FromSlash(strings.TrimPrefix(adapter, project+"/"))
	if b.options.SDK != "" {
		dir, err := filepath.Abs(b.options.SDK)
		if err != nil {
			return "", "", err
		}
		if _, err := os.Stat(filepath.Join(dir, inside, "go.mod")); err != nil {
			return "", "", fmt.Errorf("--sdk %s is not a checkout of Husk with the adapter %s: %w", b.options.SDK, inside, err)
		}
		return dir, filepath.Join(dir, inside), nil
	}
	if dir, ok := husksource.Checkout(path.Join(filepath.ToSlash(inside), "go.mod")); ok {
		return dir, filepath.Join(dir, inside), nil
	}
	dir, err := b.embeddedSDK()
	return dir, filepath.Join(dir, inside), err
}

// prepareSDK copies the source of an adapter, and of the SDK's packages that it imports, into the cache.
// Both get a go.mod without requirements, with the language version of the provider's: a provider's
// selection of versions, and what its code means, must not depend on them.
func (b *porter) prepareSDK(kind *kind, language string) (*sdk, error) {
	husk, adapterDir, err := b.findSDK(kind.adapter)
	if err != nil {
		return nil, err
	}
	made, err := os.MkdirTemp(b.dir, "sdk-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(made)
	c := sdkCopy{husk: husk, adapter: adapterDir, module: kind.adapter, to: made, copied: map[string]bool{}}
	if err := c.copyAll(kind.packages); err != nil {
		return nil, fmt.Errorf("copying the SDK in %s: %w", husk, err)
	}
	for name, module := range map[string]string{"husk": project, "adapter": kind.adapter} {
		text := fmt.Appendf(nil, "module %s\n\ngo %s\n", module, language)
		if err := os.WriteFile(filepath.Join(made, name, "go.mod"), text, 0o644); err != nil {
			return nil, err
		}
	}
	sum, err := dirhash.HashDir(made, "", dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	kept, err := b.keep("sdk", sum, func(to string) error {
		if err := os.Remove(to); err != nil {
			return err
		}
		return os.Rename(made, to)
	})
	if err != nil {
		return nil, err
	}
	return &sdk{husk: filepath.Join(kept, "husk"), adapter: filepath.Join(kept, "adapter"), module: kind.adapter, tags: c.tags}, nil
}

// sdkCopy copies packages of the SDK and an adapter.
type sdkCopy struct {
	// husk and adapter are the directories of the modules, module is the adapter's path.
	husk, adapter, module string
	to                    string
	// copied are the import paths of packages that were copied.
	copied map[string]bool
	tags   []string
	// sources are the files that were copied, by the path in a checkout, as they were but for comments; nil if nobody asks.
	sources map[string][]byte
}

// copyAll copies packages of the adapter, and the packages of it and of the SDK that they import.
func (c *sdkCopy) copyAll(packages []string) error {
	for _, name := range packages {
		if err := c.copyPackage(path.Join(c.module, name)); err != nil {
			return err
		}
	}
	return nil
}

// place returns the directory of a package, and where it is copied to. It is false for packages of others.
func (c *sdkCopy) place(pkg string) (from, to string, ours bool) {
	if rest, ok := strings.CutPrefix(pkg, c.module); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(c.adapter, filepath.FromSlash(rest)), filepath.Join(c.to, "adapter", filepath.FromSlash(rest)), true
	}
	if rest, ok := strings.CutPrefix(pkg, project+"/"); ok {
		return filepath.Join(c.husk, filepath.FromSlash(rest)), filepath.Join(c.to, "husk", filepath.FromSlash(rest)), true
	}
	return "", "", false
}

// forOthers are the endings of files that the Go command leaves out of a module.
var forOthers = regexp.MustCompile(`_(test|unix|linux|darwin|windows|js|amd64|arm64)\.go$`)

// isSource reports whether a file of the SDK is part of a program.
func isSource(name string) bool {
	return !slices.Contains([]string{".md", ".mod", ".sum", ".txt"}, filepath.Ext(name))
}

// copyPackage copies a package, and the SDK's packages that it imports. Files for other systems are left out.
func (c *sdkCopy) copyPackage(pkg string) error {
	from, to, ours := c.place(pkg)
	if !ours || c.copied[pkg] {
		return nil
	}
	c.copied[pkg] = true
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || forOthers.MatchString(e.Name()) || !isSource(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		source := data
		if strings.HasSuffix(e.Name(), ".go") {
			data = withoutComments(data)
			source = data
			guests, imports, err := c.readFile(e.Name(), &data)
			if err != nil {
				return err
			}
			if !guests {
				continue
			}
			for _, imported := range imports {
				if err := c.copyPackage(imported); err != nil {
					return err
				}
			}
		}
		if c.sources != nil {
			c.sources[path.Join(strings.TrimPrefix(pkg, project+"/"), e.Name())] = source
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// featureTag is a build tag of files for versions of a library before the named one.
var featureTag = regexp.MustCompile(`^[a-z]+_before_[0-9]+_[0-9]+$`)

// readFile returns the imports of a file, and false if it is for other systems. It adds the language version to the file.
func (c *sdkCopy) readFile(name string, data *[]byte) (guests bool, imports []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, *data, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return false, nil, err
	}
	var expr constraint.Expr = &constraint.TagExpr{Tag: sdkLanguage}
	line, written := buildLine(*data)
	if line != "" {
		own, err := constraint.Parse(line)
		if err != nil {
			return false, nil, fmt.Errorf("%s: %w", name, err)
		}
		// A tag that the build decides, such as a version of Go, may be set or not.
		with := func(decided bool) bool {
			return own.Eval(func(tag string) bool {
				return tag == "wasip1" || tag == "wasm" || tag == "gc" || decided && (featureTag.MatchString(tag) || strings.HasPrefix(tag, "go1."))
			})
		}
		if !with(true) && !with(false) {
			return false, nil, nil
		}
		own.Eval(func(tag string) bool {
			if featureTag.MatchString(tag) && !slices.Contains(c.tags, tag) {
				c.tags = append(c.tags, tag)
			}
			return true
		})
		slices.Sort(c.tags)
		expr = &constraint.AndExpr{X: own, Y: expr}
	}
	stamped := "//go:build " + expr.String() + "\n"
	if written < 0 {
		*data = append([]byte(stamped+"\n"), *data...)
	} else {
		rest := (*data)[written:]
		*data = slices.Concat((*data)[:written], []byte(stamped), rest[bytes.IndexByte(rest, '\n')+1:])
	}
	return true, importsOf(file), nil
}

// importsOf returns the paths that a file imports.
func importsOf(file *ast.File) (paths []string) {
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// buildLine returns the build constraint of a file and its offset, which is -1 if there is none.
func buildLine(data []byte) (line string, at int) {
	offset := 0
	for text := range bytes.Lines(data) {
		trimmed := strings.TrimSpace(string(text))
		if constraint.IsGoBuild(trimmed) {
			return trimmed, offset
		}
		if trimmed != "" && !strings.HasPrefix(trimmed, "//") {
			return "", -1
		}
		offset += len(text)
	}
	return "", -1
}
