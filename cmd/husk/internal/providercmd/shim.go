package providercmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/plugins"
)

const (
	// pluginPrefix begins the names of the programs that Pulumi runs as providers.
	pluginPrefix = "pulumi-resource-"
	// manifestSuffix ends the name of the file beside such a program that says which module it serves.
	manifestSuffix = ".husk.json"
)

// manifest says what a shim serves, and with which rights.
type manifest struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Module is the file beside the manifest, and Digest what it must be.
	Module string `json:"module"`
	Digest string `json:"digest"`
	// Grants are as --grant has them, with directories that do not depend on where Pulumi runs.
	Grants []string `json:"grants,omitempty"`
	// Limits are as --limit has them.
	Limits []string `json:"limits,omitempty"`
}

func (a commands) providerShim() *cobra.Command {
	var grants []string
	var dir string
	cmd := &cobra.Command{
		Use: "shim FILE", Short: "Turn a provider module into a plugin for the Pulumi CLI",
		Long: "Turn a provider module, or Go source, into a plugin for the Pulumi CLI. The directory gets the program\n" +
			"pulumi-resource-NAME, which is husk itself, a copy of the module, and a manifest with the module's\n" +
			"digest and the grants. With that directory in PATH, pulumi up uses the module in place of the native\n" +
			"plugin, in its sandbox, with these grants and no others. The plugin refuses a module with another\n" +
			"digest.\n\n" +
			"Values that the provider stores with the grant kv last as long as the plugin runs: Pulumi has no place for them.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return cli.Usagef("-o is missing: give the directory for the plugin, which must be in PATH when Pulumi runs")
			}
			if err := a.WithWhole(servesPulumi); err != nil { // the plugin is a copy of this program
				return err
			}
			m := manifest{}
			for _, text := range grants {
				absolute, err := absoluteGrant(text)
				if err != nil {
					return cli.Usagef("--grant %s: %w", text, err)
				}
				m.Grants = append(m.Grants, absolute)
			}
			if _, err := cli.ParseGrants(".", false, m.Grants); err != nil {
				return err
			}
			m.Limits = a.LimitTexts()
			return a.WithPlugins(cmd.Context(), nil, func(p *plugins.Plugins) error {
				module, err := p.Module(cmd.Context(), "", args[0])
				if err != nil {
					return err
				}
				m.Name, m.Version, m.Digest = module.Name, module.Version, module.Info().Digest
				wasm, err := module.Bytes()
				if err != nil {
					return err
				}
				program, err := writeShim(dir, m, wasm)
				if err != nil {
					return fmt.Errorf("writing the plugin: %w", err)
				}
				if a.JSON {
					return a.WriteJSON(map[string]any{"name": m.Name, "version": m.Version, "program": program, "digest": m.Digest, "grants": m.Grants})
				}
				granted := "nothing granted"
				if len(m.Grants) > 0 {
					granted = "granted " + strings.Join(m.Grants, ", ")
				}
				return a.Printf("%s %s: %s, %s\n", m.Name, m.Version, program, granted)
			})
		},
	}
	cmd.Flags().Var(cli.Repeated(&grants), "grant", "grant "+grant.Flags("")+"; can be repeated")
	cmd.Flags().StringVarP(&dir, "output", "o", "", "write the plugin to `DIR`")
	return cmd
}

// absoluteGrant returns a grant whose directory does not depend on the current one.
func absoluteGrant(text string) (string, error) {
	written, err := grant.ParseFlag(text)
	if err != nil || written.Capability != grant.NameFS {
		return text, err
	}
	if written.Scope, err = filepath.Abs(written.Scope); err != nil {
		return "", err
	}
	return written.Flag(), nil
}

// writeShim writes the files of a plugin, the program last, and returns its path.
func writeShim(dir string, m manifest, wasm []byte) (string, error) {
	if m.Name == "" || m.Name != filepath.Base(m.Name) {
		return "", fmt.Errorf("the provider's name %q is not a valid name of a program", m.Name)
	}
	husk, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, pluginPrefix+m.Name)
	m.Module = m.Name + ".wasm"
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", err
	}
	if err := atomicfile.Write(filepath.Join(dir, m.Module), wasm, 0o644); err != nil {
		return "", err
	}
	if err := atomicfile.Write(program+manifestSuffix, append(text, '\n'), 0o644); err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	return program, placeProgram(husk, program)
}

// placeProgram makes a file that is the same program: a link if both are on one file system, else a copy.
func placeProgram(husk, program string) error {
	made := program + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Link(husk, made); err != nil {
		if err := copyProgram(husk, made); err != nil {
			return err
		}
	}
	// If both names are links of one file, renaming does nothing.
	if err := os.Remove(program); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(made, program)
}

func copyProgram(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// PluginArguments returns the arguments of husk for a process that Pulumi has started under the name of a plugin, and false for
// any other process.
func PluginArguments(args []string) ([]string, bool) {
	if len(args) == 0 || !strings.HasPrefix(filepath.Base(args[0]), pluginPrefix) {
		return nil, false
	}
	program, err := os.Executable() // the link or copy, and not its original
	if err != nil || !strings.HasPrefix(filepath.Base(program), pluginPrefix) {
		program = args[0]
	}
	given := []string{"provider", "plugin", strings.TrimSuffix(program, ".exe") + manifestSuffix}
	// Pulumi gives the address of its engine, behind flags for its own logs and traces.
	if len(args) > 1 && !strings.HasPrefix(args[len(args)-1], "-") {
		given = append(given, args[len(args)-1])
	}
	return given, true
}

// providerPlugin is the command that a shim runs.
func (a commands) providerPlugin() *cobra.Command {
	return &cobra.Command{
		Use: "plugin MANIFEST [ENGINE]", Short: "Serve the module of a plugin that husk provider shim has made", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.WithWhole(servesPulumi); err != nil {
				return err
			}
			m, err := readManifest(args[0])
			if err != nil {
				return err
			}
			engine := ""
			if len(args) > 1 {
				engine = args[1]
			}
			grants, err := cli.ParseGrants(".", false, m.Grants)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			o, err := a.PluginOptions()
			if err != nil {
				return err
			}
			if o.Limits, err = plugins.ParseLimits(m.Limits); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			to := &messages{app: a.App}
			o.Events = to.send
			return cli.WithPluginsBy(cmd.Context(), nil, o, func(loader *plugins.Plugins) error {
				path := filepath.Join(filepath.Dir(args[0]), m.Module)
				module, err := loader.PinnedModule(cmd.Context(), m.Name, path, m.Digest)
				if err != nil {
					return fmt.Errorf("the plugin of %s: %w", args[0], err)
				}
				return closing(loader.Served(cmd.Context(), module, grants))(func(p abi.Provider) error {
					return a.serveProvider(cmd.Context(), p, to, engine, 0, func(cli.Served) {})
				})
			})
		},
	}
}

func readManifest(path string) (m manifest, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return m, fmt.Errorf("%s is missing, which says what this plugin serves: make the plugin anew with husk provider shim", path)
	}
	if err != nil {
		return m, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return m, fmt.Errorf("%s cannot be read: %w; make the plugin anew with husk provider shim", path, err)
	}
	if m.Digest == "" || m.Module == "" || m.Module != filepath.Base(m.Module) {
		return m, fmt.Errorf("%s names no module with a digest: make the plugin anew with husk provider shim", path)
	}
	return m, nil
}
