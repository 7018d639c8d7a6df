package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/intake"
)

// What a project that is not trusted names outside of its directory is refused where it is named, and its contents are in
// no error. A trusted project has it as ever.
func TestAStrangersProjectNamesOnlyItsOwn(t *testing.T) {
	const canary = "canary-4711"
	outside := t.TempDir()
	for name, text := range map[string]string{
		"file": canary + ": [\n", "program.yaml": "outputs: {x: " + canary + "}\n", "Husk.dev.yaml": "config: {shop:x: " + canary + "}\n",
		"PulumiPlugin.yaml": "name: pkg\nruntime: yaml\ncomponents: {A: {description: " + canary + ", outputs: {a: b}}}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(text), 0o600))
	}
	for name, text := range map[string]string{
		"main":               "main: OUTSIDE/program.yaml",
		"main of a mistake":  "main: OUTSIDE/file",
		"main's directory":   "main: OUTSIDE",
		"main in a runtime":  "runtime: go\nmain: OUTSIDE",
		"stackConfigDir":     "stackConfigDir: OUTSIDE",
		"provider":           "plugins: {providers: [{name: a, path: OUTSIDE/a.wasm}]}",
		"grant":              "plugins: {providers: [{name: a, path: a.wasm, grants: {fs: [{path: OUTSIDE}]}}]}",
		"short grant":        "plugins: {providers: [{name: a, path: a.wasm, grants: {fs: ['OUTSIDE:rw']}}]}",
		"vendor":             "plugins: {vendor: OUTSIDE}",
		"root":               "plugins: {trust: {roots: [OUTSIDE/file], rules: [{source: '**', unsigned: true}]}}",
		"key":                "plugins: {trust: {rules: [{source: '**', signers: [{key: OUTSIDE/file}]}]}}",
		"policy":             "policies: [OUTSIDE]",
		"policy with a path": "policies: [{path: OUTSIDE/a.wasm}]",
		"package":            "packages: {pkg: OUTSIDE}",
		"package's source":   "packages: {pkg: {source: OUTSIDE}}",
	} {
		dir := t.TempDir()
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
		require.NoError(t, os.CopyFS(filepath.Join(dir, ".husk"), os.DirFS(outside)))
		require.NoError(t, os.Symlink(".husk", filepath.Join(dir, "kept")))
		relative, err := filepath.Rel(dir, outside)
		require.NoError(t, err)
		for _, way := range []string{outside, filepath.ToSlash(relative), "./link", "./x/../link", "./.husk", "./x/../.husk", "./.Husk", "./kept"} {
			text := []byte("name: shop\n" + strings.ReplaceAll(text, "OUTSIDE", way) + "\n")
			_, err = ParseProject(t.Context(), projectroot.New(dir, projectroot.Untrusted), "Husk.yaml", text)
			require.ErrorContains(t, err, "the project is not trusted", "%s: %s", name, way)
			require.ErrorContains(t, err, "Husk.yaml:")
			require.NotContains(t, err.Error(), canary)
			if _, err = ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", text); err != nil {
				require.NotContains(t, err.Error(), "the project is not trusted", name)
				require.NotContains(t, err.Error(), "| "+canary, "what is elsewhere is not quoted")
			}
		}
	}
	// Links in place of the files that are not named.
	for name, rest := range map[string]string{
		"Husk.yaml": "", "Pulumi.yaml": "", "Main.yaml": "name: shop", "Main.json": "name: shop", "sdks/a.yaml": "name: shop", "sdks": "name: shop",
		"Husk.dev.yaml": "name: shop", "Pulumi.dev.yaml": "name: shop",
	} {
		dir := t.TempDir()
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		target := filepath.Join(outside, "file")
		if name == "sdks" {
			target = outside
		}
		require.NoError(t, os.Symlink(target, at))
		if rest != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(rest), 0o600))
		}
		p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Untrusted))
		if err == nil {
			_, err = p.StackConfig("dev")
		}
		require.ErrorContains(t, err, "the project is not trusted", name)
		require.NotContains(t, err.Error(), canary)
	}
}

// What is read and parsed of a stranger's project is bounded for all of its files together.
func TestAStrangersProjectIsBoundedAsAWhole(t *testing.T) {
	numbered := func(text string, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(text, "@", fmt.Sprint(i)))
		}
		return b.String()
	}
	const left = 4 << 20
	const plugin, component = "name: pkg\nruntime: yaml\ncomponents: {A: {outputs: {a: b}}}\n", "components: {A@: {outputs: {a: b}}}\n"
	large := "x: " + strings.Repeat("x", left/4/source.MemoryOfByte) + "\n"
	entries := "x: [" + strings.Repeat("1,", left/4/source.MemoryOfPart) + "]\n"
	type files = map[string]string // those that the project has n of, numbered
	for name, c := range map[string]struct {
		project string
		files   files
		n       int
	}{
		"the project file":      {"description: " + strings.Repeat("x", left/source.MemoryOfByte), nil, 0},
		"bytes of components":   {"packages: {pkg: ./pkg}", files{"pkg/PulumiPlugin.yaml": plugin, "pkg/@.yaml": component + large}, 5},
		"entries of components": {"packages: {pkg: ./pkg}", files{"pkg/PulumiPlugin.yaml": plugin, "pkg/@.yaml": component + entries}, 5},
		"bytes of packages": {
			"packages: {" + numbered("p@: ./p@, ", 5) + "}", files{"p@/PulumiPlugin.yaml": strings.ReplaceAll(plugin, "pkg", "p@") + large}, 5,
		},
		"bytes of locks":       {"", files{"sdks/@.yaml": large}, 5},
		"entries of locks":     {"", files{"sdks/@.yaml": entries}, 5},
		"files":                {"", files{"sdks/@.yaml": ""}, left/source.MemoryOfFile + 1},
		"names in a directory": {"packages: {" + numbered("p@: {source: ./p}, ", 8) + "}", files{"p/@": "", "p/PulumiPlugin.yaml": plugin}, left / entryMemory / 8},
		"a program beside it":  {"main: program.yaml", files{"sdks/@.yaml": large, "program.yaml": "outputs: {a: " + strings.Repeat("x", left/4/source.MemoryOfByte) + "}\n"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				for i := range c.n {
					path := filepath.Join(dir, strings.ReplaceAll(file, "@", fmt.Sprint(i)))
					require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
					require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "@", fmt.Sprint(i))), 0o600))
				}
			}
			load := func(left *allowance) string {
				_, ds := readProject(t.Context(), projectroot.New(dir, projectroot.Untrusted), "Husk.yaml", []byte("name: shop\n"+c.project+"\n"), left)
				return ds.Error()
			}
			require.Contains(t, load(&allowance{memory: left}), errTooMuch.Error())
			require.NotContains(t, load(nil), errTooMuch.Error())
		})
	}
}

// Whoever loads a stranger's project is asked for the memory before anything is decoded.
func TestAStrangersProjectAsksForRoom(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: shop\npackages: {pkg: ./pkg}\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pkg"), 0o755))
	large := "name: pkg\nruntime: yaml\ncomponents: {A: {outputs: {a: [" + strings.Repeat("1,", 10_000) + "]}}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pkg", "PulumiPlugin.yaml"), []byte(large), 0o600))
	for most, refused := range map[int64]bool{0: true, 1 << 20: true, 8 << 20: false} {
		budget := intake.NewBudget(most)
		ctx, end := intake.WithBudget(t.Context(), budget, "somebody")
		_, err := LoadProject(ctx, projectroot.New(dir, projectroot.Untrusted))
		var full *intake.FullError
		require.Equal(t, refused, errors.As(err, &full), "%d: %v", most, err)
		require.Equal(t, refused, err != nil, err)
		end()
		require.Zero(t, budget.InUse())
		require.ErrorIs(t, intake.Room(ctx, 1), context.Canceled, "what goes on after the end")
	}
}

// Strangers have an allowance, and users none. It is for loading: what was loaded can be read for as long as somebody uses it.
func TestTheAllowanceOfProjects(t *testing.T) {
	dir := t.TempDir()
	text := append([]byte("config: {a: b}\n# "), bytes.Repeat([]byte("x"), source.MaxFileSize-100)...)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sdks"), 0o755))
	for name, text := range map[string][]byte{"Husk.yaml": []byte("name: shop\n"), "Husk.dev.yaml": text} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	const files = maxProjectMemory/source.MaxFileSize/source.MemoryOfByte + 1
	for trust, wrong := range map[projectroot.Trust]string{projectroot.Trusted: "", projectroot.Untrusted: fmt.Sprintf("may take %d MiB of memory", maxProjectMemory>>20)} {
		root := projectroot.New(dir, trust)
		p, err := LoadProject(t.Context(), root)
		require.NoError(t, err)
		for range files {
			_, err := p.readFile(filepath.Join(dir, "Husk.dev.yaml"))
			require.NoError(t, err)
		}
		p.left = allowanceOf(root)
		for range files {
			_, err = p.readFile(filepath.Join(dir, "Husk.dev.yaml"))
		}
		if wrong == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, wrong)
		}
	}
}
