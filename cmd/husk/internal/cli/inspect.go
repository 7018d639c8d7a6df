package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/display"
	"github.com/husk-dev/husk/cmd/husk/internal/plugins"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
)

// inspection is what inspect tells.
type inspection struct {
	// Kind is provider or policy pack, empty for a module that is neither.
	Kind     string         `json:"kind,omitempty"`
	Name     string         `json:"name,omitempty"`
	Version  string         `json:"version,omitempty"`
	SDK      string         `json:"sdk,omitempty"`
	Digest   string         `json:"digest"`
	Size     int            `json:"size"`
	Memory   uint64         `json:"memory"`
	Manifest *host.Manifest `json:"manifest,omitempty"`
	// Policies are those of a policy pack.
	Policies []engine.PolicyInfo `json:"policies,omitempty"`
	// Requests are the capabilities that the module asks for.
	Requests []host.CapabilityRequest `json:"requests,omitempty"`
	Contents moduleContents           `json:"contents"`
	Imports  []string                 `json:"imports"`
	Exports  []string                 `json:"exports"`
	// Refused is why the module may not run, empty if it may.
	Refused string `json:"refused,omitempty"`
}

// moduleContents is what a module is made of.
type moduleContents struct {
	Functions       int      `json:"functions"`
	Globals         int      `json:"globals"`
	LargestFunction int      `json:"largestFunction"`
	TableElements   int      `json:"tableElements"`
	DataSegments    int      `json:"dataSegments"`
	CustomSections  []string `json:"customSections,omitempty"`
	Start           bool     `json:"start"`
}

func inspectionOf(info host.Info) inspection {
	i := inspection{
		Digest: info.Digest, Size: info.Size, Memory: info.Memory, Manifest: info.Manifest,
		Contents: moduleContents(info.Contents), Exports: info.Exports, Imports: []string{},
	}
	for _, imported := range info.Imports {
		i.Imports = append(i.Imports, imported.Module+" "+imported.Name)
	}
	if info.Manifest != nil {
		i.Kind = info.World.String()
		i.Name, i.Version, i.SDK = info.Manifest.Name, info.Manifest.Version, info.Manifest.SDK
		i.Requests = info.Manifest.Requests
	}
	return i
}

func (a *app) providerInspect() *cobra.Command {
	return &cobra.Command{
		Use: "inspect FILE", Short: "Show what a module is, and what it could ask of the host", Args: arguments(1, 1),
		Long: "Show what a provider or policy pack is made of, what it asks of the host, and why the host would refuse it,\n" +
			"if it would. A module that says nothing about itself is asked, in a sandbox without any rights;\n" +
			"one that is refused is not run.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if refused, err := a.inspectRefused(args[0]); refused || err != nil {
				return err
			}
			return a.withPlugins(cmd.Context(), nil, func(p *plugins.Plugins) error {
				m, err := p.Module(cmd.Context(), "", args[0])
				if err != nil {
					return err
				}
				shown := inspectionOf(m.Info())
				shown.Name, shown.Version, shown.SDK, shown.Requests = m.Name, m.Version, m.SDK, m.Requests
				shown.Kind = m.Info().World.String()
				for _, r := range m.Rules {
					shown.Policies = append(shown.Policies, engine.PolicyInfo{Name: r.Name, Level: r.Level.String(), Description: r.Description})
				}
				return a.writeInspection(shown)
			})
		},
	}
}

// inspectRefused shows the module in a file that the host would refuse. The error then
// says why.
func (a *app) inspectRefused(path string) (refused bool, err error) {
	if stat, err := os.Stat(path); err != nil || !stat.Mode().IsRegular() || stat.Size() > host.MaxModuleSize {
		return false, nil // a directory is built first, and what cannot be read is told by then
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	info, reason := host.Inspect(wasm, host.NewConfig())
	if reason == nil {
		return false, nil
	}
	shown := inspectionOf(info)
	shown.Refused = reason.Error()
	if !errors.Is(reason, host.ErrNotWasm) { // there is something to show
		if err := a.writeInspection(shown); err != nil {
			return true, err
		}
	}
	return true, &host.LoadError{Path: path, Err: reason}
}

func (a *app) writeInspection(i inspection) error {
	if a.json {
		return a.writeJSON(i)
	}
	manifest := "none: husk provider build adds one"
	if i.Manifest != nil {
		manifest = i.Manifest.Name + " " + i.Manifest.Version
	}
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(t, "%s\t%s\n", name, display.Escape(value)) }
	rows := func(name string, values []string) {
		for n, value := range values {
			row([]string{name, ""}[min(n, 1)], value)
		}
	}
	if i.Refused != "" {
		row("refused", i.Refused)
	}
	if i.Kind != "" {
		row(i.Kind, i.Name+" "+i.Version)
	}
	var policies []string
	for _, p := range i.Policies {
		policies = append(policies, fmt.Sprintf("%s (%s): %s", p.Name, p.Level, p.Description))
	}
	rows("policies", policies)
	if i.SDK != "" {
		row("sdk", i.SDK)
	}
	row("manifest", manifest)
	row("digest", i.Digest)
	row("size", megabytes(i.Size))
	row("memory at start", megabytes(int(i.Memory)))
	c := i.Contents
	row("functions", fmt.Sprintf("%d, the largest has %d bytes", c.Functions, c.LargestFunction))
	row("globals", fmt.Sprint(c.Globals))
	row("table elements", fmt.Sprint(c.TableElements))
	row("data segments", fmt.Sprint(c.DataSegments))
	if c.Start {
		row("at the start", "runs code")
	}
	if len(c.CustomSections) > 0 {
		row("custom sections", strings.Join(c.CustomSections, ", "))
	}
	var requests []string
	for _, r := range i.Requests {
		requests = append(requests, requestText(r))
	}
	rows("requests", requests)
	rows("imports", i.Imports)
	rows("exports", i.Exports)
	return writing(t.Flush())
}
