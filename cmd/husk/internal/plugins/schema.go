package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
)

// Package implements [yamlprogram.Schemas]: the schema of a package of the
// project, nil where its provider has none.
func (p *Plugins) Package(ctx context.Context, name, version string) (*schema.Package, error) {
	declared, module, err := p.declared(ctx, name, version)
	if err != nil {
		return nil, err
	}
	if _, err := p.grants(declared); err != nil {
		return nil, err // earlier than when a resource needs it
	}
	text, err := p.Schema(ctx, module)
	if errors.Is(err, abi.ErrUnimplemented) {
		return nil, nil
	}
	if err != nil {
		return nil, p.problem(declared, err)
	}
	parsed, err := schemajson.Parse(text)
	if err != nil {
		return nil, p.problem(declared, fmt.Errorf("reading its schema: %w", err))
	}
	return parsed, nil
}

// Schema returns the JSON of a module's schema. The error is abi.ErrUnimplemented
// where it has none. Schemas are kept by the module's digest, since large ones take
// a while to make.
func (p *Plugins) Schema(ctx context.Context, m *Module) ([]byte, error) {
	file := filepath.Join(p.options.Cache, "schemas", strings.TrimPrefix(m.Info().Digest, "sha256:")+".json")
	if text, err := os.ReadFile(file); err == nil {
		return text, nil
	}
	var text []byte
	err := m.bare(ctx, func(provider abi.Provider) error {
		if _, err := provider.Handshake(ctx, abi.HandshakeRequest{Engine: "husk"}); err != nil {
			return err
		}
		resp, err := provider.GetSchema(ctx, abi.GetSchemaRequest{})
		text = []byte(resp.Schema)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Without the file the schema is asked for again, which is no failure.
	_ = writeFile(file, text)
	return text, nil
}

// writeFile writes a file so that readers find all of it or none.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "tmp*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
