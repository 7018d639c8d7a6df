package pulumicmd

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

func (a *answers) whoami(cmd *cobra.Command, _ []string) error {
	who, err := a.WhoAmI(cmd.Context())
	if err != nil {
		return err
	}
	if !a.JSON {
		return a.Printf("%s\n", who.User)
	}
	return a.WriteJSON(map[string]any{"user": who.User, "organizations": []string{state.Organization}, "url": who.Backend})
}

// noPlugins returns a command that does nothing, because Husk installs no plugins.
func (a *answers) noPlugins(use string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: "Do nothing: the project file lists the providers", RunE: func(*cobra.Command, []string) error {
		a.Say("husk installs no plugins: plugins.providers in the project file lists the providers, which are modules.")
		return nil
	}}
	ignore(cmd.Flags(), false, "server", "checksum", "file")
	ignore(cmd.Flags(), true, "yes", "exact", "reinstall", "all")
	return cmd
}

type pluginInfo struct {
	Name         string `json:"name"`
	Kind         string `json:"kind"`
	Version      string `json:"version"`
	Size         int64  `json:"size"`
	InstallTime  string `json:"installTime,omitempty"`
	LastUsedTime string `json:"lastUsedTime,omitempty"`
}

func (a *answers) listPlugins(cmd *cobra.Command, _ []string) error {
	infos, err := a.plugins(cmd.Context())
	if err != nil {
		return err
	}
	return cli.WriteList(a.App, infos, "The project lists no providers.", []string{"NAME", "KIND", "VERSION", "SIZE"}, func(i pluginInfo) []string {
		return []string{i.Name, i.Kind, i.Version, display.Megabytes(i.Size)}
	})
}

// plugins returns the providers of the project.
func (a *answers) plugins(ctx context.Context) ([]pluginInfo, error) {
	project, err := a.Project(ctx)
	if err != nil {
		return nil, err
	}
	infos := []pluginInfo{}
	err = a.WithPlugins(ctx, project, func(p *plugins.Plugins) error {
		for i := range project.Providers {
			declared := &project.Providers[i]
			audited, err := p.Audit(ctx, declared, nil)
			if err != nil {
				return err
			}
			info := pluginInfo{Name: declared.Name, Kind: "resource", Version: audited.Version}
			if file, err := os.Stat(project.Path(audited.Path)); err == nil {
				at := file.ModTime().UTC().Format(timeLayout)
				info.Size, info.InstallTime, info.LastUsedTime = file.Size(), at, at
			}
			infos = append(infos, info)
		}
		return nil
	})
	return infos, err
}

func (a *answers) about(cmd *cobra.Command, _ []string) error {
	type named struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	}
	told := map[string]any{
		"cliAbout":     map[string]any{"version": program.PulumiVersion, "goVersion": runtime.Version(), "goCompiler": runtime.Compiler},
		"host":         map[string]any{"os": runtime.GOOS, "version": "", "arch": runtime.GOARCH},
		"dependencies": []any{},
	}
	var wrong []string
	who, err := a.WhoAmI(cmd.Context())
	if err == nil {
		told["backend"] = map[string]any{"name": who.Host, "url": who.Backend, "user": who.User, "organizations": []string{state.Organization}}
	} else {
		wrong = append(wrong, err.Error())
	}
	listed := []named{}
	infos, err := a.plugins(cmd.Context())
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, i := range infos {
		listed = append(listed, named{i.Name, i.Version, i.Kind})
	}
	told["plugins"] = listed
	if w, stack, err := a.CurrentStack(cmd.Context()); err == nil {
		told["runtime"] = map[string]any{"language": w.Project.Runtime}
		if snapshot, _, err := w.Read(cmd.Context(), stack, true); err == nil {
			type resource struct {
				Type string `json:"type"`
				URN  string `json:"urn"`
			}
			resources, pending := []resource{}, []resource{}
			for _, r := range snapshot.Resources() {
				resources = append(resources, resource{r.Type, string(r.URN)})
			}
			for _, op := range snapshot.Operations() {
				pending = append(pending, resource{string(op.Type), string(op.Resource.URN)})
			}
			told["currentStack"] = map[string]any{
				"name": stack, "fullyQualifiedName": strings.Join([]string{state.Organization, w.Project.Name, stack}, "/"),
				"resources": resources, "pendingOps": pending,
			}
		}
	}
	told["errors"] = wrong
	if a.JSON {
		return a.WriteJSON(told)
	}
	rows := cli.Rows{}
	rows.Add("version", "v"+program.PulumiVersion+", answered by husk")
	rows.Add("host", runtime.GOOS+"/"+runtime.GOARCH)
	if who != nil {
		rows.Add("backend", who.Backend)
		rows.Add("user", who.User)
	}
	for _, i := range listed {
		rows.Add("provider", strings.TrimSpace(i.Name+" "+i.Version))
	}
	rows.Add("error", wrong...)
	return a.Table(rows)
}
