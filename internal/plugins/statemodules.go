package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
)

// A state names the modules that made its resources. Others may have written the state, so it does not
// decide which code runs: husk runs a module that a state names only if this user's project has listed
// it, or the user confirms it. The module gets the secrets of the resources and the provider's grants.

// StateModules are the modules that may run because a state names them: a user has listed or confirmed them for a project,
// as providers of a name. A file in the user's configuration directory records them for each directory and name of
// a project. It is safe for concurrent use.
type StateModules struct {
	// file is empty if the user has no configuration directory: nothing is recorded then.
	file string
	// head is the first line of the file, for people.
	head string

	mu sync.Mutex
	// confirmed are the digests that the user confirms for this run.
	confirmed []string
	// known are the lines of the file, nil before the first use.
	known map[string]bool
}

// UserFiles returns the user's files that say which modules are trusted.
func UserFiles() []string {
	config, err := os.UserConfigDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(config, "husk", "trusted-modules")}
}

// OpenStateModules returns the modules that the user trusts in a project's directory. confirmed are the digests
// that the user confirms for this run.
func OpenStateModules(project *program.Project, confirmed []string) (*StateModules, error) {
	t := &StateModules{confirmed: confirmed}
	place := UserFiles()
	if place == nil {
		return t, nil
	}
	dir, err := filepath.Abs(project.Dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir + "\x00" + project.Name))
	t.file = filepath.Join(place[0], hex.EncodeToString(sum[:]))
	t.head = fmt.Sprintf("# Modules that the project %q in %q listed, or that were confirmed there.\n", project.Name, dir)
	return t, nil
}

func trustLine(digest, provider string) string { return strings.ToLower(digest) + " " + provider }

// has reports whether the user trusts a module as the provider of a name.
func (t *StateModules) has(digest, provider string) (bool, error) {
	if t == nil {
		return false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.load()
	confirmed := slices.ContainsFunc(t.confirmed, func(c string) bool { return strings.EqualFold(c, digest) })
	return confirmed || t.known[trustLine(digest, provider)], err
}

// load reads the file. The caller holds the lock.
func (t *StateModules) load() error {
	if t.known != nil || t.file == "" {
		return nil
	}
	info, err := os.Lstat(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		t.known = make(map[string]bool)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading which modules are trusted: %w", err)
	}
	if !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s says which modules are trusted, and others can write it: check its content, and remove that right (chmod 600)", t.file)
	}
	text, err := os.ReadFile(t.file)
	if err != nil {
		return fmt.Errorf("reading which modules are trusted: %w", err)
	}
	t.known = make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		t.known[strings.TrimRight(line, "\r\n")] = true // a line of any other form matches no module
	}
	return nil
}

// confirm is Add, and holds for this run if nothing can be recorded.
func (t *StateModules) confirm(digest, provider string) error {
	t.mu.Lock()
	t.confirmed = append(t.confirmed, digest)
	t.mu.Unlock()
	return t.Add(digest, provider)
}

// Add records that the user trusts a module as the provider of a name.
func (t *StateModules) Add(digest, provider string) error {
	if t == nil || t.file == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	line := trustLine(digest, provider)
	if err := t.load(); err != nil || t.known[line] {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.file), 0o700); err != nil {
		return fmt.Errorf("recording which modules are trusted: %w", err)
	}
	text := line + "\n"
	if len(t.known) == 0 {
		text = t.head + text
	}
	file, err := os.OpenFile(t.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("recording which modules are trusted: %w", err)
	}
	t.known[line] = true
	return nil
}

// RecordedModule is a module that a state names as the provider of a name.
type RecordedModule struct{ Digest, Provider string }

// UntrustedError is the error for modules that a state names, that the project has never listed, and that
// the user did not confirm.
type UntrustedError struct {
	Modules []RecordedModule
	// Installed reports whether the project lists other modules in their place.
	Installed bool
}

// Error says what the modules would get, and how to confirm them.
func (e *UntrustedError) Error() string {
	it, its, flags := "it", "its", ""
	if len(e.Modules) > 1 {
		it, its = "them", "their"
	}
	for _, m := range e.Modules {
		flags += " --trust-module " + m.Digest
	}
	text := e.Names() + "\nto run " + it + " with the provider's grants and the secrets of " + its + " resources, add to the command:" + flags
	if e.Installed {
		text += "\nto use what the project lists instead, add --installed where the command has it"
	}
	return text
}

// Names returns a sentence that names the modules.
func (e *UntrustedError) Names() string {
	if len(e.Modules) == 1 {
		m := e.Modules[0]
		return fmt.Sprintf("the state names the module %s as the provider %s, and the project in this directory has never listed it: "+
			"whoever wrote the state chose it", m.Digest, m.Provider)
	}
	text := "the state names modules that the project in this directory has never listed: whoever wrote the state chose them"
	for _, m := range e.Modules {
		text += fmt.Sprintf("\n  %s as the provider %s", m.Digest, m.Provider)
	}
	return text
}

// trusts returns an error unless the project has listed a module that a state names, or lists it now, or
// the user confirms it.
func (p *Plugins) trusts(ctx context.Context, digest, provider string) error {
	trusted, err := p.options.StateModules.has(digest, provider)
	if trusted || err != nil || p.lists(ctx, digest, provider) {
		return err
	}
	return &UntrustedError{[]RecordedModule{{digest, provider}}, p.project.Provider(provider) != nil}
}

// trust records that a module is listed or confirmed. If that fails, a later run asks again.
func (p *Plugins) trust(m *Module) {
	if err := p.options.StateModules.Add(m.Info().Digest, m.Name); err != nil {
		p.options.Events(engine.Diagnostic{Severity: "debug", Provider: m.Name,
			Message: "a later refresh or destroy may ask whether to trust its module: " + err.Error()})
	}
}

// Confirm records that the user trusts a module.
func (p *Plugins) Confirm(m RecordedModule) error {
	return p.options.StateModules.confirm(m.Digest, m.Provider)
}

// lists reports whether the project lists a module as the provider of a name. A module that cannot be
// built or loaded is another one.
func (p *Plugins) lists(ctx context.Context, digest, provider string) bool {
	return slices.ContainsFunc(p.project.Providers, func(declared program.ProviderPlugin) bool {
		if declared.Name != provider {
			return false
		}
		m, err := p.listedModule(ctx, &declared)
		return err == nil && m.Info().Digest == digest
	})
}

// Untrusted returns an error for kept modules that the user has to confirm, nil for none.
func (p *Plugins) Untrusted(ctx context.Context, named []RecordedModule) (*UntrustedError, error) {
	all := &UntrustedError{Installed: true}
	for _, m := range named {
		if m.Digest == "" || p.options.Installed || slices.Contains(all.Modules, m) {
			continue
		}
		if kept, err := p.hasModule(ctx, m.Digest); err != nil {
			return nil, err
		} else if !kept {
			continue
		}
		err := p.trusts(ctx, m.Digest, m.Provider)
		if untrusted, ok := errors.AsType[*UntrustedError](err); ok {
			all.Modules = append(all.Modules, m)
			all.Installed = all.Installed && untrusted.Installed
		} else if err != nil {
			return nil, err
		}
	}
	if len(all.Modules) == 0 {
		return nil, nil
	}
	return all, nil
}

// CheckDigest returns an error if the text is not the digest of a module.
func CheckDigest(text string) error {
	if _, ok := sumOf(text); !ok {
		return errors.New("a digest is sha256: and 64 hexadecimal digits, as husk state module shows it")
	}
	return nil
}
