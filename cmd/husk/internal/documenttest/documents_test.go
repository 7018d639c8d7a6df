package documenttest

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	guestsdk "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/internal/build/langbuild"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// documents lists the code blocks of each document, in their order, with what the test does with each.
// The blocks of one document share a directory. In it is what [reader.prepare] makes, and for [inCheckout] the directory husk,
// a copy of this tree.
var documents = map[string][]action{
	"README.md": {
		run("husk"),
		leave("it runs this test"),
		write("website/Husk.yaml", ""),
		run("website"),
		write("husk/greet/main.go", ""),
		run("husk/greet"),
	},
	"docs/embedding.md": {
		leave("an excerpt; the example of package loader is a test"),
		leave("an excerpt; the examples of packages engine and goprogram are tests"),
		leave("an excerpt; the example of package automation is a test"),
		leave("an excerpt; TestBackends of package automation opens such places"),
		leave("an excerpt; TestInlineProgram of package automation runs one"),
	},
	"docs/console.md": {
		leave("serves until it is interrupted; a test of package consolecmd runs such a command"),
		leave("a configuration of Prometheus, whose metrics a test of the console reads"),
	},
	"docs/editors.md": {
		leave("builds and installs an extension of VS Code, which a test loads"),
		leave("a configuration of Neovim"),
		leave("a configuration of Helix"),
		run("rules"),
		leave("a comment for another language server"),
	},
	"docs/grants.md": {
		write("shop/Husk.yaml", project),
		run("shop"),
		leave("asks for confirmation; the script learn runs such a command"),
		leave("a file whose form the script learn tests"),
		leave("two lines of a log, whose form the script capabilities tests"),
	},
	"docs/migration.md": {load()},
	"docs/pulumi-cli.md": {
		leave("needs the Pulumi CLI; the tests of engine/internal/pulumitest start such plugins with Pulumi's client"),
		leave("has a provider that is made up; the same tests have plugins with grants"),
		leave("serves until it is interrupted; the same tests attach Pulumi's client to what it serves"),
		load(),
		leave("has husk run by another name, which the script pulumi does"),
		leave("a project for Node.js; package programtest has such projects"),
		leave("needs a server and a repository; TestRemoteWorkspace of husk-server runs such commands"),
		leave("needs the Pulumi CLI; the same tests read and write the states with its code"),
	},
	"docs/policy.md": {
		load(),
		run("rules"),
		write("husk/house/main.go", `
package main

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/policy"
)

`),
		run("husk/house"),
	},
	"docs/porting.md": {
		leave("the commands fetch and compile a provider, which a test of the builder does"),
		leave("a shim, whose form a test of the builder uses"),
		leave("a mapping, whose form a test of the builder uses"),
	},
	"docs/pulumi-dynamic.md": {leave("a project for Node.js, which the tests of programs run if Node.js is there"), leave("a part of that project")},
	"docs/programs.md": {
		load(),
		load(),
		load(),
		load(),
		load(),
		load(),
		configure(),
	},
	"docs/programs-wasm.md": {
		write("husk/edge/Husk.yaml", ""), write("husk/edge/program/main.go", ""), run("husk/edge"),
		leave("packages of npm and an engine, which TestTutorial of examples/contacts/typescript/test has"), leave("a smaller form of examples/contacts/roster/rust"),
	},
	"docs/pulumi.md": {
		leave("a project for Node.js; package programtest has such projects"),
		leave("it fetches packages of Node.js, which package programtest does"),
		leave("a package of components, as package programtest and the script nativeplugin.txtar have them"),
	},
	"docs/security.md": {load()},
	"docs/state.md": {
		leave("a directory of the reader, which the script backend.txtar logs in to"),
		leave("a database of the reader, as the tests of package postgres have one"),
		leave("buckets of the reader, as the tests of package s3 have one"),
		leave("a server of the reader, as the tests of package remote have one"),
		leave("a key of the project file, which the script encryption.txtar has"),
		leave("a list of files"),
	},
	"docs/testing-providers.md": {
		run("."),
		write("notes/main.go", ""),
		write("notes/main_test.go", ""),
		leave("the form of a failure, which TestFaultsFindMistakes of package guesttest tests"),
		extend("notes/main_test.go"),
		run("notes"),
		write("notes/module_test.go", ""),
		run("notes"),
	},
	"docs/ci.md": {
		run("ci"), run("ci"), leave("the form of another program"), leave("the form of another program"),
	},
	"docs/runners.md": {
		leave("processes that go on, as TestThreeLines of husk-server has them"),
		leave("tokens, as TestSession of husk-server issues them"),
		leave("limits of a server that goes on, as TestUsage of husk-server sets them"),
		leave("a run that has lost its worker, as TestCancelDrainAndKill of husk-server has one"),
		leave("tokens of persons, as TestFourEyes of package server issues them"),
		leave("rules of a server, as TestLoginWithAnIdentity of husk-server has them"),
		leave("an issuer of the reader, as TestLoginWithAnIdentity of husk-server has one"),
		leave("a worker that goes on, as TestEdge of husk-server has it"),
		leave("a schedule of a server, as TestSession of husk-server sets one"),
		leave("servers that go on, as TestMetricsAtTheEnd of husk-server has one"),
		leave("services of a machine, whose units TestUnits of husk-server checks"),
		leave("files of services"),
		leave("files of services"),
		leave("images of a release, which TestImages of release reads"),
		leave("secrets of a cluster, which TestKustomize of husk-server has the base name"),
		leave("an overlay of the base that TestKustomize of husk-server checks"),
		leave("a server of the reader with a database, as TestRuns of husk-server has one"),
		leave("a database of the reader, as TestBackupOfPostgreSQL of package server backs one up"),
		leave("a server of the reader with a database, as TestMove of package dump has one"),
		leave("a team of a server, as TestTeamsEnd of package server ends one"),
	},
	"docs/operations.md": {leave("a server of the reader")},
	"docs/webhooks.md":   {leave("hooks of a repository, as TestChangeRequests of package webhook has one")},
	"docs/scale.md":      {leave("a measurement")},
	"docs/install.md": {
		leave("it fetches what is released"), leave("it verifies what is released, which the test of release has"), run("rules"), run("rules"),
		with("small/Husk.yaml", small, run("small")),
	},
	"docs/publishing.md": {
		leave("it needs a registry, which the script registry has"), leave("it needs a registry, which the script publish has"),
		leave("it needs a registry, which the script signatures has"), leave("it fetches what is released"),
	},
	"docs/registry.md": {
		leave("it needs a registry, which the script registry has"), run("ci"), leave("it needs a key, which the script signatures has"),
	},
	"docs/secrets.md": {run("ci"), leave("a project file with the key that the script encryption.txtar has")},
	"docs/traces.md":  {run("rules"), run("rules"), leave("processes that go on, as TestTrace of husk-server has them")},
	"docs/tutorial.md": {
		run("."), run("shop"), run("shop"), run("shop"), run("shop"), run("shop"), run("shop"), run("shop"), run("shop"),
	},
	"docs/tutorial-terraform.md": {
		whole("queue"), leave("a published provider and a service, which TestFirstResourceWithATerraformProvider has"), leave("the same test"),
		leave("the same test"), leave("the same test"), leave("the same test"), leave("the same test"), leave("the same test"), leave("the same test"),
		whole("dns"), whole("code"),
	},
	"docs/tutorial-provider-typescript.md": {
		leave("packages of npm and an engine, which TestTutorial of examples/contacts/typescript/test has"), leave("the same test"), leave("the same test"),
		leave("the same test"), leave("the same test"), leave("the same test"), leave("the same test"),
	},
	"docs/tutorial-provider-python.md": {
		leave("packages of PyPI and an engine, which TestTutorial of examples/contacts/python/test has"), leave("the same test"), leave("the same test"),
		leave("the same test"), leave("the same test"), leave("the same test"), leave("the same test"),
	},
	"docs/tutorial-provider.md": {run("."), run("greeter"), run("greeter"), run("greeter"), run("greeter")},
	"docs/tutorial-provider-c.md": {
		run("."), leave("husk provider build has the same flags"), built("greeter"), leave("an excerpt of the template"),
		leave("a smaller form of the component in examples/contacts/c"),
	},
	"docs/tutorial-provider-rust.md": {
		run("."), leave("a file of the template"), built("greeter"), leave("a smaller form of the component in examples/contacts/rust"),
	},
}

// inCheckout are the documents whose reader works in a checkout of Husk.
var inCheckout = []string{"README.md", "docs/policy.md", "docs/programs-wasm.md"}

// project begins a project file whose rest is an excerpt.
const project = "name: excerpt\nruntime: yaml\n"

// small is a project with one provider.
const small = project + `
plugins:
  providers:
    - {name: random, path: ../website/providers/random.wasm}
resources:
  name: {type: random:RandomPet}
`

// action is what the test does with a code block.
type action func(t *testing.T, r *reader, block string)

// run runs the commands of a block in a directory. If a line begins with "$ ", the lines up to the
// next such line are the output of the command. A comment that begins with "or: " is a command, too.
func run(dir string) action {
	return func(t *testing.T, r *reader, block string) {
		if !strings.HasPrefix(block, "$ ") {
			for command := range strings.Lines(block) {
				command, comment, _ := strings.Cut(command, " # ")
				r.sh(t, dir, command)
				if other, ok := strings.CutPrefix(comment, "or: "); ok {
					r.sh(t, dir, other)
				}
			}
			return
		}
		for _, session := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(session, "\n")
			got := r.sh(t, dir, command)
			require.Equal(t, constant(want), constant(got), "the output of %s", command)
		}
	}
}

// write makes a file of a block, behind a text that the document leaves out.
func write(name, head string) action {
	return func(t *testing.T, r *reader, block string) {
		path := filepath.Join(r.dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(head+block), 0o644))
	}
}

// extend adds a block to a file.
func extend(name string) action {
	return func(t *testing.T, r *reader, block string) {
		head, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
		require.NoError(t, err)
		write(name, string(head))(t, r, block)
	}
}

// with makes a file first.
func with(name, content string, then action) action {
	return func(t *testing.T, r *reader, block string) {
		write(name, "")(t, r, content)
		then(t, r, block)
	}
}

// built is run for a provider that this machine can build.
func built(dir string) action {
	return func(t *testing.T, r *reader, block string) {
		language := langbuild.Of(filepath.Join(r.dir, dir))
		require.NotNil(t, language)
		_, err := language.Build(t.Context(), langbuild.Source{Dir: filepath.Join(r.dir, dir), Root: r.dir, SDK: guestsdk.In(language.Name)})
		if missing, ok := errors.AsType[*langbuild.MissingError](err); ok {
			t.Skip(missing)
		}
		require.NoError(t, err)
		home, err := os.UserHomeDir()
		require.NoError(t, err)
		for name, place := range map[string]string{"RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo", "ZIG_GLOBAL_CACHE_DIR": ".cache/zig"} {
			r.env = append(r.env, name+"="+cmp.Or(os.Getenv(name), filepath.Join(home, place))) // which the tools look for at home
		}
		run(dir)(t, r, block)
	}
}

// load has husk read an excerpt of a project file.
func load() action {
	return func(t *testing.T, r *reader, block string) {
		write("excerpt/Husk.yaml", project)(t, r, block)
		r.sh(t, "excerpt", "husk config")
	}
}

// whole has husk read a project file.
func whole(dir string) action {
	return func(t *testing.T, r *reader, block string) {
		write(dir+"/Husk.yaml", "")(t, r, block)
		r.sh(t, dir, "husk config")
	}
}

// configure has husk use the configuration of the stack dev.
func configure() action {
	return func(t *testing.T, r *reader, block string) {
		write("excerpt/Husk.yaml", project)(t, r, "")
		write("excerpt/Husk.dev.yaml", "")(t, r, block)
		r.sh(t, "excerpt", "husk preview")
	}
}

// leave does nothing with a block, for a reason.
func leave(string) action { return func(*testing.T, *reader, string) {} }

// varying has what differs from run to run in the output of a command.
var varying = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "DIGEST"},
	{regexp.MustCompile(`\d+(\.\d+)? ?(µs|ms|s)\b`), "TIME"},
	{regexp.MustCompile(`\d+(\.\d+)? [kM]B`), "SIZE"},
	{regexp.MustCompile(`[ \t]+\n`), "\n"},
}

// constant returns the part of an output that is the same in each run.
func constant(output string) string {
	output = strings.TrimSpace(output) + "\n"
	for _, v := range varying {
		output = v.pattern.ReplaceAllString(output, v.by)
	}
	return output
}

// TestDocuments does what README.md and docs tell their readers to do.
func TestDocuments(t *testing.T) {
	testmodule.Skip(t)
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, path := range append(names, filepath.Join(root, "README.md")) {
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		if filepath.Base(name) == "commands.md" {
			continue // the help of all commands, which a test of package root compares
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		blocks, actions := codeBlocks(string(text)), documents[filepath.ToSlash(name)]
		require.Len(t, actions, len(blocks), "%s: say in documents what to do with each code block", name)
		if len(blocks) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, root, slices.Contains(inCheckout, filepath.ToSlash(name)))
			for i, block := range blocks {
				actions[i](t, r, block)
			}
		})
	}
}

// codeBlocks returns the fenced and the indented code blocks of a document.
func codeBlocks(markdown string) (blocks []string) {
	var block []string
	end := func() {
		if text := strings.TrimSpace(strings.Join(block, "\n")); text != "" {
			blocks = append(blocks, text+"\n")
		}
		block = nil
	}
	fenced := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\n")
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "```"):
			end()
			fenced = !fenced
		case fenced:
			block = append(block, line)
		case indented:
			block = append(block, code)
		default:
			end()
		}
	}
	end()
	return blocks
}

// reader is a user who tries what a document says.
type reader struct {
	dir string
	env []string
}

func newReader(t *testing.T, root string, inCheckout bool) *reader {
	r := &reader{dir: t.TempDir(), env: append(os.Environ(), usertest.New(t).Environment...)}
	if inCheckout {
		copyTree(t, root, filepath.Join(r.dir, "husk"))
	}
	r.prepare(t)
	// Confirmation needs a terminal. The source of husk is that of this test, so the built program
	// stands for go run. With -trimpath, a module that is built in the copy uses the cache of other modules. Nothing else is
	// built there: what husk new makes requires the checkout of this test, which is compiled already.
	husk, err := exec.LookPath("husk")
	require.NoError(t, err)
	goCommand, err := exec.LookPath("go")
	require.NoError(t, err)
	bin := t.TempDir()
	for name, script := range map[string]string{
		"husk": "case $1 in up|destroy) set -- \"$@\" --yes;; esac\nexec '" + husk + "' \"$@\"\n",
		"go": "if [ \"$1 $2\" = 'run ./cmd/husk' ]; then shift 2; exec husk \"$@\"; fi\n" +
			"if [ \"$GOOS\" = wasip1 ]; then export GOFLAGS=-trimpath; fi\nexec '" + goCommand + "' \"$@\"\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	// What go mod tidy adds comes from the module cache that built this test.
	r.env = append(r.env, "GONOSUMDB=*", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return r
}

// prepare makes the files that the documents expect beside their own.
func (r *reader) prepare(t *testing.T) {
	for path, content := range map[string][]byte{
		"website/providers/random.wasm": testmodule.Build(t, "../../../../examples/providers/random"),
		"shop/providers/shop.wasm":      testmodule.Build(t, "../../testdata/shop"),
		"shop/templates/page.html":      nil,
		"rules/Husk.yaml":               []byte(project),
		"ci/Husk.yaml":                  []byte(project + "resources:\n  first:\n    type: pulumi:Stash\n    properties: {input: text}\n"),
		"rules/baseline.wasm":           testmodule.Build(t, "../../../../examples/policies/baseline"),
		"rules/house.json":              []byte(`{"naming": "disabled"}`),
	} {
		write(path, string(content))(t, r, "")
	}
}

// sh runs a command in a directory and returns what it prints to standard output. The command must
// succeed.
func (r *reader) sh(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = filepath.Join(r.dir, filepath.FromSlash(dir)), r.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s%s", command, out, &stderr)
	return string(out)
}

// copyTree copies the files of a checkout, without those that only tools see.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if below != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata") {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, below), 0o755)
		}
		if !e.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		return cmp.Or(err, os.WriteFile(filepath.Join(to, below), data, 0o644))
	}))
}

// Each message in docs/troubleshooting.md is one of the program's.
func TestTroubleshooting(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "troubleshooting.md"))
	require.NoError(t, err)
	missing := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if message, ok := strings.CutPrefix(line, "| `"); ok {
			message, _, _ = strings.Cut(message, "`")
			missing[message] = true
		}
	}
	require.Greater(t, len(missing), 10)
	for _, dir := range []string{"abi", "cmd", "engine", "host", "internal"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for message := range missing {
				if strings.Contains(string(source), message) {
					delete(missing, message)
				}
			}
			return err
		}))
	}
	require.Empty(t, missing, "no part of husk says that")
}
