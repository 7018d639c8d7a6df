package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/bench/internal/bareengine"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/bench/internal/memory"
	"github.com/husk-dev/husk/bench/internal/peer"
	"github.com/husk-dev/husk/bench/internal/programs"
	record "github.com/husk-dev/husk/bench/record/provider"
)

// process is a provider that Pulumi's SDK serves from a process, as an engine of Pulumi starts it.
type process struct {
	*language
	command string
	request abi.CheckRequest
}

// nodeProvider is a provider whose check returns its inputs, so the figures measure the SDK alone.
const nodeProvider = `#!/usr/bin/env node
const { main } = require("@pulumi/pulumi/provider");
main({ version: "1.0.0", check: async (urn, olds, news) => ({ inputs: news }) }, process.argv.slice(2));
`

// processes builds the providers. modules is a directory node_modules with the SDK for Node.js. If it is empty, npm installs the SDK.
func processes(ctx context.Context, dir, modules string) ([]process, error) {
	compiled, err := programs.Command(ctx, "./sdkpeer")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "provider.js")
	for name, text := range map[string]string{script: nodeProvider, filepath.Join(dir, "package.json"): `{"name": "peer", "dependencies": {"@pulumi/pulumi": "3.270.0"}}`} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	if err := programs.Packages(ctx, dir, modules); err != nil {
		return nil, err
	}
	return []process{
		{&language{name: "Go, a process of Pulumi's SDK"}, compiled, abi.CheckRequest{Type: record.RecordType, Name: "one", News: inputs(0)}},
		{&language{name: "Node.js, a process of Pulumi's SDK"}, script, abi.CheckRequest{Type: contact, Name: "one", Olds: new(property.Map), News: inputs(0)}},
	}, nil
}

// round starts the process, and calls it once.
func (p *process) round(ctx context.Context) (err error) {
	start := time.Now()
	running, err := peer.Start(ctx, p.command, bareengine.Configuration())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	p.add(3, figures.Millis(time.Since(start)))
	start = time.Now()
	if _, err := running.Provider.Check(ctx, p.request); err != nil {
		return err
	}
	p.add(4, figures.Millis(time.Since(start)))
	resident, err := memory.Resident(running.PID)
	p.add(7, float64(resident)/1e6)
	return err
}
