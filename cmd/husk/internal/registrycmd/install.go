// Package registrycmd has the commands that fetch and publish provider modules.
package registrycmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/plugins/install"
	"github.com/husk-dev/husk/internal/registry"
)

// commands are the commands that fetch and publish modules.
type commands struct{ *cli.App }

// Commands returns the commands about the modules of a project.
func Commands(a *cli.App) []*cobra.Command {
	c := commands{a}
	return []*cobra.Command{c.install(), c.update(), c.vendor()}
}

// ProviderCommands returns the commands about modules in registries.
func ProviderCommands(a *cli.App) []*cobra.Command {
	c := commands{a}
	return []*cobra.Command{c.push(), c.pull(), c.tag(), c.keygen(), c.sign(), c.verify(), c.publish(), c.changes(), c.search()}
}

// installFlags are the flags of commands that write the lock.
type installFlags struct {
	locked, offline, yes bool
}

func (f *installFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.locked, "locked", plugins.IsSet("CI"), "refuse to change husk.lock (default: true if the environment variable CI is set)")
	// The default depends on the environment, and the text of the help does not.
	cmd.Flags().Lookup("locked").DefValue = "false"
	addOffline(cmd, &f.offline)
	cli.AddYes(cmd, &f.yes)
}

func addOffline(cmd *cobra.Command, offline *bool) {
	cmd.Flags().BoolVar(offline, "offline", false, "do not use the network, as with HUSK_OFFLINE=1")
}

func (a commands) install() *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use: "install [SOURCE[@RANGE]...]", Short: "Fetch the providers of the project, and pin them in husk.lock",
		Long: "Fetch the providers that the project lists with a source, and pin their versions and digests in\n" +
			"husk.lock, beside the project file. Providers in the lock are fetched as pinned: husk update looks for\n" +
			"newer versions. If a version asks for more than the locked one, the command shows the difference and\n" +
			"asks.\n\n" +
			"With arguments, it first adds providers to the project file: by the source, such as\n" +
			"oci://ghcr.io/acme/random, or by a name, such as acme/random@^1.2, in the registries that\n" +
			"plugins.registries in the project file or HUSK_REGISTRIES lists. Without arguments, it looks there for\n" +
			"providers that the program uses and the project does not list, and asks whether to add them. If no\n" +
			"registry has a provider, it says how to port it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var found []install.Found
			var err error
			switch {
			case len(args) > 0:
				found, err = a.find(cmd.Context(), f, args)
			case !f.locked:
				found, err = a.findUnlisted(cmd.Context(), f)
			}
			if err != nil {
				return err
			}
			undo, err := a.addProviders(cmd.Context(), found)
			if err != nil {
				return err
			}
			if err := a.run(cmd.Context(), f, install.Options{}, "install"); err != nil {
				return errors.Join(err, undo())
			}
			return nil
		},
	}
	f.add(cmd)
	a.AddLimits(cmd.Flags())
	return cmd
}

func (a commands) update() *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use: "update [NAME...]", Short: "Pin the newest versions of the project's providers that it accepts",
		Long: "Look for the newest versions that the project accepts of all its providers with a source, or of the\n" +
			"named ones, and pin them in husk.lock. If a version asks for more than the locked one, the command shows\n" +
			"the difference and asks.",
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.run(cmd.Context(), f, install.Options{Update: true, Names: names}, "update")
		},
	}
	f.add(cmd)
	a.AddLimits(cmd.Flags())
	return cmd
}

// run installs, and shows the installed providers.
func (a commands) run(ctx context.Context, f *installFlags, o install.Options, command string) error {
	o.Locked = f.locked
	o.Progress = a.progress()
	o.Agree = func(wider []install.Installed) error {
		a.showWider(wider)
		return a.Agree(f.yes, command, "Pin these versions?")
	}
	return a.withProject(ctx, f.offline, func(project *program.Project, p *plugins.Plugins) error {
		all, err := install.Run(ctx, project, p, o)
		if err != nil {
			return err
		}
		return a.show(all)
	})
}

// find finds the providers that arguments name. None may be listed in the project file.
func (a commands) find(ctx context.Context, f *installFlags, args []string) (all []install.Found, err error) {
	if f.locked {
		return nil, cli.Usagef("--locked, which is the default in CI, refuses to change husk.lock: leave out %s, or add --locked=false", args[0])
	}
	err = a.withProject(ctx, f.offline, func(project *program.Project, p *plugins.Plugins) error {
		for _, text := range args {
			from, version := text, ""
			if at := strings.LastIndexByte(text, '@'); at > 0 && !registry.IsGit(text) { // which has a branch, tag, or commit there
				from, version = text[:at], text[at+1:]
			}
			found, err := install.Find(ctx, p, from, version, a.progress())
			if err != nil {
				return err
			}
			if project.Provider(found.Name) != nil {
				return fmt.Errorf("%s lists the provider %s already: husk update %[2]s looks for newer versions", project.File.Name, found.Name)
			}
			all = append(all, found)
		}
		return nil
	})
	return all, err
}

// addProviders lists providers in the project file. undo restores the file, unless it was changed since.
func (a commands) addProviders(ctx context.Context, all []install.Found) (undo func() error, err error) {
	undo = func() error { return nil }
	if len(all) == 0 {
		return undo, nil
	}
	project, err := a.Project(ctx)
	if err != nil {
		return nil, err
	}
	read := func() ([]byte, error) { return project.Root.ReadFile(project.File.Name, source.MaxFileSize) }
	before, err := read()
	if err != nil {
		return nil, err
	}
	var written []byte
	undo = func() error {
		if now, err := read(); err != nil || written != nil && !bytes.Equal(now, written) {
			return err
		}
		a.Say("Restored %s.", project.File.Name)
		return project.Root.WriteFile(project.File.Name, before, 0o644)
	}
	for _, found := range all {
		if err := project.AddProvider(ctx, found.Name, found.Source, found.Version); err != nil {
			return nil, errors.Join(err, undo())
		}
		a.Say("Added %s to %s.", found.Name, project.File.Name)
	}
	written, err = read()
	return undo, err
}

// withProject calls do with the project and its plugins.
func (a commands) withProject(ctx context.Context, offline bool, do func(*program.Project, *plugins.Plugins) error) error {
	project, err := a.Project(ctx)
	if err != nil {
		return err
	}
	o, err := a.PluginOptions()
	if err != nil {
		return err
	}
	o.Offline, o.Interpret = offline, true // modules are asked for names only
	return cli.WithPluginsBy(ctx, project, o, func(p *plugins.Plugins) error { return do(project, p) })
}

// showWider shows what modules ask for beyond what the lock has, as a diff.
func (a commands) showWider(wider []install.Installed) {
	for _, one := range wider {
		version := one.Version
		if one.Was != "" {
			version = one.Was + " -> " + version
		}
		if one.SignerWas != "" {
			a.Say("%s %s is signed by others than the version that husk.lock has:", one.Name, version)
			a.Say("  + %s", cmp.Or(one.Signer, "nobody"))
			a.Say("  - %s", one.SignerWas)
		}
		if one.CommitWas != "" {
			a.Say("%s %s is another commit than husk.lock has, with the same version: the tag was moved.", one.Name, version)
			a.Say("  + %s", one.Commit)
			a.Say("  - %s", one.CommitWas)
		}
		if len(one.Wider) == 0 {
			continue
		}
		a.Say("%s %s asks for more than husk.lock has:", one.Name, version)
		for _, line := range install.RequestLines(one.Wider) {
			a.Say("  + %s", line)
		}
		if len(one.Dropped) > 0 {
			for _, line := range install.RequestLines(one.Dropped) {
				a.Say("  - %s", line)
			}
		}
	}
	a.Say("A module gets only what the project grants it: husk provider audit compares both.")
}

func (a commands) show(all []install.Installed) error {
	changed := false
	for _, one := range all {
		changed = changed || one.Changed
	}
	err := cli.WriteList(a.App, all, "The project lists no provider with a source.", nil, func(one install.Installed) []string {
		state := "as locked"
		switch {
		case one.Was != "":
			state = "was " + one.Was
		case one.Changed:
			state = "new"
		}
		return []string{one.Name, one.Version, state, display.Megabytes(one.Size), one.Source}
	})
	if err != nil || a.JSON || !changed {
		return err
	}
	for _, one := range all {
		if one.Changed {
			a.Say("%s %s asks for %s", one.Name, one.Version, strings.Join(install.RequestLines(one.Requests), ", "))
			if one.Signer != "" {
				a.Say("%s %s is signed by %s", one.Name, one.Version, one.Signer)
			}
		}
	}
	a.Say("Wrote %s.", program.LockFile)
	return nil
}

func (a commands) vendor() *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use: "vendor DIR", Short: "Put the modules that husk.lock pins into a directory, to deploy without a network",
		Long: "Put the modules that husk.lock pins into a directory, an OCI layout that other tools can read as well.\n" +
			"Other contents of the directory stay. A project uses it if its file has the key plugins.vendor, and any\n" +
			"project if HUSK_VENDOR_DIR names it. With HUSK_OFFLINE=1, husk does not use the network to fetch\n" +
			"modules.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withProject(cmd.Context(), offline, func(project *program.Project, p *plugins.Plugins) error {
				all, err := install.Vendor(cmd.Context(), project, p, args[0], a.progress())
				if err != nil {
					return err
				}
				return a.show(all)
			})
		},
	}
	addOffline(cmd, &offline)
	a.AddLimits(cmd.Flags())
	return cmd
}

// progress returns a function that shows transfers that take long; nil for programs.
func (a commands) progress() func(registry.Progress) {
	if a.JSON {
		return nil
	}
	return func(p registry.Progress) {
		what := "fetching " + display.Escape(p.Source)
		if p.Sent {
			what = "sending to " + display.Escape(p.Source)
		}
		if p.Over {
			a.Waiting().End(what, false)
		} else {
			a.Waiting().Transferred(what, p.Moved, p.Size)
		}
	}
}

// isDir reports whether a path is a directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
