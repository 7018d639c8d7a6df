package host_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/filelock"
)

// Where a system lets nobody make machine code, modules are interpreted, with the cache
// of a host that had compiled them as well.
func TestModulesAreInterpretedWhereNothingMayBeCompiled(t *testing.T) {
	const variable = "HUSK_TEST_HARDENED"
	dir := os.Getenv(variable)
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "cache")
		cached(t, dir, saying("ok"))
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), variable+"="+dir, variable+"_KEY="+os.Getenv("XDG_CONFIG_HOME"))
		out, err := child.CombinedOutput()
		t.Logf("%s", out)
		require.NoError(t, err)
		return
	}
	const refuseExecGain = 1 // PR_MDWE_REFUSE_EXEC_GAIN, as systemd's MemoryDenyWriteExecute
	if err := unix.Prctl(unix.PR_SET_MDWE, refuseExecGain, 0, 0, 0); err != nil {
		t.Skipf("the kernel cannot refuse it: %v", err)
	}
	t.Setenv("XDG_CONFIG_HOME", os.Getenv(variable+"_KEY"))
	require.False(t, host.CompilerSupported())
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	answered, err := schema(t.Context(), assemble(t, h, saying("ok")))
	require.NoError(t, err)
	require.Equal(t, "ok", answered)
	require.NoError(t, h.Close(t.Context()))
}

// slow is a module with one function that takes a compiler many seconds, within which nothing interrupts it.
func slow() assembly {
	const branches = 10_000 // the time grows with their square
	a := saying("ok")
	a.bodies["_initialize"] = code(strings.Repeat("\x02\x40\x41\x00\x0d\x00\x0b", branches))
	return a
}

// work is a context that tells what loads wait for.
func work(ctx context.Context) (context.Context, <-chan host.Work, <-chan struct{}) {
	began, over := make(chan host.Work, 10), make(chan struct{}, 10)
	return host.OnWork(ctx, func(w host.Work) func() {
		began <- w
		return func() { over <- struct{}{} }
	}), began, over
}

// compiles reports whether a process compiles a module into the cache in a directory.
func compiles(t *testing.T, dir string) bool {
	t.Helper()
	locks := filesOf(t, dir, "*.compiling")
	if len(locks) == 0 {
		return false
	}
	require.Len(t, locks, 1)
	f, err := os.OpenFile(locks[0], os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	require.NoError(t, err)
	defer f.Close()
	_, err = filelock.Try(f)
	return errors.Is(err, filelock.ErrHeld)
}

// within returns when a compiler is within the slow function: it does nothing else that takes long.
func within(t *testing.T) {
	t.Helper()
	used := func() time.Duration {
		var usage syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano())
	}
	for begin := used(); used()-begin < 300*time.Millisecond; {
		time.Sleep(10 * time.Millisecond)
	}
}

// Nobody waits for a compilation that is not wanted any more: neither its caller, nor who closes the host. It ends by itself,
// keeps nothing, and what the host had is freed then.
func TestACompilationIsAbandoned(t *testing.T) {
	needsCompiler(t)
	if testing.Short() {
		t.Skip("compiles for seconds")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	ctx, began, over := work(t.Context())
	ctx, cancel := context.WithCancelCause(ctx)
	loaded := make(chan error)
	go func() {
		_, err := h.LoadBytes(ctx, slow().wasm())
		loaded <- err
	}()
	require.Equal(t, host.Compiling, <-began)
	within(t)
	stopped := errors.New("stopped")
	cancel(stopped)
	require.ErrorIs(t, <-loaded, stopped)
	<-over
	require.True(t, compiles(t, dir), "the caller has waited for the compilation")
	require.NoError(t, h.Close(t.Context()))
	require.True(t, compiles(t, dir), "the host has waited for the compilation")
	_, err = h.LoadBytes(t.Context(), slow().wasm())
	require.ErrorContains(t, err, "the host is closed")
	for compiles(t, dir) || len(filesOf(t, dir, "husk-run-*")) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	require.Empty(t, filesOf(t, dir, "*.module"))
	require.Empty(t, filesOf(t, dir, "*.code"))
}

// A compilation that nobody waits for goes on for who asks again, and gives way to another module.
func TestACompilationIsTakenOverOrGivesWay(t *testing.T) {
	needsCompiler(t)
	if testing.Short() {
		t.Skip("compiles for seconds")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	module := slow().wasm()
	info, err := host.Inspect(module, host.NewConfig())
	require.NoError(t, err)
	load := func(ctx context.Context) <-chan error {
		loaded := make(chan error, 1)
		go func() {
			_, err := h.LoadBytes(ctx, module)
			loaded <- err
		}()
		return loaded
	}
	var first any
	for range 2 {
		ctx, began, _ := work(t.Context())
		ctx, cancel := context.WithCancel(ctx)
		loaded := load(ctx)
		require.Equal(t, host.Compiling, <-began)
		within(t)
		cancel()
		require.ErrorIs(t, <-loaded, context.Canceled)
		if first == nil {
			first = h.Loading(info.Digest)
		}
		require.NotNil(t, first)
		require.Same(t, first, h.Loading(info.Digest), "it was begun anew")
	}
	_, err = h.LoadBytes(t.Context(), saying("ok").wasm())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	loaded := load(ctx)
	for now := first; now == nil || now == first; now = h.Loading(info.Digest) {
		select {
		case err := <-loaded:
			t.Fatal("it did not give way", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	require.ErrorIs(t, <-loaded, context.Canceled)
	require.NoError(t, h.Close(t.Context()))
	for len(filesOf(t, dir, "husk-run-*")) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
}

// Whoever waits for a module is told for what: for another process, then for this one, and for nothing if it is in the cache.
func TestALoadTellsWhatItWaitsFor(t *testing.T) {
	needsCompiler(t)
	dir := filepath.Join(t.TempDir(), "cache")
	cached(t, dir, saying("ok"))
	lock := strings.TrimSuffix(filesOf(t, dir, "*.module")[0], ".module") + ".compiling"
	load := func(held *os.File) (told []host.Work) {
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir).WithLimit(limit.CompileTime, uint64(time.Hour)))
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		open := 0
		_, err = h.LoadBytes(host.OnWork(t.Context(), func(w host.Work) func() {
			open++
			if told = append(told, w); w == host.Awaiting {
				require.NoError(t, held.Close())
			}
			return func() { open-- }
		}), saying("ok").wasm())
		require.NoError(t, err)
		require.Zero(t, open, "what was begun is over")
		return told
	}
	require.Empty(t, load(nil))
	hold := func() *os.File {
		held, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		_, err = filelock.Try(held)
		require.NoError(t, err)
		return held
	}
	record := filesOf(t, dir, "*.module")[0]
	require.NoError(t, os.Remove(record))
	require.Equal(t, []host.Work{host.Awaiting, host.Compiling}, load(hold()))

	// The other process has made it meanwhile.
	require.NoError(t, os.Rename(record, record+".aside"))
	held := hold()
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir).WithLimit(limit.CompileTime, uint64(time.Hour)))
	require.NoError(t, err)
	ctx, began, _ := work(t.Context())
	loaded := make(chan error)
	go func() {
		_, err := h.LoadBytes(ctx, saying("ok").wasm())
		loaded <- err
	}()
	require.Equal(t, host.Awaiting, <-began)
	require.NoError(t, os.Rename(record+".aside", record))
	require.NoError(t, held.Close())
	require.NoError(t, <-loaded)
	require.Empty(t, began, "it was compiled again")
	require.NoError(t, h.Close(t.Context()))
}

// A disk on which nothing can be written keeps nothing, and no module from running.
func TestACacheOnADiskThatCannotBeWritten(t *testing.T) {
	needsCompiler(t)
	at := t.TempDir()
	if err := syscall.Mount("none", at, "tmpfs", 0, "size=256k,nr_inodes=16"); err != nil {
		t.Skipf("a disk cannot be mounted: %v", err)
	}
	defer func() { require.NoError(t, syscall.Unmount(at, 0)) }()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(at, "none"))
	t.Setenv("HOME", filepath.Join(at, "none"))
	runs := func(name string) error {
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(filepath.Join(at, name)))
		require.NoError(t, err)
		answered, err := schema(t.Context(), assemble(t, h, saying("ok")))
		require.NoError(t, err)
		require.Equal(t, "ok", answered)
		require.NoError(t, h.Close(t.Context()))
		return h.Uncached()
	}
	full := filepath.Join(at, "full")
	fill := func() {
		f, err := os.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		require.NoError(t, err)
		for err == nil {
			_, err = f.Write(make([]byte, 1024))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.NoError(t, f.Close())
	}
	fill()
	require.ErrorIs(t, runs("new"), syscall.ENOSPC)
	require.NoError(t, os.Remove(full))
	require.NoError(t, runs("old"))
	fill()
	require.NoError(t, runs("old"), "what is there is used")
	for _, file := range filesOf(t, filepath.Join(at, "old"), "*.module") {
		require.NoError(t, os.Remove(file))
	}
	fill()
	require.NoError(t, runs("old"), "it is compiled, and cannot be kept")
	require.NoError(t, syscall.Mount("none", at, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	require.NoError(t, runs("old"), "it is compiled, and cannot be kept")
	require.ErrorIs(t, runs("another"), syscall.EROFS)
}
