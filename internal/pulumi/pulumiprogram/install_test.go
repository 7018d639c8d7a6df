//go:build unix

package pulumiprogram_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram"
)

// Packages are installed by the package manager that the project or its lock file names. The tools are scripts that write down their
// arguments, and make virtual environments.
func TestInstall(t *testing.T) {
	for name, c := range map[string]struct {
		runtime string
		files   []string
		// ran are the commands, $D is the project's directory. fails is a text of the error.
		ran   []string
		fails string
	}{
		"npm":              {"nodejs", []string{"package.json"}, []string{"npm install"}, ""},
		"npm of a lock":    {"{name: nodejs, options: {production: true}}", []string{"package.json", "package-lock.json"}, []string{"npm install --omit=dev"}, ""},
		"yarn":             {"nodejs", []string{"package.json", "yarn.lock"}, []string{"yarn install"}, ""},
		"pnpm":             {"{name: nodejs, options: {production: true}}", []string{"package.json", "pnpm-lock.yaml"}, []string{"pnpm install --prod"}, ""},
		"bun":              {"nodejs", []string{"package.json", "bun.lockb"}, []string{"bun install"}, ""},
		"named":            {"{name: nodejs, options: {packagemanager: pnpm}}", []string{"package.json", "yarn.lock"}, []string{"pnpm install"}, ""},
		"unknown manager":  {"{name: nodejs, options: {packagemanager: rush}}", []string{"package.json"}, nil, `Pulumi.yaml:2:35: husk does not support the package manager "rush", but npm, yarn, pnpm, and bun`},
		"no list":          {"nodejs", nil, nil, "has no package.json, which lists the packages to install"},
		"pip":              {"{name: python, options: {virtualenv: venv}}", []string{"requirements.txt"}, []string{"python3 -m venv $D/venv", "$D/venv/bin/python -m pip install -r requirements.txt"}, ""},
		"pip again":        {"{name: python, options: {virtualenv: venv}}", []string{"requirements.txt", "venv/pyvenv.cfg", "venv/bin/python"}, []string{"$D/venv/bin/python -m pip install -r requirements.txt"}, ""},
		"nowhere":          {"python", []string{"requirements.txt"}, []string{"python3 -m pip install -r requirements.txt"}, ""},
		"no requirements":  {"{name: python, options: {virtualenv: venv}}", nil, nil, "has no requirements.txt, which lists the packages to install"},
		"uv":               {"{name: python, options: {toolchain: uv}}", []string{"pyproject.toml", "requirements.txt"}, []string{"uv sync"}, ""},
		"uv elsewhere":     {"{name: python, options: {toolchain: uv, virtualenv: env}}", []string{"pyproject.toml"}, []string{"UV_PROJECT_ENVIRONMENT=$D/env uv sync"}, ""},
		"uv with a list":   {"{name: python, options: {toolchain: uv}}", []string{"requirements.txt"}, []string{"uv venv $D/.venv", "uv pip install --python $D/.venv/bin/python -r requirements.txt"}, ""},
		"poetry":           {"{name: python, options: {toolchain: poetry}}", []string{"pyproject.toml"}, []string{"poetry install --no-interaction"}, ""},
		"poetry elsewhere": {"{name: python, options: {toolchain: poetry, virtualenv: venv}}", nil, nil, "poetry chooses the virtual environment itself"},
		"unknown option":   {"{name: python, options: {pip: x}}", nil, nil, `does not support the option "pip"`},
		"go":               {"go", nil, nil, ""},
		"a failure":        {"nodejs", []string{"package.json", "fail"}, []string{"npm install"}, "npm install, in $D: exit status 3\n    it is said here"},
		"no environment":   {"{name: python, options: {virtualenv: venv}}", []string{"requirements.txt", "fail"}, []string{"python3 -m venv $D/venv"}, "python3 -m venv $D/venv, in $D: exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, bin := t.TempDir(), t.TempDir()
			t.Setenv("PATH", bin+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
			t.Setenv("UV_PROJECT_ENVIRONMENT", "")
			tool := func(path string) {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(`#!/bin/sh
me=${0##*/}
if [ "$me" = python ]; then me=$0; fi
echo "${UV_PROJECT_ENVIRONMENT:+UV_PROJECT_ENVIRONMENT=$UV_PROJECT_ENVIRONMENT }$me $*" >>`+dir+`/ran
if [ -e fail ]; then echo it is said here >&2; exit 3; fi
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
`), 0o755))
			}
			for _, name := range []string{"npm", "yarn", "pnpm", "bun", "python3", "uv", "poetry"} {
				tool(filepath.Join(bin, name))
			}
			for _, file := range c.files {
				if filepath.Base(file) == "python" {
					tool(filepath.Join(dir, file))
					continue
				}
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o644))
			}
			project, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Pulumi.yaml", []byte("name: p\nruntime: "+c.runtime+"\n"))
			require.NoError(t, err)
			err = pulumiprogram.Install(t.Context(), project)
			here := func(text string) string { return strings.ReplaceAll(text, "$D", dir) }
			if c.fails == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, here(c.fails))
			}
			ran, _ := os.ReadFile(filepath.Join(dir, "ran")) // there is none if nothing ran
			require.Equal(t, here(strings.Join(c.ran, "\n")), strings.TrimSpace(string(ran)))
		})
	}
}

func TestInstallEnds(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), nil, 0o644))
	project, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Pulumi.yaml", []byte("name: p\nruntime: nodejs\n"))
	require.NoError(t, err)
	t.Setenv("PATH", bin)
	require.ErrorContains(t, pulumiprogram.Install(t.Context(), project), "installed with npm, which is not in PATH")
	python, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Pulumi.yaml", []byte("name: p\nruntime: {name: python, options: {virtualenv: venv}}\n"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "requirements.txt"), nil, 0o644))
	require.ErrorContains(t, pulumiprogram.Install(t.Context(), python), "the runtime python needs Python: install it")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\nread line\n"), 0o755))
	require.ErrorIs(t, pulumiprogram.Install(ctx, project), context.DeadlineExceeded)
}
