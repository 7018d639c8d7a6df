package providercmd

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

type inspection struct {
	// Kind is provider or policy pack, empty for a module that is neither.
	Kind    string `json:"kind,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	SDK     string `json:"sdk,omitempty"`
	Digest  string `json:"digest"`
	Size    int    `json:"size"`
	// Memory is of an instance at its start, MemoryLimit the most that it may have.
	Memory      uint64         `json:"memory"`
	MemoryLimit uint64         `json:"memoryLimit"`
	Manifest    *host.Manifest `json:"manifest,omitempty"`
	// Policies are the policies of a policy pack.
	Policies []engine.PolicyInfo `json:"policies,omitempty"`
	// Requests are the capabilities that the module asks for.
	Requests []host.CapabilityRequest `json:"requests,omitempty"`
	// Image is nil unless the module was run.
	Image    *host.BaseImage `json:"image,omitempty"`
	Contents host.Contents   `json:"contents"`
	Imports  []string        `json:"imports"`
	Exports  []string        `json:"exports"`
	// Refused are the reasons why the module may not run, none if it may.
	Refused []string `json:"refused,omitempty"`
}

// imageText says what instances start from.
func imageText(i *host.BaseImage) string {
	var text string
	switch {
	case i == nil:
		return "run with --ask to learn whether instances start from a snapshot"
	case i.Made && i.Reason == "":
		return "instances start from a snapshot"
	case i.Made:
		text = "instances start from a snapshot of the runtime, and run their own start-up"
	default:
		text = "none: instances start from scratch"
	}
	if i.Reason != "" {
		text += ", because " + i.Reason
	}
	return text
}

func inspectionOf(info host.Info) inspection {
	i := inspection{
		Digest: info.Digest, Size: info.Size, Memory: info.Memory, MemoryLimit: info.MemoryLimit, Manifest: info.Manifest,
		Contents: info.Contents, Exports: info.Exports, Imports: []string{},
	}
	i.Contents.Sections = append([]host.Section{}, info.Contents.Sections...)
	for _, imported := range info.Imports {
		i.Imports = append(i.Imports, imported.Module+" "+imported.Name)
	}
	i.Kind = info.World.String()
	if info.Manifest != nil {
		i.Name, i.Version, i.SDK = info.Manifest.Name, info.Manifest.Version, info.Manifest.SDK
		i.Requests = info.Manifest.Requests
	}
	return i
}

func (a commands) providerInspect() *cobra.Command {
	var ask bool
	cmd := &cobra.Command{
		Use: "inspect FILE", Short: "Show what a module contains, and what it can ask of the host",
		Long: "Show the contents of a provider or policy pack, its requests to the host, and every reason why the host\n" +
			"would refuse it. A module in a file is read, but not run. With --ask, or if it is built from source, the\n" +
			"module is also run in a sandbox without any grant: it reports its name, and the host tests whether\n" +
			"instances can start from a snapshot.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if shown, err := a.inspectFile(args[0], ask); shown || err != nil {
				return err
			}
			return a.WithPlugins(cmd.Context(), nil, func(p *plugins.Plugins) error {
				m, err := p.Module(cmd.Context(), "", args[0])
				if err != nil {
					return err
				}
				info, err := m.Inspect()
				if err != nil {
					return err
				}
				shown := inspectionOf(info)
				shown.Name, shown.Version, shown.SDK, shown.Requests = m.Name, m.Version, m.SDK, m.Requests
				for _, r := range m.Rules {
					shown.Policies = append(shown.Policies, engine.PolicyInfo{Name: r.Name, Level: r.Level.String(), Description: r.Description})
				}
				image, err := m.BaseImage(cmd.Context())
				if err != nil {
					return err
				}
				shown.Image = &image
				return a.writeInspection(shown)
			})
		},
	}
	cmd.Flags().BoolVar(&ask, "ask", false, "run the module to ask for its name, version, and schema")
	return cmd
}

// inspectFile shows the module in a file, unless the module must run for that. The error says why the
// host would refuse it.
func (a commands) inspectFile(path string, ask bool) (shown bool, err error) {
	limits, err := a.GivenLimits()
	if err != nil {
		return false, err
	}
	config, err := plugins.HostConfig(limits)
	if err != nil {
		return false, err
	}
	if stat, err := os.Stat(path); err != nil || !stat.Mode().IsRegular() || stat.Size() > int64(config.ModuleSize()) {
		return false, nil // a directory is built first, and loading reports what cannot be read
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	info, reason := host.Inspect(wasm, config)
	if reason == nil && ask {
		return false, nil
	}
	found := inspectionOf(info)
	if reason != nil {
		reasons := []error{reason}
		if several, ok := errors.AsType[*host.RefusalError](reason); ok {
			reasons = several.Reasons
		}
		found.Kind = ""
		for _, reason := range reasons {
			found.Refused = append(found.Refused, reason.Error())
		}
	}
	if !errors.Is(reason, host.ErrNotWasm) { // there is something to show
		if err := a.writeInspection(found); err != nil {
			return true, err
		}
	}
	if reason != nil {
		return true, config.Refused(path, reason)
	}
	return true, nil
}

// sourceOf returns the name of the source that a module was ported from.
func sourceOf(o *host.Origin) string {
	if o.Version == "" {
		return o.Module
	}
	return o.Module + "@" + o.Version
}

// addOrigin adds what a module was ported from.
func addOrigin(r *cli.Rows, o *host.Origin) {
	if o == nil {
		return
	}
	r.Add("ported from", sourceOf(o), o.Checksum)
	r.Add("licences", strings.Join(o.Licences, ", "))
	r.Add("kind", o.Kind)
	r.Add("compiled by", o.Go)
	r.Add("shims", strings.Join(o.Shims, ", "))
	r.Add("raised", o.Raised...)
	r.Add("only", o.Only...)
}

func (a commands) writeInspection(i inspection) error {
	if a.JSON {
		return a.WriteJSON(i)
	}
	manifest := "none: husk provider build adds one"
	if i.Manifest != nil {
		manifest = i.Manifest.Name + " " + i.Manifest.Version
	}
	var rows cli.Rows
	rows.Add("refused", i.Refused...)
	if i.Kind != "" {
		name := "the file does not name it: run with --ask"
		if i.Name != "" {
			name = i.Name + " " + i.Version
		}
		rows.Add(i.Kind, name)
	}
	var policies []string
	for _, p := range i.Policies {
		policies = append(policies, fmt.Sprintf("%s (%s): %s", p.Name, p.Level, p.Description))
	}
	rows.Add("policies", policies...)
	rows.Add("sdk", i.SDK)
	rows.Add("manifest", manifest)
	if i.Manifest != nil {
		addOrigin(&rows, i.Manifest.Origin)
	}
	rows.Add("digest", i.Digest)
	rows.Add("size", display.Megabytes(i.Size))
	if i.Kind != "" {
		rows.Add("image", imageText(i.Image))
	}
	rows.Add("memory", fmt.Sprintf("%s at the start, at most %s", display.Megabytes(i.Memory), display.Megabytes(i.MemoryLimit)))
	c := i.Contents
	var sections []string
	for _, s := range c.Sections {
		sections = append(sections, fmt.Sprintf("%s %d", s.Name, s.Bytes))
	}
	if len(sections) > 0 {
		rows.Add("sections", strings.Join(sections, ", ")+" bytes")
	}
	rows.Add("features", strings.Join(c.Features, ", "))
	rows.Add("functions", fmt.Sprintf("%d, the largest has %d bytes", c.Functions, c.LargestFunction))
	rows.Add("globals", fmt.Sprint(c.Globals))
	rows.Add("table elements", fmt.Sprint(c.TableElements))
	rows.Add("data segments", fmt.Sprint(c.DataSegments))
	if c.Start {
		rows.Add("at the start", "runs code")
	}
	rows.Add("custom sections", strings.Join(c.CustomSections, ", "))
	var requests []string
	for _, r := range i.Requests {
		requests = append(requests, requestText(r))
	}
	rows.Add("requests", requests...)
	rows.Add("imports", i.Imports...)
	rows.Add("exports", i.Exports...)
	return a.Table(rows)
}
