package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

// TestWatch changes the program whenever the command waits for that, and then ends it,
// which a script cannot do.
func TestWatch(t *testing.T) {
	usertest.SkipShort(t)
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be sent interrupts")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "Husk.yaml")
	stash := func(name string) string {
		return fmt.Sprintf("name: demo\nruntime: yaml\nresources:\n  %s: {type: pulumi:Stash, properties: {input: x}}\n", name)
	}
	beside := filepath.Join(t.TempDir(), "new.yaml")
	save := func(text string) { // in one step, so that no half of it is seen
		require.NoError(t, os.WriteFile(beside, []byte(text), 0o644))
		require.NoError(t, os.Rename(beside, file))
	}
	for _, c := range []struct {
		flag string
		want []string
	}{
		{"--diff", []string{"pulumi:Stash one", "to create", "Changed: Husk.yaml", "pulumi:Stash two", "Changed: Husk.yaml", "error: ", "Changed: Husk.yaml", "pulumi:Stash three"}},
		{"--up", []string{"pulumi:Stash one", "created", "Changed: Husk.yaml", "pulumi:Stash two", "created", "pulumi:Stash one", "deleted",
			"Changed: Husk.yaml", "error: ", "Changed: Husk.yaml", "pulumi:Stash three", "created", "pulumi:Stash two", "deleted"}},
	} {
		t.Run(c.flag, func(t *testing.T) {
			save(stash("one"))
			said := watched(t, dir, c.flag,
				func() { save(stash("two")) },
				func() { save("name: [") },
				func() { save(stash("three")) },
			)
			rest := said
			for _, want := range c.want {
				_, after, found := strings.Cut(rest, want)
				require.True(t, found, "%q does not follow in:\n%s", want, said)
				rest = after
			}
		})
	}
}

// The source of a program that is a module is watched, and not what its tools write.
func TestWatchOfSource(t *testing.T) {
	usertest.SkipShort(t)
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be sent interrupts, and the tool is a shell script")
	}
	dir, bin, beside := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "new.rs")
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o755))
	}
	write(filepath.Join(dir, "Husk.yaml"), "name: demo\nruntime: wasm\nmain: program\n")
	write(filepath.Join(dir, "program", "Cargo.toml"), "")
	source := filepath.Join(dir, "program", "src", "lib.rs")
	write(source, "the first source")
	write(filepath.Join(bin, "cargo"), "#!/bin/sh\n[ $1 = build ] || { echo \"$PWD/Cargo.toml\"; exit; }\nmkdir -p target/release && date >target/release/log.rs\ncat src/lib.rs >&2\nexit 1\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	said := watched(t, dir, "--diff", func() {
		write(beside, "the second source")
		require.NoError(t, os.Rename(beside, source))
	})
	require.Regexp(t, "(?s)the first source.*Changed: .*lib.rs.*the second source", said)
}

// watched runs husk watch as [usertest.Watch] does, and returns what it prints.
func watched(t *testing.T, dir, flag string, next ...func()) string {
	cmd := exec.Command(os.Args[0])
	cmd.Args = []string{"husk", "watch", flag, "-C", dir} // see TestMain
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "HUSK_CACHE_DIR="+filepath.Join(dir, "cache"), "NO_COLOR=1")
	var said strings.Builder
	usertest.Watch(t, cmd, &said, next...)
	return said.String()
}
