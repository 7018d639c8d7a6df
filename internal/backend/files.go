package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/printable"
)

// The names of the directories in [Backend.Dir], which package filestore knows as well.
const (
	modulesDir = "modules"
	kvDir      = "kv"
	runsDir    = "runs"

	moduleSuffix = ".wasm"
	kvSuffix     = ".cbor"
	runSuffix    = ".jsonl"
)

// Files returns the backend of a directory, whose states are in the store.
func Files(dir string, store state.Store) *Backend {
	return &Backend{Place: dir, Dir: dir, State: store, Modules: fileModules{dir}, KV: fileKV{dir}, History: fileHistory{dir}}
}

// ModulesDir returns the directory of modules on this machine.
func (b *Backend) ModulesDir() string { return filepath.Join(b.Dir, modulesDir) }

// RunsDir returns the directory of records of a stack's runs on this machine.
func (b *Backend) RunsDir(stack state.StackName) string {
	return filepath.Join(b.Dir, runsDir, stack.Project, stack.Name)
}

// CopyOfModule returns a module that is in [Backend.ModulesDir].
func (b *Backend) CopyOfModule(digest string) ([]byte, error) {
	return fileModules{b.Dir}.Get(context.Background(), digest)
}

type fileModules struct{ dir string }

func (m fileModules) file(digest string) (string, error) {
	sum, ok := SumOf(digest)
	if !ok {
		return "", fmt.Errorf("%q is not the digest of a module: it must be sha256: and 64 hexadecimal digits", digest)
	}
	return filepath.Join(m.dir, modulesDir, sum+moduleSuffix), nil
}

// SumOf returns the hexadecimal digits of a digest, ok is false for other text.
func SumOf(digest string) (sum string, ok bool) {
	sum, ok = strings.CutPrefix(digest, "sha256:")
	raw, err := hex.DecodeString(sum)
	return strings.ToLower(sum), ok && err == nil && len(raw) == sha256.Size
}

// Digest returns the digest of a module or a bundle.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (m fileModules) Has(_ context.Context, digest string) (bool, error) {
	file, err := m.file(digest)
	if err != nil {
		return false, err
	}
	if _, err = os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (m fileModules) Get(ctx context.Context, digest string) ([]byte, error) {
	file, err := m.file(digest)
	if err != nil {
		return nil, err
	}
	return readFile(ctx, file)
}

// readFile reads a file once there is room for it.
func readFile(ctx context.Context, file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := intake.Room(ctx, info.Size()); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

func (m fileModules) Put(ctx context.Context, digest string, content func() ([]byte, error)) error {
	file, err := m.file(digest)
	if err != nil {
		return err
	}
	if has, err := m.Has(ctx, digest); has || err != nil {
		return err
	}
	data, err := content()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(file, data, 0o600); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(file))
}

// Collect implements [Modules]. Package plugins collects the modules of a directory, because it knows the
// claims of runs.
func (m fileModules) Collect(context.Context, func() (map[string]bool, error)) error { return nil }

type fileKV struct{ dir string }

func (k fileKV) of(stack state.StackName) string {
	return filepath.Join(k.dir, kvDir, stack.Project, stack.Name)
}

// file returns the file of the values that a provider of a stack stores.
func (k fileKV) file(stack state.StackName, provider string) (string, error) {
	if err := CheckProvider(provider); err != nil {
		return "", err
	}
	return filepath.Join(k.of(stack), provider+kvSuffix), stack.Validate()
}

// maxName bounds the names of things that belong to a stack, in bytes: with its suffix, such a name is a file name on all
// systems.
const maxName = 200

// CheckProvider returns an error if a provider's name cannot be the name of a file, or an object, in the directory of a stack: a
// valid one leads nowhere else.
func CheckProvider(provider string) error {
	if !filepath.IsLocal(provider) || provider[0] == '.' || len(provider) > maxName || strings.ContainsAny(provider, `/\:`) || !utf8.ValidString(provider) ||
		strings.ContainsFunc(provider, printable.IsUnsafe) {
		return fmt.Errorf("the provider's name is not a valid file name: %.60q", provider)
	}
	return nil
}

// CheckRecord returns an error if a text is not the ID of a run's record.
func CheckRecord(id string) error {
	fits := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
	}
	if id == "" || len(id) > maxName || id[0] == '.' || !filepath.IsLocal(id) || strings.ContainsFunc(id, func(c rune) bool { return !fits(c) }) {
		return fmt.Errorf("%.60q cannot be the name of the record of a run", id)
	}
	return nil
}

func (k fileKV) List(_ context.Context, stack state.StackName) ([]string, error) {
	return namesIn(k.of(stack), kvSuffix)
}

// namesIn returns the names of files without the suffix that they have, sorted.
func namesIn(dir, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	return names, err
}

// Load implements [KV]. Files have no versions: only one run at a time has the lease.
func (k fileKV) Load(ctx context.Context, stack state.StackName, provider string) ([]byte, string, error) {
	file, err := k.file(stack, provider)
	if err != nil {
		return nil, "", err
	}
	data, err := readFile(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	return data, "", err
}

func (k fileKV) Save(_ context.Context, stack state.StackName, provider string, content []byte, _ string) (string, error) {
	file, err := k.file(stack, provider)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return "", atomicfile.Write(file, content, 0o600)
}

type fileHistory struct{ dir string }

func (h fileHistory) of(stack state.StackName) string {
	return filepath.Join(h.dir, runsDir, stack.Project, stack.Name)
}

func (h fileHistory) List(_ context.Context, stack state.StackName) ([]string, error) {
	return namesIn(h.of(stack), runSuffix)
}

func (h fileHistory) Get(ctx context.Context, stack state.StackName, id string) ([]byte, error) {
	if err := CheckRecord(id); err != nil {
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	return readFile(ctx, filepath.Join(h.of(stack), id+runSuffix))
}

func (h fileHistory) Put(ctx context.Context, stack state.StackName, id string, content []byte) error {
	if err := CheckRecord(id); err != nil {
		return err
	}
	dir := h.of(stack)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, id+runSuffix), content, 0o600); err != nil {
		return err
	}
	ids, err := h.List(ctx, stack)
	slices.Sort(ids)
	for _, old := range ids[:max(0, len(ids)-KeptRecords)] {
		err = errors.Join(err, os.Remove(filepath.Join(dir, old+runSuffix)))
	}
	return err
}
