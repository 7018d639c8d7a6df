package plugins

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/gobuild"
	"github.com/husk-dev/husk/internal/build/langbuild"
)

// Built is a module with a manifest.
type Built struct {
	Manifest host.Manifest
	Bytes    []byte
	Digest   string
}

// Build builds a module from a directory of source, with a manifest, and from Go with the source's doc comments
// in its schema. The module must complete a handshake.
func (p *Plugins) Build(ctx context.Context, dir string) (*Built, error) {
	return p.buildFrom(ctx, dir, p.pathOrigin(dir))
}

// buildFrom is Build for source that has another origin than its directory.
func (p *Plugins) buildFrom(ctx context.Context, dir string, from origin) (*Built, error) {
	name := dir
	if abs, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(abs)
	}
	wasm, module, err := p.build(ctx, name, dir, from, p.builder.BuildDocumented)
	if err != nil {
		return nil, err
	}
	m, err := identify(ctx, module, dir)
	if err != nil {
		return nil, err
	}
	stamped := wasm
	if module.World != canon.WorldProgram { // which has no name
		if stamped, err = host.AddManifest(wasm, m.Manifest); err != nil {
			return nil, fmt.Errorf("writing the manifest into the module: %w", err)
		}
	}
	sum := sha256.Sum256(stamped)
	return &Built{Manifest: m.Manifest, Bytes: stamped, Digest: DigestPrefix + hex.EncodeToString(sum[:])}, nil
}

// BuildsTheSame reports whether the source in a directory makes a module a second time: in a copy of its Go module at another
// place, unless that refers to files beside it.
func (p *Plugins) BuildsTheSame(ctx context.Context, dir string, wasm []byte) (bool, error) {
	elsewhere, err := os.MkdirTemp("", "husk-build-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(elsewhere)
	copied := dir
	if langbuild.Of(dir) == nil {
		if copied, err = gobuild.CopyModule(ctx, dir, filepath.Join(elsewhere, "source")); err != nil {
			return false, err
		}
		copied = cmp.Or(copied, dir)
	}
	other := &Plugins{
		project: p.project, options: p.options, stopped: p.stopped, config: p.config, host: p.host, progress: p.progress, admission: p.admission, registry: p.registry,
		builder: &gobuild.Builder{Dir: filepath.Join(elsewhere, "built")},
	}
	built, err := other.buildFrom(ctx, copied, p.pathOrigin(dir))
	return err == nil && bytes.Equal(built.Bytes, wasm), err
}

// Check loads a module that was built elsewhere, makes its handshake, and returns it with its schema. name
// is for messages.
func (p *Plugins) Check(ctx context.Context, name string, wasm []byte) (*Module, []byte, error) {
	if err := p.admitBuilt(ctx, p.pathOrigin(name), wasm); err != nil {
		return nil, nil, err
	}
	module, err := p.host.LoadBytes(p.progress.loading(ctx, name), wasm)
	var refused *host.LoadError
	if errors.As(err, &refused) {
		refused.Path = name
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := identify(ctx, module, name)
	if err != nil {
		return nil, nil, err
	}
	m.wasm, m.config = func() ([]byte, error) { return wasm, nil }, p.config
	text, err := p.Schema(ctx, m)
	return m, text, err
}

// Precompile writes the compiled code of the module at a path to a directory. name is for messages, and
// may be empty.
func (p *Plugins) Precompile(ctx context.Context, name, path, dir string) (*Module, error) {
	m, err := p.Module(ctx, name, path)
	if err != nil {
		return nil, err
	}
	return m, m.module.Precompile(dir)
}
