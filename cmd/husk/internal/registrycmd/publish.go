package registrycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/base/versionrange"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/registry"
)

// published is the output about a module in a registry.
type published struct {
	Reference string `json:"reference"`
	Version   string `json:"version,omitempty"`
	Digest    string `json:"digest"`
	Manifest  string `json:"manifest,omitempty"`
	Size      int64  `json:"size"`
	// Path is the file that was written.
	Path string `json:"path,omitempty"`
}

func publishedAt(to registry.Reference, r registry.Release) published {
	return published{Reference: to.String(), Version: r.Version, Digest: r.Digest, Manifest: r.Manifest, Size: r.Size}
}

func (a commands) showPublished(p published) error {
	if a.JSON {
		return a.WriteJSON(p)
	}
	var rows cli.Rows
	rows.Add("reference", p.Reference)
	rows.Add("version", p.Version)
	rows.Add("digest", p.Digest)
	rows.Add("manifest", p.Manifest)
	rows.Add("size", display.Megabytes(p.Size))
	rows.Add("file", p.Path)
	return a.Table(rows)
}

func (a commands) push() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "push FILE|DIR REFERENCE", Short: "Publish a module, or Go source, in a registry",
		Long: "Publish a module in an OCI registry, in the layout of the CNCF for WebAssembly. REFERENCE is a repository,\n" +
			"such as ghcr.io/acme/random. The tag is the module's version. An existing version with another module is\n" +
			"replaced only with --force. Credentials come from \"docker login\".",
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := registry.ParseReference(args[1])
			if err != nil {
				return cli.Usage(err)
			}
			return a.withPlugins(cmd.Context(), func(p *plugins.Plugins) error {
				wasm, err := read(cmd.Context(), p, args[0])
				if err != nil {
					return err
				}
				labels, err := labelsOf(cmd.Context(), p, args[0], wasm)
				if err != nil {
					return err
				}
				tag := registry.Tag(labels.Version)
				if to.Tag != "" && to.Tag != tag && to.Tag != "v"+tag {
					return fmt.Errorf("the module is version %s, so its tag is %s, not %s: leave the tag out, and use husk provider tag for others", labels.Version, tag, to.Tag)
				}
				to.Tag = cmp.Or(to.Tag, tag)
				client, err := p.Registry(a.progress())
				if err != nil {
					return err
				}
				release, err := client.Push(cmd.Context(), to, wasm, labels, force, nil)
				if moved := (*registry.MovedError)(nil); errors.As(err, &moved) {
					return fmt.Errorf("%w\ngive the module another version: projects that have locked this one would refuse the other; --force replaces it", err)
				}
				if err != nil {
					return err
				}
				return a.showPublished(publishedAt(to, release))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a version that is another module")
	return cmd
}

// withPlugins calls do with the plugins of no project. They interpret modules, which are asked for name and schema only.
func (a commands) withPlugins(ctx context.Context, do func(*plugins.Plugins) error) error {
	o, err := a.PluginOptions()
	if err != nil {
		return err
	}
	o.Interpret = true
	return cli.WithPluginsBy(ctx, nil, o, do)
}

// read returns a module from a file, or builds it.
func read(ctx context.Context, p *plugins.Plugins, from string) ([]byte, error) {
	if isDir(from) {
		built, err := p.Build(ctx, from)
		if err != nil {
			return nil, err
		}
		return built.Bytes, nil
	}
	return os.ReadFile(from)
}

// labelsOf returns the labels of a module, which must have a manifest: clients read name and version without running it.
func labelsOf(ctx context.Context, p *plugins.Plugins, from string, wasm []byte) (registry.Labels, error) {
	m, text, err := p.Check(ctx, from, wasm)
	if m == nil || err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		return registry.Labels{}, err
	}
	info := m.Info()
	if info.World != canon.WorldProvider {
		return registry.Labels{}, fmt.Errorf("%s is a %s, not a provider", from, info.World)
	}
	if info.Manifest == nil {
		return registry.Labels{}, fmt.Errorf("%s has no manifest, which says name and version without running it: build it with husk provider build", from)
	}
	version, err := semver.Parse(strings.TrimPrefix(m.Version, "v"))
	if err != nil {
		return registry.Labels{}, fmt.Errorf("%s has the version %q, which is not a semantic version such as 1.2.0", from, m.Version)
	}
	labels := registry.Labels{Title: m.Name, Version: version.String()}
	if origin := info.Manifest.Origin; origin != nil {
		labels.Licenses, labels.Source = strings.Join(origin.Licences, " AND "), origin.Module
	}
	if text != nil {
		described, err := schemajson.Parse(text)
		if err != nil {
			return labels, fmt.Errorf("the schema of %s cannot be read: %w", from, err)
		}
		labels.Description = described.Description
		labels.Licenses = cmp.Or(described.License, labels.Licenses)
		labels.Source = cmp.Or(described.Repository, labels.Source)
	}
	return labels, nil
}

func (a commands) pull() *cobra.Command {
	var out, version string
	cmd := &cobra.Command{
		Use: "pull REFERENCE", Short: "Fetch a module from a registry into a file",
		Long: "Fetch a module from an OCI registry into a file, and its signatures into one beside it. REFERENCE has a\n" +
			"tag or digest, such as ghcr.io/acme/random:1.2.0; without one, the newest version that --version allows\n" +
			"is fetched.",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := registry.ParseReference(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			asked, err := versionrange.Parse(version)
			if err != nil {
				return cli.Usage(fmt.Errorf("--version: %w", err))
			}
			if from.Tag != "" && version != "" {
				return cli.Usagef("--version and a tag or digest exclude each other")
			}
			return a.withPlugins(cmd.Context(), func(p *plugins.Plugins) error {
				client, err := p.Registry(a.progress())
				if err != nil {
					return err
				}
				from, release, err := find(cmd.Context(), client, from, asked)
				if err != nil {
					return err
				}
				fetched, err := client.Fetch(cmd.Context(), from.Source, release)
				if err != nil {
					return err
				}
				wasm, err := os.ReadFile(fetched)
				if err != nil {
					return err
				}
				signatures, err := client.Signatures(cmd.Context(), from.Source, release)
				if err != nil {
					return err
				}
				file, err := cli.WriteModule(out, path.Base(from.Repository), wasm)
				if err != nil {
					return err
				}
				if len(signatures) > 0 { // trust policies look for them there
					if err := writeSignatures(file+plugins.SignatureSuffix, signatures); err != nil {
						return err
					}
				}
				shown := publishedAt(from, release)
				shown.Path = file
				return a.showPublished(shown)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "output file (default: the last name of the repository and .wasm)")
	cmd.Flags().StringVar(&version, "version", "", "the range of versions to choose from, such as \">=1.2 <2\"")
	return cmd
}

func (a commands) tag() *cobra.Command {
	return &cobra.Command{
		Use: "tag REFERENCE TAG...", Short: "Give a module in a registry further tags",
		Long: "Give a module in an OCI registry further tags, such as latest. Projects choose by version: other tags\n" +
			"are for people and other tools.",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := registry.ParseReference(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			if from.Tag == "" {
				return cli.Usagef("%s has neither a tag nor a digest", args[0])
			}
			return a.withPlugins(cmd.Context(), func(p *plugins.Plugins) error {
				client, err := p.Registry(nil)
				if err != nil {
					return err
				}
				release, err := client.Tag(cmd.Context(), from, args[1:])
				if err != nil {
					return err
				}
				shown := publishedAt(from, release)
				if a.JSON {
					return a.WriteJSON(shown)
				}
				return a.Printf("%s is also %s\n", from.String(), strings.Join(args[1:], ", "))
			})
		},
	}
}
