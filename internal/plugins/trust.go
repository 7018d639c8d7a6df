package plugins

import (
	"bufio"
	"bytes"
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

// A state says which modules made its resources, and is written by whoever can write to the place
// where stacks are kept, or makes a file to import. So it does not decide which code runs: a module
// that a state names is run if the project of this user listed it, or if the user confirms it. Else
// code that somebody else chose would get the secrets of the resources, and what the project grants
// to the provider.

// Trust is which modules a user has listed or confirmed for a project, as providers of a name. It is
// kept in the user's directory for configuration, where nobody else writes, for each directory of a
// project and each name of one that was there. It is safe for concurrent use.
type Trust struct {
	// file is empty where the user has no such directory: nothing is kept then.
	file string
	// head is its first line, which tells people what it is about.
	head string
	// confirmed are the digests that the user confirms for this run.
	confirmed []string

	mu   sync.Mutex
	read bool
	// known are the lines of the file.
	known map[string]bool
}

// trustDir is the path of the directory with the files, under that for configuration.
const trustDir = "husk/trusted-modules"

// UserFiles returns the paths of what says, in the user's directory for configuration, which modules
// are trusted.
func UserFiles() []string {
	config, err := os.UserConfigDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(config, filepath.FromSlash(trustDir))}
}

// OpenTrust returns what the user trusts in a project's directory, and the digests that the user
// confirms now.
func OpenTrust(project *program.Project, confirmed []string) (*Trust, error) {
	t := &Trust{confirmed: confirmed}
	config, err := os.UserConfigDir()
	if err != nil {
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
	t.file = filepath.Join(config, filepath.FromSlash(trustDir), hex.EncodeToString(sum[:]))
	t.head = fmt.Sprintf("# Modules that the project %q in %q listed, or that were confirmed there.\n", project.Name, dir)
	return t, nil
}

func trustLine(digest, provider string) string { return strings.ToLower(digest) + " " + provider }

// Has reports whether the user trusts a module as the provider of a name.
func (t *Trust) Has(digest, provider string) (bool, error) {
	if t == nil {
		return false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.load()
	return t.known[trustLine(digest, provider)], err
}

// isConfirmed reports whether the user confirms a module for this run.
func (t *Trust) isConfirmed(digest string) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.confirmed, func(c string) bool { return strings.EqualFold(c, digest) })
}

// load reads the file. The caller holds the lock.
func (t *Trust) load() error {
	if t.read || t.file == "" {
		return nil
	}
	info, err := os.Lstat(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		t.read, t.known = true, make(map[string]bool)
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
	t.read, t.known = true, make(map[string]bool)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		t.known[lines.Text()] = true // a line of any other form matches no module
	}
	return nil
}

// confirm is Add, and holds for this run where nothing can be kept.
func (t *Trust) confirm(digest, provider string) error {
	t.mu.Lock()
	t.confirmed = append(t.confirmed, digest)
	t.mu.Unlock()
	return t.Add(digest, provider)
}

// Add has the user trust a module as the provider of a name.
func (t *Trust) Add(digest, provider string) error {
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

// UntrustedError says that a state names modules which neither the project has listed nor the user
// confirmed.
type UntrustedError struct {
	Modules []RecordedModule
	// Installed says that the project lists other modules in their place.
	Installed bool
}

// Error says what they would get, and how to confirm them.
func (e *UntrustedError) Error() string {
	it, its, flags := "it", "its", ""
	if len(e.Modules) > 1 {
		it, its = "them", "their"
	}
	for _, m := range e.Modules {
		flags += " --trust-module " + m.Digest
	}
	text := e.Names() + "\nto run " + it + " with what is granted to the provider, and with the secrets of " + its + " resources, add to the command:" + flags
	if e.Installed {
		text += "\nto use what the project lists instead, add --installed where the command has it"
	}
	return text
}

// Names says which modules they are.
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

// trusts is an error unless the user trusts a module that a state names: one that the project has
// listed or lists now, or one that the user confirms.
func (p *Plugins) trusts(ctx context.Context, digest, provider string) error {
	trust := p.options.Trust
	known, err := trust.Has(digest, provider)
	if known || err != nil {
		return err
	}
	if !trust.isConfirmed(digest) && !p.lists(ctx, digest, provider) {
		return &UntrustedError{[]RecordedModule{{digest, provider}}, p.project.Provider(provider) != nil}
	}
	return nil
}

// trust has the user trust a module from now on, since the project lists it, or it was confirmed.
// Where that cannot be noted it is asked for again.
func (p *Plugins) trust(m *Module) {
	if err := p.options.Trust.Add(m.Info().Digest, m.Name); err != nil {
		p.options.Diagnostics(engine.Diagnostic{Severity: "debug", Provider: m.Name,
			Message: "a later refresh or destroy may ask whether to trust its module: " + err.Error()})
	}
}

// Confirm has the user trust a module from now on.
func (p *Plugins) Confirm(m RecordedModule) error {
	return p.options.Trust.confirm(m.Digest, m.Provider)
}

// lists reports whether the project lists a module as the provider of a name. What cannot be built
// or loaded is another one.
func (p *Plugins) lists(ctx context.Context, digest, provider string) bool {
	return slices.ContainsFunc(p.project.Providers, func(declared program.ProviderPlugin) bool {
		if declared.Name != provider {
			return false
		}
		m, err := p.Module(ctx, declared.Name, p.project.Path(declared.Path))
		return err == nil && m.Info().Digest == digest
	})
}

// Untrusted returns an error about those of the modules that a state names which are kept and which
// the user would have to confirm, nil for none.
func (p *Plugins) Untrusted(ctx context.Context, named []RecordedModule) (*UntrustedError, error) {
	all := &UntrustedError{Installed: true}
	for _, m := range named {
		if m.Digest == "" || p.options.Installed || !HasModule(p.options.Modules, m.Digest) || slices.Contains(all.Modules, m) {
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
	if _, err := (moduleStore{}).file(text); err != nil {
		return errors.New("a digest is sha256: and 64 hexadecimal digits, as husk state module shows it")
	}
	return nil
}
