// Package parts has the parts of husk-full that husk leaves out.
package parts

import (
	"context"
	"os"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/conform"
	"github.com/husk-dev/husk/cmd/husk/internal/consoleserver"
	"github.com/husk-dev/husk/cmd/husk/internal/pulumicmd"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/postgres"
	"github.com/husk-dev/husk/internal/backend/s3"
	"github.com/husk-dev/husk/internal/display/providerdocs/page"
	"github.com/husk-dev/husk/internal/lsp"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/internal/pulumi"
	"github.com/husk-dev/husk/internal/pulumi/pulumishim"
	"github.com/husk-dev/husk/internal/run/stackrun"
)

// All returns all parts.
func All() *cli.Parts {
	all := &cli.Parts{
		Backends: map[string]backend.Opener{s3.Scheme: s3.Open}, Pulumi: pulumi.Host{},
		Serve: serve, ServeEditor: serveEditor, ServeConsole: consoleserver.Serve, Page: page.Of, Port: portProvider, AnswerPulumi: pulumicmd.Answer,
		TestProvider: conform.Test, TestModule: conform.TestModule, ListChecks: conform.ListChecks,
	}
	for _, scheme := range postgres.Schemes {
		all.Backends[scheme] = postgres.Open
	}
	return all
}

// served is a provider that is served to Pulumi.
type served struct{ *pulumishim.Shim }

func (s served) ProviderName() string { return s.Name }

func serve(ctx context.Context, p abi.Provider, engine string, port int) (cli.Served, error) {
	s, err := pulumishim.Open(ctx, p, engine, port)
	if err != nil {
		return nil, err
	}
	return served{s}, nil
}

func portProvider(ctx context.Context, source string, o cli.PortOptions) ([]byte, host.Manifest, error) {
	built, err := port.Port(ctx, source, port.Options{
		Dir: o.Dir, Main: o.Main, Name: o.Name, Version: o.Version, Shims: o.Shims, SDK: o.SDK, Mapping: o.Mapping, Only: o.Only,
		Progress: func(s port.Step) { o.Progress(s.Doing, s.What) },
	})
	if err != nil {
		return nil, host.Manifest{}, err
	}
	return built.Wasm, built.Manifest, nil
}

func serveEditor(ctx context.Context, a *cli.App, o plugins.Options) error {
	return lsp.Serve(ctx, a.In, os.Stdout, lsp.Options{
		Version: stackrun.Version(), Stack: a.Stack, Root: a.RootOf, Plugins: o, Secrets: a.Secrets,
	})
}
