//go:build ignore

// Type-checks packages of this module, and all that they import, as they are built for other platforms: what a file for one system alone is missing, and
// what does not fit into a word of 32 bits. It makes no code, which takes ten times as long and finds no more. Functions of
// other modules are taken to be right.
//
//	go run .ci/platforms.go ./cmd/... windows/amd64 darwin/arm64
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is the output of go list for a package.
type pkg struct {
	Name, ImportPath, Dir string
	GoFiles               []string
	ImportMap             map[string]string
	Module                *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go run .ci/platforms.go PACKAGES OS/ARCHITECTURE...")
		os.Exit(2)
	}
	failed := false
	for _, platform := range os.Args[2:] {
		checked, err := check(os.Args[1], platform)
		if err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			continue
		}
		fmt.Printf("%s: %d packages\n", platform, checked)
	}
	if failed {
		os.Exit(1)
	}
}

// check type-checks packages and all that they import.
func check(pattern, platform string) (checked int, err error) {
	system, architecture, _ := strings.Cut(platform, "/")
	list := exec.Command("go", "list", "-deps", "-json=Name,ImportPath,Dir,GoFiles,ImportMap,Module,Error", pattern)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture)
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := list.Start(); err != nil {
		return 0, err
	}
	sizes := types.SizesFor("gc", architecture)
	if sizes == nil {
		return 0, fmt.Errorf("there is no architecture %q", architecture)
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	var faults []error
	for decoder := json.NewDecoder(out); ; { // imports come before what imports them
		p := &pkg{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		if p.Error != nil {
			return 0, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		ours := p.Module != nil && p.Module.Main
		mode := parser.SkipObjectResolution
		files := token.NewFileSet()
		var syntax []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, mode)
			if err != nil {
				return 0, err
			}
			syntax = append(syntax, file)
		}
		config := types.Config{
			Sizes: sizes, IgnoreFuncBodies: !ours, FakeImportC: true,
			Importer: imports{done, p.ImportMap},
			Error: func(err error) {
				if ours {
					faults = append(faults, err)
				}
			},
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		done[p.ImportPath], _ = config.Check(p.ImportPath, files, syntax, nil) // Error has the faults
		checked++
	}
	if err := list.Wait(); err != nil {
		return 0, err
	}
	return checked, errors.Join(faults...)
}

// imports are the packages that were checked, with the names that a package has for them.
type imports struct {
	done  map[string]*types.Package
	names map[string]string
}

func (i imports) Import(path string) (*types.Package, error) {
	if name, ok := i.names[path]; ok {
		path = name
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not there", path)
}
