// Package doctor finds problems that keep Husk from working on a machine, and says what to do about them.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
	"github.com/husk-dev/husk/internal/workspace"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	Good    Level = "ok"
	Warning Level = "warning"
	Bad     Level = "error"
)

// Finding is the result of a check.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Found is the finding.
	Found string `json:"found"`
	// Remedy says what to do, empty for a good finding.
	Remedy string `json:"remedy,omitempty"`
}

// Machine has the subjects of the checks. Tests replace parts of it.
type Machine struct {
	// Project returns the project, and Workspace opens it with its backend.
	Project   func(ctx context.Context) (*program.Project, error)
	Workspace func(ctx context.Context) (*workspace.Workspace, error)
	// GoVersion returns the output of go version.
	GoVersion func(ctx context.Context) (string, error)
	Now       func() time.Time
	// Terminal describes the terminal, and is empty if there is none.
	Terminal string
}

// ThisMachine returns the machine of the process.
func ThisMachine() Machine {
	return Machine{
		GoVersion: func(ctx context.Context) (string, error) {
			cmd := exec.CommandContext(ctx, "go", "version")
			// A go.mod in this directory must not have another Go be fetched and run.
			cmd.Env = append(named.Environment(), "GOTOOLCHAIN=local")
			out, err := cmd.Output()
			return strings.TrimSpace(string(out)), err
		},
		Now: time.Now,
	}
}

// Check returns the findings of all checks.
func (m Machine) Check(ctx context.Context) []Finding {
	var all []Finding
	all = append(all, m.compiler(), m.toolchain(ctx))
	all = append(all, cache()...)
	all = append(all, keys()...)
	all = append(all, m.project(ctx)...)
	return append(all, m.terminal())
}

func (m Machine) compiler() Finding {
	f := Finding{Check: "compiler", Level: Good, Found: "modules are compiled for " + runtime.GOOS + "/" + runtime.GOARCH}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		f.Level = Warning
		f.Found = "there is no compiler for " + runtime.GOARCH + ": modules run in an interpreter, about 30 times slower"
		f.Remedy = "run on amd64 or arm64 if that is too slow"
	}
	return f
}

// leastGo is the minor version of Go 1 that builds providers.
const leastGo = 25

var goVersion = lazyregexp.Regexp{Syntax: `go1\.(\d+)`}

func (m Machine) toolchain(ctx context.Context) Finding {
	text, err := m.GoVersion(ctx)
	f := Finding{Check: "go", Level: Good, Found: strings.TrimPrefix(text, "go version ")}
	found := goVersion.Get().FindStringSubmatch(text)
	switch {
	case err != nil:
		f.Level, f.Found = Warning, "there is no Go, so providers cannot be built from source"
		f.Remedy = "install Go 1." + strconv.Itoa(leastGo) + " or newer if the project has providers as source; .wasm files need none"
	case found == nil:
		f.Level, f.Remedy = Warning, "this is not a release of Go: builds of providers may fail"
	default:
		if minor, err := strconv.Atoi(found[1]); err != nil || minor < leastGo {
			f.Level, f.Remedy = Warning, "install Go 1."+strconv.Itoa(leastGo)+" or newer to build providers"
		}
	}
	return f
}

func cache() []Finding {
	places, err := plugins.FindPlaces()
	if err != nil {
		return []Finding{{"cache", Bad, err.Error(), "set HUSK_CACHE_DIR to a directory that can be written"}}
	}
	if places.Cache == "" {
		return []Finding{{"cache", Good, "none is needed: modules are precompiled in " + places.Precompiled, ""}}
	}
	out := []Finding{writable("cache", places.Cache, "set HUSK_CACHE_DIR to a directory that can be written, or else each run compiles again")}
	if places.Precompiled != "" {
		f := Finding{Check: "precompiled", Level: Good, Found: places.Precompiled}
		if info, err := os.Stat(places.Precompiled); err != nil || !info.IsDir() {
			f.Level, f.Found = Bad, "HUSK_PRECOMPILED_DIR is "+places.Precompiled+", which is not a directory"
			f.Remedy = "fill it with husk provider compile -o DIR, or unset HUSK_PRECOMPILED_DIR"
		}
		out = append(out, f)
	}
	return out
}

// writable reports whether files can be made in a directory, or in the one that it would be made in.
func writable(check, dir, remedy string) Finding {
	at := dir
	for {
		if _, err := os.Stat(at); err == nil || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	f, err := os.CreateTemp(at, ".husk-doctor-*")
	if err != nil {
		return Finding{check, Bad, dir + " cannot be written: " + reason(err), remedy}
	}
	f.Close()
	os.Remove(f.Name())
	return Finding{check, Good, dir, ""}
}

// reason returns an error without the name of the file.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// keys checks what encrypts the secrets of new stacks.
func keys() []Finding {
	system := secrets.SystemKeys(func(string) {})
	var out []Finding
	for _, name := range system.Files() {
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		f := Finding{"key", Good, name, ""}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			f.Level, f.Found = Bad, fmt.Sprintf("%s can be read by others: its mode is %04o", name, info.Mode().Perm())
			f.Remedy = "run chmod 600 " + name
		}
		out = append(out, f)
	}
	_, err := system.Passphrase()
	switch {
	case err == nil:
		out = append(out, Finding{"passphrase", Good, "it is set, and encrypts the secrets of new stacks", ""})
	case !errors.Is(err, secrets.ErrNoKey):
		out = append(out, Finding{"passphrase", Bad, err.Error(), "correct HUSK_CONFIG_PASSPHRASE or HUSK_CONFIG_PASSPHRASE_FILE"})
	case len(out) == 0:
		out = append(out, Finding{"key", Good, "none yet: the first stack with a secret makes one", ""})
	}
	return out
}

// skew is the difference between two clocks from which on locks and times are misleading.
const skew = time.Minute

func (m Machine) project(ctx context.Context) []Finding {
	p, err := m.Project(ctx)
	if none := (*program.NoProjectError)(nil); errors.As(err, &none) {
		return []Finding{{"project", Good, "none here", ""}}
	}
	if err != nil {
		return []Finding{{"project", Bad, firstLine(err), "correct the project file: husk validate shows all that is wrong"}}
	}
	out := []Finding{{"project", Good, filepath.Join(p.Dir, p.File.Name), ""}}
	lock, err := lockfile.Load(p)
	if err != nil {
		out = append(out, Finding{program.LockFile, Bad, firstLine(err), "restore the file, or remove it and run husk install"})
		lock = &lockfile.Lock{}
	}
	for _, provider := range p.Providers {
		if provider.Source != "" {
			if locked, err := lock.Of(&provider); err == nil && locked == nil {
				out = append(out, Finding{"provider " + provider.Name, Bad, "it is not installed: " + lock.Why(&provider), "run husk install"})
			}
			continue
		}
		path := p.Path(provider.Path)
		if _, err := p.Root.Stat(path); err != nil {
			out = append(out, Finding{"provider " + provider.Name, Bad, path + ": " + reason(err), "correct the path in " + p.File.Name + ", or build the module there"})
		}
	}
	w, err := m.Workspace(ctx)
	if err != nil {
		return append(out, Finding{"backend", Bad, firstLine(err), "correct HUSK_BACKEND_URL, or backend.url in " + p.File.Name})
	}
	if dir := w.StateDir(); dir != "" {
		out = append(out, writable("backend", dir, "give yourself the right to write there, or name another directory with HUSK_BACKEND_URL"))
		out = append(out, m.clock(dir)...)
	} else {
		out = append(out, Finding{"backend", Good, w.Place, ""})
	}
	stacks, err := w.Stacks(ctx)
	if err != nil {
		return append(out, Finding{"stacks", Bad, firstLine(err), "husk stack restore restores a damaged stack"})
	}
	ctx = state.Together(ctx)
	for _, stack := range stacks {
		if f := checkStack(ctx, w, stack); f != nil {
			out = append(out, *f)
		}
	}
	names := "none yet"
	if len(stacks) > 0 {
		names = strings.Join(stacks, ", ")
	}
	return append(out, Finding{"stacks", Good, names, ""})
}

// checkStack returns the faults of a stack, nil for none.
func checkStack(ctx context.Context, w *workspace.Workspace, stack string) *Finding {
	snapshot, _, err := w.Read(ctx, stack, true)
	if err != nil {
		return &Finding{"stack " + stack, Bad, firstLine(err), "husk stack restore --list -s " + stack + " lists the states that can be restored"}
	}
	if err := snapshot.Verify(); err != nil {
		return &Finding{"stack " + stack, Bad, firstLine(err), "husk state repair -s " + stack + " makes it consistent"}
	}
	pending := 0
	for range snapshot.Operations() {
		pending++
	}
	if pending > 0 {
		return &Finding{"stack " + stack, Warning, fmt.Sprintf("%d steps were interrupted", pending), "husk refresh -s " + stack + " says what to do about them"}
	}
	return nil
}

// clock compares the clock of a file system with the clock of this machine.
func (m Machine) clock(dir string) []Finding {
	f, err := os.CreateTemp(filepath.Dir(dir), ".husk-doctor-*")
	if err != nil {
		return nil // the backend's finding says so
	}
	info, err := f.Stat()
	f.Close()
	os.Remove(f.Name())
	if err != nil {
		return nil
	}
	if ahead := m.Now().Sub(info.ModTime()); ahead > skew || ahead < -skew {
		return []Finding{{"clock", Warning, fmt.Sprintf("the clocks of this machine and of the backend differ by %s", ahead.Abs().Round(time.Second)), "set the clock, with NTP for example: times in the history and of locks are wrong"}}
	}
	return []Finding{{"clock", Good, m.Now().Format(time.RFC3339), ""}}
}

func (m Machine) terminal() Finding {
	if m.Terminal == "" {
		return Finding{"terminal", Good, "none: questions cannot be asked, and --yes answers them", ""}
	}
	return Finding{"terminal", Good, m.Terminal, ""}
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
