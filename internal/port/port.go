// Package port builds provider modules from providers that were written for Terraform or Pulumi, without a
// change of their source. It does not load or check them.
package port

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port/mapping"
	"github.com/husk-dev/husk/internal/port/portcache"
	"github.com/husk-dev/husk/internal/port/prune"
)

// Options say how a provider is ported.
type Options struct {
	// Dir is the directory of the cache.
	Dir string
	// Main is the directory of the main package in the module. If it is empty, the one that serves a
	// provider is taken.
	Main string
	// Name and Version are the package's. If they are empty, the module's are taken.
	Name, Version string
	// Shims are directories with shims of the user.
	Shims []string
	// SDK is a checkout of Husk with the SDK, empty for the SDK of this program.
	SDK string
	// Mapping is the path of a file with names that differ from the derived ones. If it is empty, a well-known provider gets the
	// names of the package that Pulumi publishes.
	Mapping string
	// Only are the names of resources, data sources, ephemeral resources, and actions that a provider for Terraform is to have, with
	// * for any text; all if there are none.
	Only []string
	// MaxSize is the size in bytes above which a module loses the names of its functions, a thirtieth of it. If it is 0, it is the
	// largest module that a host takes.
	MaxSize int
	// Progress is called before each step; it may be nil.
	Progress func(Step)
}

// Step is a part of the work.
type Step struct {
	// Doing is the verb, as in "compiling".
	Doing string
	// What names its object.
	What string
}

// Built is a ported provider.
type Built struct {
	// Wasm is the module. It has the manifest.
	Wasm []byte
	// Manifest has name and version of the package, and its origin.
	Manifest host.Manifest
	// Types are the names of all types that the source registers, chosen or not, if some are chosen. Some need not exist.
	Types []string
}

// porter ports one provider.
type porter struct {
	options Options
	dir     string
	command goCommand
	shims   []*shim
	// mapping is the mapping of names, nil for none.
	mapping *mapping.Mapping
	// published means that the mapping is a published package's, whatever the name of the port.
	published bool
}

// Port ports the provider in a directory, or one by its name, its Go module, or its repository, with or without @VERSION.
func Port(ctx context.Context, source string, o Options) (*Built, error) {
	b := &porter{options: o, dir: o.Dir}
	if b.options.Progress == nil {
		b.options.Progress = func(Step) {}
	}
	var err error
	if b.command, err = findGo(); err != nil {
		return nil, err
	}
	for _, dir := range o.Shims { // before this program's, which they may replace
		shims, err := userShims(dir)
		if err != nil {
			return nil, err
		}
		b.shims = append(b.shims, shims...)
	}
	if o.Mapping != "" {
		if err := b.readMapping(o.Mapping); err != nil {
			return nil, err
		}
	}
	if err := prune.Check(o.Only); err != nil {
		return nil, err
	}
	own, err := builtInShims()
	if err != nil {
		return nil, err
	}
	b.shims = append(b.shims, own...)
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for ports: %w", err)
	}
	_, _ = portcache.Prune(b.dir, time.Now().Add(-portcache.KeptUnused)) // the next port removes the rest
	b.step("fetching", source)
	s, err := b.fetch(ctx, source)
	if err != nil {
		return nil, err
	}
	if b.mapping == nil {
		if b.mapping, err = mapping.Published(s.module); err != nil {
			return nil, err
		}
		b.published = true
	}
	return b.port(ctx, s)
}

// readMapping reads a mapping, or what Pulumi's bridge has kept of a package, whose name the port gets.
func (b *porter) readMapping(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--map: %w", err)
	}
	if !mapping.IsBridged(text) {
		if b.mapping, err = mapping.Decode(file, text); err != nil {
			return fmt.Errorf("--map %w", err)
		}
		return nil
	}
	bridged, err := mapping.ReadBridged(file, text)
	if err != nil {
		return fmt.Errorf("--map %w", err)
	}
	if len(bridged.Ignored) > 0 {
		b.step("leaving out", strings.Join(bridged.Ignored, ", ")+" of "+file)
	}
	b.mapping, b.published = bridged.Mapping(true), true
	b.options.Name = cmp.Or(b.options.Name, bridged.Package)
	return nil
}

func (b *porter) step(doing, what string) { b.options.Progress(Step{doing, what}) }
