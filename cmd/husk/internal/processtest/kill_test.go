package processtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

// The exit codes of killafter, beside those of husk.
const (
	killed      = 137
	cannotTrace = 99
)

// killedUser runs husk in a project and kills it.
type killedUser struct {
	t   *testing.T
	dir string
	env []string
}

func newKilledUser(t *testing.T, files map[string]string) *killedUser {
	t.Helper()
	usertest.SkipShort(t)
	dir, home := t.TempDir(), t.TempDir()
	u := &killedUser{t: t, dir: dir, env: append(os.Environ(), "XDG_CONFIG_HOME="+home, "HOME="+home, "HUSK_CACHE_DIR="+filepath.Join(home, "cache"), "NO_COLOR=1")}
	u.write(files)
	return u
}

func (u *killedUser) write(files map[string]string) {
	u.t.Helper()
	for name, text := range files {
		require.NoError(u.t, os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o644))
	}
}

// command is husk, or killafter.
func (u *killedUser) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Args[0] = name // see TestMain
	cmd.Dir, cmd.Env = u.dir, u.env
	return cmd
}

// try runs a command and returns what it wrote and its exit code.
func (u *killedUser) try(name string, args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	var out, errs bytes.Buffer
	cmd := u.command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.String(), errs.String(), exit.ExitCode()
	}
	require.NoError(u.t, err)
	return out.String(), errs.String(), 0
}

// run runs husk, which must succeed.
func (u *killedUser) run(args ...string) string {
	u.t.Helper()
	out, errs, code := u.try("husk", args...)
	require.Zero(u.t, code, "husk %s\n%s%s", strings.Join(args, " "), out, errs)
	return out
}

// killedAfter runs husk until the n-th system call by which it changes files, and reports whether
// there was one.
func (u *killedUser) killedAfter(n int, args ...string) bool {
	u.t.Helper()
	out, errs, code := u.try("killafter", append([]string{fmt.Sprint(n)}, args...)...)
	if code == cannotTrace {
		u.t.Skip(errs)
	}
	require.Contains(u.t, []int{0, killed}, code, "%s%s", out, errs)
	return code == killed
}

// stacks returns the project's stacks, and which is selected.
func (u *killedUser) stacks() (names []string, selected string) {
	u.t.Helper()
	var infos []struct {
		Name, Error string
		Selected    bool
	}
	require.NoError(u.t, json.Unmarshal([]byte(u.run("stack", "ls", "--json")), &infos))
	for _, info := range infos {
		require.Empty(u.t, info.Error)
		names = append(names, info.Name)
		if info.Selected {
			selected = info.Name
		}
	}
	return names, selected
}

// resources returns the names of the resources of a stack that providers manage.
func (u *killedUser) resources(stack string) (names []string) {
	u.t.Helper()
	var infos []struct{ URN, Type, ID string }
	require.NoError(u.t, json.Unmarshal([]byte(u.run("state", "ls", "--json", "--stack", stack)), &infos))
	for _, info := range infos {
		if info.ID != "" && !strings.HasPrefix(info.Type, "pulumi:providers:") {
			names = append(names, info.URN[strings.LastIndex(info.URN, ":")+1:])
		}
	}
	return names
}

// stashes is a program whose resources need no module.
const stashes = `
name: demo
config: {word: {type: string, default: none}}
resources:
  one: {type: "pulumi:Stash", properties: {input: "${word}"}}
  two: {type: "pulumi:Stash", properties: {input: "${one.output}"}}
`

// A renaming that is killed, after whichever system call, has taken place or has not: one stack
// has the resources, with its configuration, and is the selected one. The next update makes nothing
// anew.
func TestRenamingIsKilledAfterEachSystemCall(t *testing.T) {
	usertest.SkipUnderRace(t)
	t.Parallel()
	u := newKilledUser(t, map[string]string{"Husk.yaml": stashes})
	u.run("stack", "init", "first")
	u.run("config", "set", "word", "hello")
	u.run("up", "--yes")
	from, to := "first", "second"
	outcomes := map[string]int{}
	for n := 1; u.killedAfter(n, "stack", "rename", to); n++ {
		names, selected := u.stacks()
		require.Len(t, names, 1, "killed after system call %d", n)
		require.Equal(t, names[0], selected, "killed after system call %d", n)
		require.FileExists(t, filepath.Join(u.dir, "Husk."+selected+".yaml"), "killed after system call %d", n)
		require.NoFileExists(t, filepath.Join(u.dir, "Husk."+map[string]string{from: to, to: from}[selected]+".yaml"))
		require.Contains(t, u.run("up", "--yes"), "nothing changed, 3 up to date", "killed after system call %d", n)
		require.Contains(t, u.run("stack", "history"), "3 created", "killed after system call %d", n)
		require.NoFileExists(t, filepath.Join(u.dir, ".husk", "renaming.json"))
		outcomes[map[bool]string{true: "renamed", false: "not renamed"}[selected == to]]++
		if selected == to {
			from, to = to, from
		}
	}
	require.Len(t, outcomes, 2)
	t.Logf("killed %v", outcomes)
}

// A move that is killed, after whichever system call, has taken place or has not: each resource is
// in one of the two stacks.
func TestMoveIsKilledAfterEachSystemCall(t *testing.T) {
	usertest.SkipUnderRace(t)
	t.Parallel()
	u := newKilledUser(t, map[string]string{"Husk.yaml": stashes})
	u.run("stack", "init", "second")
	u.run("stack", "init", "first")
	u.run("up", "--yes")
	from, to := "first", "second"
	outcomes := map[string]int{}
	for n := 1; u.killedAfter(n, "state", "move", "--yes", "--stack", from, "--to", to, "urn:pulumi:"+from+"::demo::pulumi:index:Stash::two"); n++ {
		at := map[string][]string{}
		for _, stack := range []string{from, to} {
			for _, name := range u.resources(stack) {
				at[name] = append(at[name], stack)
			}
		}
		require.Len(t, at, 2, "killed after system call %d: %v", n, at)
		require.Equal(t, []string{"first"}, at["one"])
		require.Len(t, at["two"], 1, "killed after system call %d: %v", n, at)
		outcomes[map[bool]string{true: "moved", false: "not moved"}[at["two"][0] == to]]++
		if at["two"][0] == to {
			from, to = to, from
		}
	}
	require.Len(t, outcomes, 2)
	t.Logf("killed %v", outcomes)
}
