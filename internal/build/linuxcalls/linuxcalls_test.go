package linuxcalls_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/husk-dev/husk/internal/build/linuxcalls"
)

// output returns what a command of Go writes, with further variables.
func output(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), env)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s", errs.String())
	return strings.TrimSpace(string(out))
}

// run compiles a program for WebAssembly, with the library and golang.org/x/sys/unix of Linux, and returns what it writes.
// It sees an empty directory.
func run(t *testing.T, text string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles Go's library")
	}
	root, dir := output(t, ".", nil, "env", "GOROOT"), t.TempDir()
	texts, err := linuxcalls.Library(root)
	require.NoError(t, err)
	files := map[string]string{}
	for name, text := range texts {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		files[filepath.Join(root, "src", filepath.FromSlash(name))] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": files})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	system := filepath.Join(dir, "sys")
	for _, name := range []string{"go.mod", "unix"} {
		from := filepath.Join(output(t, ".", nil, "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys"), name)
		if name == "unix" {
			require.NoError(t, os.CopyFS(filepath.Join(system, name), os.DirFS(from)))
			continue
		}
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(system, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(system, name), data, 0o600))
	}
	require.NoError(t, filepath.WalkDir(system, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o700) // those in the cache of modules are read-only
	}))
	require.NoError(t, linuxcalls.Unix(filepath.Join(system, "unix"), root))
	program := filepath.Join(dir, "program")
	require.NoError(t, os.MkdirAll(program, 0o700))
	const mod = "module program\n\ngo 1.25\n\nrequire golang.org/x/sys v0.0.0\n\nreplace golang.org/x/sys => ../sys\n"
	require.NoError(t, os.WriteFile(filepath.Join(program, "go.mod"), []byte(mod), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(program, "main.go"), []byte(text), 0o600))
	output(t, program, []string{"GOOS=wasip1", "GOARCH=wasm"}, "build", "-mod=mod", "-trimpath", "-overlay="+filepath.Join(dir, "overlay.json"), "-o", "out", ".")

	wasm, err := os.ReadFile(filepath.Join(program, "out"))
	require.NoError(t, err)
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer r.Close(t.Context())
	wasi_snapshot_preview1.MustInstantiate(t.Context(), r)
	var written bytes.Buffer
	config := wazero.NewModuleConfig().WithStdout(&written).WithStderr(&written).WithFSConfig(wazero.NewFSConfig().WithDirMount(t.TempDir(), "/"))
	_, err = r.InstantiateWithConfig(t.Context(), wasm, config)
	require.NoError(t, err, "%s", written.String())
	return written.String()
}

// What only Linux has fails, and what WebAssembly has works, under the names of both packages.
func TestCallsOfLinux(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the directory of the program is one of Unix")
	}
	require.Equal(t, `flock: the sandbox of Husk has no such system call: not implemented on wasip1
unix.Flock: true
unix.Statfs: true
unix.IoctlGetTermios: true
unix.Mmap: true
unsupported: true
errors: true true true ENOENT EAGAIN
signals: true true -1
user: true 0
umask: 0 0
system: wasi 0.0.0 wasm32 true
file: hello
missing: no such file or directory
times: true true true 1
process: true true
`, strings.ReplaceAll(run(t, `package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	fmt.Println("flock:", syscall.Flock(1, syscall.LOCK_EX|syscall.LOCK_NB))
	fmt.Println("unix.Flock:", unix.Flock(1, unix.LOCK_SH) == unix.ENOSYS)
	fmt.Println("unix.Statfs:", unix.Statfs("/", &unix.Statfs_t{}) == syscall.ENOSYS)
	_, err := unix.IoctlGetTermios(1, unix.TCGETS)
	fmt.Println("unix.IoctlGetTermios:", err == unix.ENOSYS)
	_, err = unix.Mmap(1, 0, 10, unix.PROT_READ, unix.MAP_SHARED)
	fmt.Println("unix.Mmap:", err == unix.ENOSYS)
	fmt.Println("unsupported:", errors.Is(syscall.Mlock(nil), errors.ErrUnsupported))
	fmt.Println("errors:", unix.EAGAIN == syscall.EAGAIN, syscall.EWOULDBLOCK == syscall.EAGAIN, unix.EUSERS == syscall.EUSERS,
		unix.ErrnoName(syscall.ENOENT), unix.ErrnoName(syscall.EWOULDBLOCK))
	fmt.Println("signals:", unix.SIGCHLD == syscall.SIGCHLD, syscall.SIGIO == syscall.SIGPOLL, int(syscall.Signal(-1)))
	fmt.Println("user:", unix.Getuid() == syscall.Getuid(), unix.Getpgrp())
	fmt.Println("umask:", unix.Umask(0o22), syscall.Umask(0))
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		panic(err)
	}
	var also syscall.Utsname
	fmt.Println("system:", unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]),
		syscall.Uname(&also) == nil && also.Sysname[3] == 'i' && also.Sysname[4] == 0)
	fd, err := unix.Open("/file", unix.O_CREAT|unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0o600)
	if err != nil {
		panic(err)
	}
	unix.Write(fd, []byte("hello"))
	unix.Close(fd)
	data, err := os.ReadFile("/file")
	if err != nil {
		panic(err)
	}
	fmt.Println("file:", string(data))
	_, err = unix.Open("/none", unix.O_RDONLY, 0)
	if err != unix.ENOENT {
		panic(err)
	}
	fmt.Println("missing:", strings.ToLower(err.Error()))
	info, err := os.Stat("/file")
	if err != nil {
		panic(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	fmt.Println("times:", st.Mtim.Nano() == info.ModTime().UnixNano(), st.Atim.Sec > 0, st.Mode&unix.S_IFMT == 0, st.Blocks)
	_, err = os.StartProcess("/bin/true", nil, &os.ProcAttr{Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}})
	fmt.Println("process:", errors.Is(err, syscall.ENOSYS), syscall.Exec("/bin/true", nil, nil) == syscall.ENOSYS)
}
`), "\t", " "))
}
