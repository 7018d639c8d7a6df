package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/build/husksource"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/run/stackrun"
)

// Husk is two programs. husk-full is all of it; husk leaves out parts that many users never need and that are half of the code to
// compile: S3 and PostgreSQL, Pulumi's protocol, ports of providers, the test of the contract, the language server, the console, and pages of HTML. Where a
// command needs such a part, husk-full takes the place of husk, with the same arguments, before the command has changed anything.

// Parts are the parts that husk leaves out.
type Parts struct {
	// Backends open backends, by the schemes of their URLs.
	Backends map[string]backend.Opener
	// Pulumi runs programs and native plugins.
	Pulumi stackrun.Pulumi
	// AnswerPulumi has the commands below the root command answer a command line of Pulumi.
	AnswerPulumi func(a *App, root *cobra.Command)
	// Serve serves a provider over Pulumi's protocol at a port, 0 for a free one. engine is the address of Pulumi's engine, empty if
	// it is not known.
	Serve func(ctx context.Context, p abi.Provider, engine string, port int) (Served, error)
	// ServeEditor serves an editor over standard input and output.
	ServeEditor func(ctx context.Context, a *App, o plugins.Options) error
	// ServeConsole serves the page of the project at a port of this machine, to those who have the token.
	ServeConsole func(ctx context.Context, a *App, port int, token string, writes bool) error
	// Port ports a provider for Terraform or Pulumi, and returns the module with its manifest.
	Port func(ctx context.Context, source string, o PortOptions) (wasm []byte, is host.Manifest, err error)
	// TestProvider tests whether the provider of a module or a directory keeps to the contract, and writes a report.
	TestProvider func(ctx context.Context, a *App, path string, o TestOptions) error
	// TestModule tests a module, and returns a summary of one line, and a line for each failure.
	TestModule func(ctx context.Context, p *plugins.Plugins, m *plugins.Module, o TestOptions) (summary string, failures []string, err error)
	// ListChecks lists the checks of such a test.
	ListChecks func(a *App) error
	// Page makes a page of HTML of a document in Markdown.
	Page func(title string, markdown []byte) ([]byte, error)
}

// PortOptions are the options of [Parts.Port].
type PortOptions struct {
	// Dir is the directory in the cache.
	Dir string
	// Main, Name, Version, Shims, SDK, Mapping, and Only are as in package port.
	Main, Name, Version string
	Shims               []string
	SDK, Mapping        string
	Only                []string
	// Progress is told of each next step, and of its subject.
	Progress func(doing, what string)
}

// TestOptions are the options of [Parts.TestProvider].
type TestOptions struct {
	Grants     host.Grants
	Config     property.Map
	Parameters *abi.Parameters
	Extension  bool
	// Cases and Rerun are files of cases, Failures is the directory for new ones, and Seed a number.
	Cases, Rerun, Seed, Failures string
	Generated                    int
	// Only are checks, Untested subjects that may refuse every input.
	Only, Untested      []string
	ReadOnly, All, Logs bool
	// Repeated are the flags that a command needs, too, to repeat a check.
	Repeated string
}

// Served is a provider that is served over Pulumi's protocol.
type Served interface {
	io.Closer
	// Address is where, and ProviderName who.
	Address() string
	ProviderName() string
	// Log sends Pulumi a message, and reports whether it could.
	Log(abi.LogEntry) bool
}

const (
	// fullProgram is the program that has all parts.
	fullProgram = "husk-full"
	// versionVariable tells it the version of the husk whose place it takes.
	versionVariable = "HUSK_CONTINUED"
)

// WithWhole has the whole program take the place of this one if that lacks the parts for a command. It returns an error if the
// whole program is missing; on success, it returns only in the whole program. need names the purpose, to go before "need".
func (a *App) WithWhole(need string) error {
	if a.Parts != nil {
		return nil
	}
	if a.IsRun { // what the worker has told this process would be in the environment of the other
		return fmt.Errorf("%s: the worker of this run needs the program %s: install it beside the husk that is the worker, and start that anew", need, fullProgram)
	}
	whole, err := findWhole(husksource.Checkout, a.Say)
	if err != nil {
		return fmt.Errorf("%s: %w", need, err)
	}
	if err := become(whole, append(os.Environ(), versionVariable+"="+stackrun.Version())); err != nil {
		return fmt.Errorf("%s: starting %s: %w", need, whole, err)
	}
	return nil
}

// errNoWhole is the error for a part without the program that has it.
var errNoWhole = errors.New("this needs the program " + fullProgram + ", which is neither beside husk nor in PATH: every release has both; " +
	"go install github.com/husk-dev/husk/cmd/husk/husk-full@latest installs it")

// WholeBeside returns the path of the whole program beside this one, empty if it is not there.
func WholeBeside() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	beside := filepath.Join(filepath.Dir(self), executable(fullProgram))
	if info, err := os.Stat(beside); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return beside
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// findWhole returns the path of the whole program. A husk that was built in a checkout of its source builds it.
func findWhole(source func(file string) (dir string, ok bool), say func(string, ...any)) (string, error) {
	if beside := WholeBeside(); beside != "" {
		return beside, nil
	}
	if checkout, ok := source("cmd/husk/husk-full/main.go"); ok {
		return buildWhole(checkout, say)
	}
	if path, err := exec.LookPath(fullProgram); err == nil {
		return path, nil
	}
	return "", errNoWhole
}

// buildWhole builds the whole program of a checkout into the user's cache.
func buildWhole(checkout string, say func(string, ...any)) (string, error) {
	places, err := plugins.FindPlaces()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(places.Compiled())
	if places.Compiled() == "" {
		return "", errors.New("no cache directory for " + fullProgram + ": set HUSK_CACHE_DIR")
	}
	path := filepath.Join(dir, executable(fullProgram))
	say("Building %s from %s, as this husk is from there and not installed…", fullProgram, checkout)
	build := exec.Command("go", "build", "-o", path, "./cmd/husk/husk-full")
	build.Dir = checkout
	if told, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s in %s: %w\n%s", fullProgram, checkout, err, strings.TrimSpace(string(told)))
	}
	return path, nil
}

// Continued tells whether this process has taken the place of another one, whose messages the user has seen, and returns an error
// if that is of another version.
func Continued() (bool, error) {
	version, is := os.LookupEnv(versionVariable)
	if !is {
		return false, nil
	}
	if err := os.Unsetenv(versionVariable); err != nil {
		return true, err
	}
	if own := stackrun.Version(); version != own {
		return true, fmt.Errorf("husk has the version %s, and %s the version %s: install both of one version", version, fullProgram, own)
	}
	return true, nil
}
