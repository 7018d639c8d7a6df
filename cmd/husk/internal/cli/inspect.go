package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

// inspection is what inspect tells.
type inspection struct {
	// Kind is provider or policy pack, empty for a module that is neither.
	Kind    string `json:"kind,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	SDK     string `json:"sdk,omitempty"`
	Digest  string `json:"digest"`
	Size    int    `json:"size"`
	// Memory is what an instance has at the start, and MemoryLimit what it may have.
	Memory      uint64         `json:"memory"`
	MemoryLimit uint64         `json:"memoryLimit"`
	Manifest    *host.Manifest `json:"manifest,omitempty"`
	// Policies are those of a policy pack.
	Policies []engine.PolicyInfo `json:"policies,omitempty"`
	// Requests are the capabilities that the module asks for.
	Requests []host.CapabilityRequest `json:"requests,omitempty"`
	// Image is nil unless the module was run.
	Image    *baseImage     `json:"image,omitempty"`
	Contents moduleContents `json:"contents"`
	Imports  []string       `json:"imports"`
	Exports  []string       `json:"exports"`
	// Refused are the reasons why the module may not run, none if it may.
	Refused []string `json:"refused,omitempty"`
}

// baseImage tells about the image with which instances begin.
type baseImage struct {
	Made     bool   `json:"made"`
	Prepared bool   `json:"prepared"`
	Reason   string `json:"reason,omitempty"`
}

func (i *baseImage) String() string {
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

// moduleContents is what a module is made of.
type moduleContents struct {
	Functions       int       `json:"functions"`
	Globals         int       `json:"globals"`
	LargestFunction int       `json:"largestFunction"`
	Sections        []section `json:"sections"`
	TableElements   int       `json:"tableElements"`
	DataSegments    int       `json:"dataSegments"`
	CustomSections  []string  `json:"customSections,omitempty"`
	Start           bool      `json:"start"`
	Features        []string  `json:"features,omitempty"`
}

// section is a part of a module's file.
type section struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

func contentsOf(c host.Contents) moduleContents {
	contents := moduleContents{
		Functions: c.Functions, Globals: c.Globals, LargestFunction: c.LargestFunction,
		TableElements: c.TableElements, DataSegments: c.DataSegments, CustomSections: c.CustomSections,
		Start: c.Start, Features: c.Features, Sections: []section{},
	}
	for _, s := range c.Sections {
		contents.Sections = append(contents.Sections, section(s))
	}
	return contents
}

func inspectionOf(info host.Info) inspection {
	i := inspection{
		Digest: info.Digest, Size: info.Size, Memory: info.Memory, MemoryLimit: info.MemoryLimit, Manifest: info.Manifest,
		Contents: contentsOf(info.Contents), Exports: info.Exports, Imports: []string{},
	}
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

func (a *app) providerInspect() *cobra.Command {
	var ask bool
	cmd := &cobra.Command{
		Use: "inspect FILE", Short: "Show what a module contains, and what it can ask of the host", Args: arguments(1, 1),
		Long: "Show what a provider or policy pack contains, what it asks of the host, and every reason for which the\n" +
			"host would refuse it. A module in a file is read, but not run. With --ask, or if it is built from source,\n" +
			"the module is also run in a sandbox without any grant: it reports its name, and the host tests whether\n" +
			"instances can start from a snapshot.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if shown, err := a.inspectFile(args[0], ask); shown || err != nil {
				return err
			}
			return a.withPlugins(cmd.Context(), nil, func(p *plugins.Plugins) error {
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
				shown.Image = (*baseImage)(&image)
				return a.writeInspection(shown)
			})
		},
	}
	cmd.Flags().BoolVar(&ask, "ask", false, "run the module to ask for its name, version, and schema")
	return cmd
}

// inspectFile shows the module in a file, unless it is to be asked, too. The error says
// why it would be refused.
func (a *app) inspectFile(path string, ask bool) (shown bool, err error) {
	limits, err := a.givenLimits()
	if err != nil {
		return false, err
	}
	config, err := plugins.HostConfig(limits)
	if err != nil {
		return false, err
	}
	if stat, err := os.Stat(path); err != nil || !stat.Mode().IsRegular() || stat.Size() > int64(config.ModuleSize()) {
		return false, nil // a directory is built first, and what cannot be read is told by then
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
		found.Kind, found.Refused = "", reasonsOf(reason)
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

// reasonsOf are the reasons of a refusal.
func reasonsOf(refused error) []string {
	reasons := []error{refused}
	if several, ok := errors.AsType[*host.RefusalError](refused); ok {
		reasons = several.Reasons
	}
	var texts []string
	for _, reason := range reasons {
		texts = append(texts, reason.Error())
	}
	return texts
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
	rows("refused", i.Refused)
	if i.Kind != "" {
		name := "the file does not name it: run with --ask"
		if i.Name != "" {
			name = i.Name + " " + i.Version
		}
		row(i.Kind, name)
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
	if i.Kind != "" {
		row("image", i.Image.String())
	}
	row("memory", fmt.Sprintf("%s at the start, at most %s", megabytes(int(i.Memory)), megabytes(int(i.MemoryLimit))))
	c := i.Contents
	var sections []string
	for _, s := range c.Sections {
		sections = append(sections, fmt.Sprintf("%s %d", s.Name, s.Bytes))
	}
	if len(sections) > 0 {
		row("sections", strings.Join(sections, ", ")+" bytes")
	}
	if len(c.Features) > 0 {
		row("features", strings.Join(c.Features, ", "))
	}
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
