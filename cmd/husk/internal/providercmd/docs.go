package providercmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/display/providerdocs"
	"github.com/husk-dev/husk/internal/plugins"
)

func (a commands) providerShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FILE|NAME [TYPE]", Short: "Show what a provider offers, or a type or function with its properties",
		Long: "Shows the resources, functions, and configuration of a provider or package of the project, of a module, or of Go\n" +
			"source, and what the provider asks of the host. With TYPE, it shows a resource type or function, such as\n" +
			"random:RandomPet or RandomPet, with an example.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.documented(cmd.Context(), args[0], func(p *schema.Package, requests []string) error {
				if a.JSON {
					if len(args) > 1 {
						var err error
						if p, err = providerdocs.Only(p, args[1]); err != nil {
							return err
						}
					}
					return a.WriteJSON(json.RawMessage(p.AppendJSON(nil)))
				}
				t := &providerdocs.Terminal{Style: a.Out.Style(), Columns: a.columns()}
				text := ""
				if len(args) == 1 {
					text = t.Package(p, requests)
				} else {
					var err error
					if text, err = t.Type(p, args[1]); err != nil {
						return err
					}
				}
				_, err := a.Out.Write([]byte(text))
				return cli.Writing(err)
			})
		},
	}
}

// columns returns the width of the terminal, 80 without one.
func (a commands) columns() int {
	if f := a.Out.File(); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

func (a commands) providerDocs() *cobra.Command {
	format, out := "", ""
	cmd := &cobra.Command{
		Use: "docs FILE|NAME", Short: "Write the documentation of a provider from its schema",
		Long: "Writes the documentation of a provider or package, with an example for each type and function: as\n" +
			"Markdown, or as an HTML page that needs no other file. husk provider show is the same for a terminal.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if format == "" && (filepath.Ext(out) == ".html" || filepath.Ext(out) == ".htm") {
				format = "html"
			}
			if a.JSON && out == "" {
				return cli.Usagef("husk provider docs writes no JSON: husk provider schema does")
			}
			if format == "html" {
				if err := a.WithWhole("a page of HTML"); err != nil {
					return err
				}
			}
			return a.documented(cmd.Context(), args[0], func(p *schema.Package, requests []string) error {
				text := []byte(providerdocs.Markdown(p, requests))
				if format == "html" {
					var err error
					if text, err = a.Parts.Page(providerdocs.Title(p), text); err != nil {
						return err
					}
				}
				if out == "" {
					return cli.Writing(a.Out.WriteData(text))
				}
				if err := os.WriteFile(out, text, 0o644); err != nil {
					return fmt.Errorf("writing the documentation: %w", err)
				}
				return nil
			})
		},
	}
	cmd.Flags().Var(cli.Choice(&format, "markdown", "html"), "format", "markdown or html (default: by the ending of the output file, else markdown)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "output file (default: standard output)")
	return cmd
}

// documented calls do with the schema of a provider or package, and with the capabilities that its module asks for.
func (a commands) documented(ctx context.Context, name string, do func(p *schema.Package, requests []string) error) error {
	project, err := a.projectOf(ctx, name)
	if err != nil {
		return err
	}
	return a.WithPlugins(ctx, project, func(p *plugins.Plugins) error {
		text, err := a.schemaOf(ctx, p, project, name)
		if errors.Is(err, abi.ErrUnimplemented) {
			return fmt.Errorf("%s has no schema", name)
		}
		if err != nil {
			return err
		}
		parsed, err := schemajson.Parse(text)
		if err != nil {
			return fmt.Errorf("the schema of %s cannot be read: %w", name, err)
		}
		return do(parsed, a.requestsOf(ctx, p, project, name))
	})
}

// requestsOf returns the capabilities that the module of a provider asks for, in words.
func (a commands) requestsOf(ctx context.Context, p *plugins.Plugins, project *program.Project, name string) (requests []string) {
	path := name
	if project != nil {
		if pkg := project.Package(name); pkg.Parameterized() {
			name = pkg.Source
		}
		declared := project.Provider(name)
		if declared == nil {
			return nil
		}
		var err error
		if path, err = p.Locate(ctx, declared); err != nil {
			return nil
		}
	}
	m, err := p.Module(ctx, "", path)
	if err != nil {
		return nil // the schema was there without it
	}
	for _, r := range m.Requests {
		text := r.Capability
		if r.Scope != "" {
			text += "=" + r.Scope
		}
		if r.Optional {
			text += " (optional)"
		}
		if r.Reason != "" {
			text += ": " + r.Reason
		}
		requests = append(requests, text)
	}
	return requests
}
