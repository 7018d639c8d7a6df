package providercmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

func (a commands) providerPort() *cobra.Command {
	var o cli.PortOptions
	var out string
	cmd := &cobra.Command{
		Use: "port SOURCE", Short: "Build a provider for Terraform or Pulumi into one .wasm file, from its unchanged source",
		Long: "Build a provider written for Terraform or Pulumi into one .wasm file, from its unchanged source. SOURCE\n" +
			"is a directory, such as a checkout, or the name of a provider, with @VERSION or for the newest version:\n" +
			"its name in Terraform's registry (hashicorp/time), its Pulumi package (random, pulumi/aws), or its Go\n" +
			"module, which the Go command fetches and verifies. It can also be the URL of a repository:\n" +
			"https://github.com/acme/terraform-provider-acme@v1.4.0. Modules that do not build for WebAssembly are\n" +
			"changed in copies, by shims that docs/porting.md describes.",
		RunE: func(cmd *cobra.Command, args []string) error { return a.port(cmd.Context(), args[0], out, o) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "output file (default: the provider's name and .wasm)")
	flags.StringVar(&o.Main, "main", "", "directory of the main package in the module (default: the only one that serves a provider)")
	flags.StringVar(&o.Name, "name", "", "name of the package (default: the module's, without terraform-provider-)")
	flags.StringVar(&o.Version, "version", "", "version of the package (default: the module's)")
	flags.StringVar(&o.Mapping, "map", "", "YAML file with other names of types and properties, or a bridge-metadata.json")
	flags.StringSliceVar(&o.Only, "only", nil, "port only these `TYPES` of resources and data sources, by Terraform's names, such as google_storage_*")
	flags.Var(cli.Repeated(&o.Shims), "shim", "directory with shims for modules that do not build; can be repeated")
	flags.StringVar(&o.SDK, "sdk", "", "checkout of Husk with the adapters (default: the one of this husk)")
	return cmd
}

// ported is the result of the command port.
type ported struct {
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Path    string       `json:"path"`
	Size    int          `json:"size"`
	Digest  string       `json:"digest"`
	Origin  *host.Origin `json:"origin"`
	// Resources and Functions count the schema's.
	Resources int `json:"resources"`
	Functions int `json:"functions"`
}

// port ports a provider, checks that the host can run the module, and writes it to a file.
func (a commands) port(ctx context.Context, source, out string, o cli.PortOptions) error {
	if err := a.WithWhole("a port"); err != nil {
		return err
	}
	options, err := a.PluginOptions()
	if err != nil {
		return err
	}
	if o.Dir = options.Places.Ports(); o.Dir == "" {
		return errors.New("porting needs a cache directory: set HUSK_CACHE_DIR")
	}
	begun := time.Now()
	begin, end := a.steps()
	o.Progress = func(doing, what string) { begin(doing + " " + what) }
	wasm, is, err := a.Parts.Port(ctx, source, o)
	end()
	if err != nil {
		return err
	}
	name := is.Name
	return cli.WithPluginsBy(ctx, nil, options, func(p *plugins.Plugins) error {
		begin("checking " + name + ", " + display.Megabytes(len(wasm)))
		m, text, err := p.Check(ctx, name, wasm)
		end()
		if refused, ok := errors.AsType[*host.LoadError](err); ok && refused.Advice != "" && len(o.Only) == 0 && strings.HasPrefix(is.Origin.Kind, "Terraform ") {
			refused.Advice += ", or port only the types that you use, such as --only '" + name + "_TYPE,…'"
		}
		if err != nil {
			return err
		}
		pkg, err := schemajson.Parse(text)
		if err != nil {
			return fmt.Errorf("reading the schema of the ported provider: %w", err)
		}
		if out, err = cli.WriteModule(out, name, wasm); err != nil {
			return err
		}
		return a.writePorted(ported{
			Name: name, Version: m.Version, Path: out, Size: len(wasm), Digest: m.Info().Digest, Origin: is.Origin,
			Resources: len(pkg.Resources), Functions: len(pkg.Functions),
		}, pkg, time.Since(begun))
	})
}

// steps returns functions that begin a step which the user waits for, and end the last one.
func (a commands) steps() (begin func(what string), end func()) {
	last := ""
	end = func() { a.Waiting().End(last, false) }
	return func(what string) {
		end()
		last = display.Escape(what)
		a.Waiting().Begin(last, time.Now())
	}, end
}

// shownTokens is the number of tokens that the summary of a port names.
const shownTokens = 3

func (a commands) writePorted(p ported, pkg *schema.Package, took time.Duration) error {
	if a.JSON {
		return a.WriteJSON(p)
	}
	var tokens []string
	for _, r := range pkg.Resources {
		tokens = append(tokens, schema.ShortToken(r.Token))
	}
	slices.Sort(tokens)
	shown := strings.Join(tokens[:min(shownTokens, len(tokens))], ", ")
	if len(tokens) > shownTokens {
		shown += ", …"
	}
	var rows cli.Rows
	rows.Add("provider", p.Name+" "+p.Version)
	from := sourceOf(p.Origin)
	if licences := strings.Join(p.Origin.Licences, ", "); licences != "" {
		from += " (" + licences + ")"
	}
	rows.Add("ported from", from)
	rows.Add("kind", p.Origin.Kind)
	rows.Add("shims", strings.Join(p.Origin.Shims, ", "))
	rows.Add("raised", p.Origin.Raised...)
	rows.Add("only", p.Origin.Only...)
	rows.Add("module", fmt.Sprintf("%s, %s, in %s s", p.Path, display.Megabytes(p.Size), strconv.FormatFloat(took.Seconds(), 'f', 0, 64)))
	contents := cli.Plural(p.Resources, "resource") + ", " + cli.Plural(p.Functions, "function")
	if shown != "" {
		contents += ": " + shown
	}
	rows.Add("contents", contents)
	rows.Add("in a project", fmt.Sprintf("{name: %s, path: %s}, under plugins.providers", p.Name, filepath.ToSlash(p.Path)))
	rows.Add("properties", "husk provider show "+p.Path+" TYPE")
	return a.Table(rows)
}
