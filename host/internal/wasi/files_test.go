package wasi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/testkit/testcache"
)

const (
	notCapable = "error Capabilities insufficient"
	noEntry    = "error No such file or directory"
	readOnly   = "error Read-only file system"
)

// granted makes a directory beside a file that guests must never reach, and grants it.
func granted(t *testing.T, readWrite bool) (dir string, config wasi.Config) {
	t.Helper()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	dir = filepath.Join(outside, "site")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return dir, wasi.Config{Files: mount(t, wasi.Mount{HostPath: dir, GuestPath: "/project/site", ReadWrite: readWrite})}
}

func TestFilesAreReadAndWritten(t *testing.T) {
	dir, config := granted(t, true)
	script(t, config,
		"write|site/a.txt|hello", "ok",
		"read|site/a.txt", "hello",
		"read|/project/site/a.txt", "hello",
		"append|site/a.txt| world", "ok",
		"writeat|site/a.txt|0|J", "ok",
		"read|site/a.txt", "Jello world",
		"readat|site/a.txt|6|5", "world",
		"readat|site/a.txt|20|5", "ok",
		"seek|site/a.txt|-5", "world",
		"truncate|site/a.txt|5", "ok",
		"sync|site/a.txt", "ok",
		"sync|site", "ok",
		"read|site/a.txt", "Jello",
		"create|site/a.txt", "error File exists",
		"create|site/b.txt", "ok",
		"read|site/none", noEntry,
		"read|site", "error Is a directory",
		"write|site/none/x|y", noEntry,
		"write|site/a.txt/x|y", "error Not a directory",
	)
	content, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "Jello", string(content))
}

func TestDirectoriesAreMadeListedAndRemoved(t *testing.T) {
	_, config := granted(t, true)
	script(t, config,
		"mkdirall|site/x/y/z", "ok",
		"mkdir|site/x", "error File exists",
		"mkdirall|site/x", "ok",
		"write|site/x/f|1", "ok",
		"readdir|site/x", "- f, d y/",
		"walk|site", "site site/x site/x/f site/x/y site/x/y/z",
		"remove|site/x", "error Directory not empty",
		"rename|site/x/f|site/x/y/g", "ok",
		"rename|site/x/y|site/q", "ok",
		"walk|site", "site site/q site/q/g site/q/z site/x",
		"remove|site/x", "ok",
		"remove|site/x", noEntry,
		"removeall|site/q", "ok",
		"readdir|site", "ok",
		"rename|site/none|site/x", noEntry,
		"readdir|site/none", noEntry,
		"rootrename|site|none|x", noEntry,
		"write|site/f|1", "ok",
		"rootrename|site|f|g", "ok",
		"rootread|site|g", "1",
	)
}

func TestNewFilesBelongToTheirOwnerAlone(t *testing.T) {
	dir, config := granted(t, true)
	script(t, config, "write|site/f|1", "ok", "mkdir|site/d", "ok")
	for name, want := range map[string]os.FileMode{"f": 0o600, "d": 0o700} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
}

func TestAttributes(t *testing.T) {
	_, config := granted(t, true)
	script(t, config,
		"write|site/f|abc", "ok",
		"chtimes|site/f|1000000000", "ok",
		"stat|site/f", "f ---------- 3 1000000000",
		"chtimes|site|1000000000", "ok",
		"chtimes|site/none|1", noEntry,
		"link|site/f|site/g", "ok",
		"samefile|site/f|site/g", "true",
		"samefile|site/f|site", "false",
		"remove|site/f", "ok",
		"read|site/g", "abc",
		"stat|site/g/", "error Not a directory",
	)
}

func TestALargeDirectoryIsListedWhole(t *testing.T) {
	dir, config := granted(t, false)
	const files = 1000
	for i := range files {
		name := fmt.Sprintf("%s-%d", strings.Repeat("n", i%100), i)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	script(t, config, "count|site", fmt.Sprint(files, " ", files))
}

func TestNoPathLeavesAGrant(t *testing.T) {
	dir, config := granted(t, true)
	outside := filepath.Dir(dir)
	for link, target := range map[string]string{
		"absolute":  filepath.Join(outside, "secret"),
		"up":        "../secret",
		"dir":       outside,
		"rooted":    "/project/site/inside",
		"fine":      "inside",
		"dangling":  "../new",
		"loop":      "loop",
		"device":    "/dev/null",
		"sub/deep":  "../../secret",
		"sub/again": "../inside",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700))
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "inside"), []byte("in"), 0o600))
	script(t, config,
		"read|site/fine", "in",
		"read|site/sub/again", "in",
		"read|site/absolute", notCapable,
		"read|site/up", notCapable,
		"read|site/dir/secret", notCapable,
		"readdir|site/dir", notCapable,
		"read|site/rooted", notCapable,
		"read|site/sub/deep", notCapable,
		"read|site/device", notCapable,
		"read|site/loop", "error Too many symbolic links",
		"write|site/up|x", notCapable,
		"write|site/dangling|x", notCapable,
		"create|site/dangling", notCapable,
		"mkdir|site/dir/x", notCapable,
		"mkdirall|site/dir/x/y", "error File exists",
		"remove|site/dir/secret", notCapable,
		"removeall|site/dir/secret", notCapable,
		"rename|site/inside|site/dir/stolen", notCapable,
		"rename|site/dir/secret|site/stolen", notCapable,
		"link|site/dir/secret|site/stolen", notCapable,
		"link|site/inside|site/dir/x", notCapable,
		"chtimes|site/up|1", notCapable,
		"stat|site/up", notCapable,
		"lstat|site/dir/secret", notCapable,
		"truncate|site/up|0", notCapable,
		"rootread|site|../secret", "error path escapes from parent",
		"read|../secret", notCapable,
		"read|site/../../secret", notCapable,
		"read|site/../site/inside", "in",
		"read|/etc/passwd", notCapable,
		"read|"+filepath.Join(outside, "secret"), notCapable,
		"read|/proc/self/environ", notCapable,
		"write|site-old|x", notCapable,
		"write|other/x|y", notCapable,
		"chdir|/etc", notCapable,
	)
	secret, err := os.ReadFile(filepath.Join(outside, "secret"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(secret))
	require.NoFileExists(t, filepath.Join(outside, "new"))
	require.NoFileExists(t, filepath.Join(outside, "stolen"))
}

func TestGuestsMakeOnlySymlinksThatLeadDown(t *testing.T) {
	dir, config := granted(t, true)
	script(t, config,
		"write|site/f|1", "ok",
		"mkdirall|site/d/e", "ok",
		"symlink|f|site/link", "ok",
		"symlink|d/e|site/down", "ok",
		"readlink|site/link", "f",
		"read|site/link", "1",
		"readlink|site/f", "error Invalid argument",
		"symlink|f|site/link", "error File exists",
		"symlink|/etc/passwd|site/x", notCapable,
		"symlink|../secret|site/x", notCapable,
		"symlink|../f|site/d/x", notCapable,
		"symlink|d/../../secret|site/x", notCapable,
		"symlink|..|site/d/e/x", notCapable,
		"link|site/link|site/copy", "ok",
		"readlink|site/copy", "f",
		"lstat|site/copy/", "error Not a directory",
	)
	require.NoFileExists(t, filepath.Join(dir, "x"))
}

func TestAReadOnlyGrantCannotBeChanged(t *testing.T) {
	dir, config := granted(t, false)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("1"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	script(t, config,
		"read|site/f", "1",
		"readdir|site", "d d/, - f",
		"write|site/f|2", readOnly,
		"append|site/f|2", readOnly,
		"create|site/new", readOnly,
		"truncate|site/f|0", readOnly,
		"mkdir|site/e", readOnly,
		"remove|site/f", readOnly,
		"remove|site/d", readOnly,
		"removeall|site/d", readOnly,
		"rename|site/f|site/g", readOnly,
		"link|site/f|site/g", readOnly,
		"symlink|f|site/g", readOnly,
		"chtimes|site/f|1", readOnly,
	)
	content, err := os.ReadFile(filepath.Join(dir, "f"))
	require.NoError(t, err)
	require.Equal(t, "1", string(content))
}

func TestSeveralGrants(t *testing.T) {
	read, write, absolute := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(read, "f"), []byte("1"), 0o600))
	config := wasi.Config{Files: mount(t,
		wasi.Mount{HostPath: read, GuestPath: "/project"},
		wasi.Mount{HostPath: write, GuestPath: "/project/out/deep", ReadWrite: true},
		wasi.Mount{HostPath: absolute, GuestPath: "/srv/www", ReadWrite: true},
	)}
	script(t, config,
		"read|f", "1",
		"getwd", "/project",
		"write|g|2", readOnly,
		"write|out/deep/g|2", "ok",
		"write|out/g|2", readOnly,
		"stat|out", noEntry,
		"write|/srv/www/h|3", "ok",
		"readdir|/", "d project/, d srv/",
		"readdir|/srv", "d www/",
		"readdir|/srv/www", "- h",
		"mkdirall|/srv/www", "ok",
		"mkdir|/srv/other", notCapable,
		"write|/srv/x|1", notCapable,
		"remove|/srv", notCapable,
		"chdir|/srv", "ok",
		"read|www/h", "3",
		"rename|/srv/www/h|/project/out/deep/h", "error Cross-device link",
		"link|/project/f|/srv/www/f", readOnly,
		"link|/srv/www/h|/project/out/deep/h", "error Cross-device link",
		"rootread|/srv|www/h", "3",
		"rootread|/|srv/www/h", "3",
	)
}

func TestTheWholeTreeCanBeGranted(t *testing.T) {
	dir := t.TempDir()
	config := wasi.Config{Files: mount(t, wasi.Mount{HostPath: dir, GuestPath: "/", ReadWrite: true})}
	script(t, config,
		"mkdirall|/project/x", "ok",
		"write|x/f|1", "ok",
		"read|/project/x/f", "1",
		"readdir|/", "d project/",
	)
	require.FileExists(t, filepath.Join(dir, "project/x/f"))
}

func TestAGrantedDirectoryCanBeMadeByTheGuest(t *testing.T) {
	project := t.TempDir()
	dir := filepath.Join(project, "build/out")
	config := wasi.Config{Files: mount(t, wasi.Mount{HostPath: dir, GuestPath: "/project/build/out", ReadWrite: true})}
	script(t, config,
		"stat|build/out", noEntry,
		"readdir|build/out", noEntry,
		"write|build/out/f|1", noEntry,
		"remove|build/out/f", noEntry,
		"rename|build/out/f|build/out/g", noEntry,
		"symlink|f|build/out/g", noEntry,
	)
	require.NoDirExists(t, filepath.Join(project, "build"))
	script(t, config,
		"mkdirall|build/out/site", "ok",
		"mkdir|build/out", "error File exists",
		"write|build/out/site/f|1", "ok",
		"rename|build/out|build/out/x", "error Device or resource busy",
		"remove|build/out", "error Directory not empty",
	)
	require.FileExists(t, filepath.Join(dir, "site/f"))
	script(t, config,
		"removeall|build/out", "ok",
		"stat|build/out", noEntry,
		"mkdir|build/out", "ok",
		"write|build/out/f|2", "ok",
		"read|build/out/f", "2",
		"mkdir|build", notCapable,
		"remove|build", notCapable,
	)
}

func TestWithoutGrantsThereAreNoFiles(t *testing.T) {
	script(t, wasi.Config{},
		"read|f", notCapable,
		"write|/tmp/f|1", notCapable,
		"readdir|/", "ok",
		"stdin", "0",
	)
}

func TestOpenFilesAreBounded(t *testing.T) {
	dir, config := granted(t, false)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
	script(t, config,
		"exhaust|site/f", "error Too many open files",
		"read|site/f", "ok",
		"exhaust|site", "error Too many open files",
	)
}

func TestSpecialFilesAreRefused(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("no /dev/zero")
	}
	config := wasi.Config{Files: mount(t, wasi.Mount{HostPath: "/dev", GuestPath: "/dev", ReadWrite: true})}
	script(t, config,
		"read|/dev/zero", "error Not supported",
		"write|/dev/null|x", "error Not supported",
	)
}

func TestGrantsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		mounts []wasi.Mount
		want   string
	}{
		"relative":   {[]wasi.Mount{{HostPath: dir, GuestPath: "project"}}, "not absolute and clean"},
		"unclean":    {[]wasi.Mount{{HostPath: dir, GuestPath: "/project/../etc"}}, "not absolute and clean"},
		"twice":      {[]wasi.Mount{{HostPath: dir, GuestPath: "/a"}, {HostPath: dir, GuestPath: "/a"}}, "granted twice"},
		"missing":    {[]wasi.Mount{{HostPath: dir + "/none", GuestPath: "/a"}}, "no such file"},
		"below file": {[]wasi.Mount{{HostPath: "files_test.go/x", GuestPath: "/a", ReadWrite: true}}, "not a directory"},
		"a file":     {[]wasi.Mount{{HostPath: "files_test.go", GuestPath: "/a"}}, "not a directory"},
		"NUL inside": {[]wasi.Mount{{HostPath: dir, GuestPath: "/a\x00b"}}, "cannot be used"},
		"too many":   {make([]wasi.Mount, 65), "at most 64"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := wasi.OpenFileSystem(c.mounts)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// readings counts how often a clock is read.
type readings struct {
	wasi.Clock
	count int
}

func (r *readings) Now() time.Time         { r.count++; return r.Clock.Now() }
func (r *readings) Elapsed() time.Duration { r.count++; return r.Clock.Elapsed() }

// A guest that has changed files and looks at the times of any learns what time it is.
func TestTheTimesOfFilesThatWereChangedTellTheTime(t *testing.T) {
	for name, c := range map[string]struct {
		commands []string
		times    int
	}{
		"nothing":              {[]string{"stat|file"}, 0},
		"a file that is read":  {[]string{"read|file", "readdir|.", "readlink|link", "lstat|file"}, 0},
		"what fails":           {[]string{"mkdir|file", "stat|file"}, 1},
		"output":               {[]string{"stderr|x|1", "stat|file"}, 0},
		"looked at before":     {[]string{"stat|file", "write|file|x"}, 0},
		"looked at twice":      {[]string{"write|file|x", "stat|file", "lstat|link"}, 2},
		"a file that is new":   {[]string{"create|new", "stat|new"}, 1},
		"a file that is empty": {[]string{"write|file|", "stat|file"}, 1},
		"appended":             {[]string{"append|file|x", "stat|file"}, 1},
		"written at":           {[]string{"writeat|file|3|x", "stat|file"}, 1},
		"cut off":              {[]string{"truncate|file|1", "stat|file"}, 1},
		"a directory":          {[]string{"mkdir|dir", "stat|dir"}, 1},
		"renamed":              {[]string{"rename|file|other", "stat|other"}, 1},
		"removed":              {[]string{"remove|file", "stat|."}, 1},
		"a directory removed":  {[]string{"remove|sub", "stat|."}, 1},
		"a link":               {[]string{"link|file|hard", "stat|hard"}, 1},
		"a symbolic link":      {[]string{"symlink|file|soft", "lstat|soft"}, 1},
		"given a time":         {[]string{"chtimes|file|1", "stat|file"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
			require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
			told := 0
			config := wasi.Config{
				Files:     mount(t, wasi.Mount{HostPath: dir, GuestPath: grant.WorkingDirectory, ReadWrite: true}),
				ClockRead: func() { told++ },
			}
			clock := &readings{Clock: wasi.SystemClock()}
			config.Clock = clock
			_, err := run(t, t.Context(), config, c.commands...)
			var exit *wasi.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, c.times, told-clock.count)
		})
	}
}

// guest is testdata/guest, built for wasip1 and compiled once for all tests.
type guest struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

var (
	guestLock sync.Mutex
	theGuest  *guest
)

func buildGuest(t *testing.T) *guest {
	t.Helper()
	guestLock.Lock()
	defer guestLock.Unlock()
	if theGuest != nil {
		return theGuest
	}
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.Command("go", "build", "-trimpath", "-o", file, "./testdata/guest") // as other guests, whose library is compiled
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	wasm, err := os.ReadFile(file)
	require.NoError(t, err)
	machineCode := testcache.Dir(t, fmt.Sprintf("wasi-guest-%x", sha256.Sum256(wasm)), func(string) error { return nil })
	cache, err := wazero.NewCompilationCacheWithDir(machineCode)
	require.NoError(t, err)
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache))
	require.NoError(t, wasi.Instantiate(ctx, runtime))
	compiled, err := runtime.CompileModule(ctx, wasm)
	require.NoError(t, err)
	theGuest = &guest{runtime, compiled}
	return theGuest
}

// run runs the guest with the commands and answers the lines that it printed and how it ended.
func run(t *testing.T, ctx context.Context, config wasi.Config, commands ...string) ([]string, error) {
	t.Helper()
	g := buildGuest(t)
	var out bytes.Buffer
	config.Args = append([]string{"guest"}, commands...)
	config.Stdout = func(p []byte) { out.Write(p) }
	if config.Stderr == nil {
		config.Stderr = func(p []byte) { t.Logf("guest: %s", p) }
	}
	if config.Files != nil {
		config.Env = append(config.Env, "PWD="+grant.WorkingDirectory)
	}
	system := wasi.New(config)
	defer system.Close()
	module, err := g.runtime.InstantiateModule(context.WithValue(ctx, wasi.SystemKey{}, system), g.compiled,
		wazero.NewModuleConfig().WithName(""))
	if module != nil {
		module.Close(ctx)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err
}

// script runs pairs of a command and its expected answer in one guest.
func script(t *testing.T, config wasi.Config, pairs ...string) {
	t.Helper()
	var commands, expected []string
	for i := 0; i < len(pairs); i += 2 {
		commands = append(commands, pairs[i])
		expected = append(expected, pairs[i]+" -> "+pairs[i+1])
	}
	lines, err := run(t, t.Context(), config, commands...)
	var exit *wasi.ExitError
	require.ErrorAs(t, err, &exit)
	require.Zero(t, exit.Code)
	for i := range min(len(lines), len(commands)) {
		lines[i] = commands[i] + " -> " + lines[i]
	}
	require.Equal(t, expected, lines)
}

func mount(t *testing.T, mounts ...wasi.Mount) *wasi.FileSystem {
	t.Helper()
	files, err := wasi.OpenFileSystem(mounts)
	require.NoError(t, err)
	t.Cleanup(files.Close)
	return files
}
