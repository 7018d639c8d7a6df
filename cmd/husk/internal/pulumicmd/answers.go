package pulumicmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/stackcmd"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

// timeLayout is that of times in Pulumi's JSON.
const timeLayout = "2006-01-02T15:04:05.000Z"

// change has commands of Husk answer as Pulumi's.
func (a *answers) change() {
	a.find("version").RunE = a.version
	a.orJSON("whoami", a.whoami)
	a.orJSON("stack ls", a.OnStack(a.stacks))
	history := a.orJSON("stack history", a.OnStack(a.history))
	history.Flags().Int("page-size", 0, "")
	history.Flags().Int("page", 0, "")
	ignore(history.Flags(), true, "show-secrets", "full-dates") // there are no secrets in it

	init := a.find("stack init")
	init.Flags().String("secrets-provider", "", "")
	refuse(init.Flags(), "copy-config-from", "copy the file of the other stack's configuration, beside the project file", false)
	before(init, func(cmd *cobra.Command, _ []string) error {
		w, err := a.Workspace(cmd.Context())
		if err != nil {
			return err
		}
		return inTemporary(w)
	})
	a.encrypted(init)
	before(a.find("stack change-secrets-provider"), a.readPassphrase)
	for _, cmd := range []*cobra.Command{a.find("stack rm"), a.find("destroy")} {
		cmd.Flags().Bool("preserve-config", false, "")
		a.removed(cmd)
	}
	name := a.find("stack").Flags().Bool("show-name", false, "")
	ignore(a.find("stack").Flags(), true, "show-ids", "show-secrets")
	show := a.find("stack").RunE
	a.find("stack").RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 || !*name {
			return show(cmd, args)
		}
		_, stack, err := a.CurrentStack(cmd.Context())
		if err != nil {
			return err
		}
		return a.Printf("%s\n", stack)
	}
	cancel := a.find("cancel")
	cancel.Use = "cancel [NAME]"
	before(cancel, func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			a.Stack = args[0]
		}
		return nil
	})
	install := a.find("install")
	ignore(install.Flags(), true, "use-language-version-tools", "no-dependencies", "reinstall")
	without := install.Flags().Bool("no-plugins", false, "")
	run := install.RunE
	install.RunE = func(cmd *cobra.Command, args []string) error {
		if *without {
			a.Say("husk installs no packages of a language: run npm install, or pip install, yourself.")
			return nil
		}
		return run(cmd, args)
	}
	for _, path := range []string{"config", "config get", "config set", "config set-all", "config rm", "config rm-all"} {
		refuse(a.find(path).Flags(), "config-file", noConfigFile, false)
	}
	all := a.find("config set-all")
	text := all.Flags().String("json", "", "")
	set := all.RunE
	all.RunE = func(cmd *cobra.Command, args []string) error {
		if *text == "" {
			return set(cmd, args)
		}
		return a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, _ []string) error {
			return setJSON(ctx, w, c, *text)
		})(cmd, args)
	}
}

// orJSON has a command write another answer with --json.
func (a *answers) orJSON(path string, answer cli.Run) *cobra.Command {
	cmd := a.find(path)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.JSON {
			return answer(cmd, args)
		}
		return run(cmd, args)
	}
	return cmd
}

// setJSON sets what the JSON of pulumi config --json has.
func setJSON(ctx context.Context, w *workspace.Workspace, c *workspace.Config, text string) error {
	var values map[string]struct {
		Value  *string `json:"value"`
		Secret bool    `json:"secret"`
	}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return cli.Usagef("--json: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if v.Value == nil {
			return cli.Usagef("--json: %s has no value: write it with config --json --show-secrets", name)
		}
		key, err := w.Project.ConfigKey(name)
		if err != nil {
			return cli.Usage(err)
		}
		if err := c.Put(ctx, key, nil, *v.Value, v.Secret || c.IsSecret(key)); err != nil {
			return err
		}
	}
	return c.Save()
}

// encrypted has a command that makes a stack choose what encrypts its secrets.
func (a *answers) encrypted(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		chosen := cmd.Flag("secrets-provider").Value.String()
		if chosen == "passphrase" && !slices.ContainsFunc(passphrases, isSet) {
			return errors.New("--secrets-provider passphrase: set the passphrase in PULUMI_CONFIG_PASSPHRASE, or name a file that holds it in PULUMI_CONFIG_PASSPHRASE_FILE")
		}
		if err := run(cmd, args); err != nil || chosen == "" || chosen == "default" || chosen == "passphrase" {
			return err
		}
		a.Stack = args[0]
		change := a.find("stack change-secrets-provider")
		change.SetContext(cmd.Context())
		if err := change.RunE(change, []string{chosen}); err != nil {
			w, stack, again := a.CurrentStack(cmd.Context())
			if again == nil {
				again = w.Remove(cmd.Context(), stack, nil) // which would encrypt in another way than was asked for
			}
			return errors.Join(err, again)
		}
		return nil
	}
}

// passphrases are the variables that give the passphrase of a stack's secrets, which may be empty.
var passphrases = []string{"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "HUSK_CONFIG_PASSPHRASE", "HUSK_CONFIG_PASSPHRASE_FILE"}

func isSet(variable string) bool {
	_, is := os.LookupEnv(variable)
	return is
}

// readPassphrase has the new passphrase of a stack be what Pulumi reads from standard input.
func (a *answers) readPassphrase(_ *cobra.Command, args []string) error {
	if args[0] != "passphrase" || isSet(stackcmd.NewPassphraseVariable) || isSet(stackcmd.NewPassphraseFile) || display.IsTerminal(a.In) {
		return nil
	}
	text, err := a.ReadAll()
	if err != nil || text == "" {
		return err
	}
	return os.Setenv(stackcmd.NewPassphraseVariable, text)
}

// removed has a command that removes a stack remove its configuration, too.
func (a *answers) removed(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			a.Stack = args[0]
		}
		w, stack, err := a.CurrentStack(cmd.Context())
		if err != nil {
			return err
		}
		if err := run(cmd, args); err != nil || !isGone(cmd) {
			return err
		}
		file, err := w.Project.StackConfig(stack)
		if err != nil {
			return err
		}
		if err := w.Project.Root.Remove(file.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the configuration of the stack: %w", err)
		}
		return nil
	}
}

// isGone reports whether the configuration of a stack goes with the flags of a command.
func isGone(cmd *cobra.Command) bool {
	given := func(flag string) bool {
		on, _ := cmd.Flags().GetBool(flag) // which rm lacks some of
		return on
	}
	return !given("preserve-config") && (cmd.Name() == "rm" || given("remove") && !given("preview-only"))
}

func (a *answers) whoami(cmd *cobra.Command, _ []string) error {
	who, err := a.who(cmd.Context())
	if err != nil {
		return err
	}
	return a.WriteJSON(map[string]any{"user": who.User, "organizations": []string{state.Organization}, "url": who.Backend})
}

func (a *answers) who(ctx context.Context) (*workspace.Who, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	return workspace.WhoAmI(ctx, root, a.WorkspaceOptions())
}

// stackSummary is a stack in Pulumi's list.
type stackSummary struct {
	Name             string `json:"name"`
	Current          bool   `json:"current"`
	LastUpdate       string `json:"lastUpdate,omitempty"`
	UpdateInProgress bool   `json:"updateInProgress"`
	ResourceCount    *int   `json:"resourceCount,omitempty"`
}

func (a *answers) stacks(ctx context.Context, w *workspace.Workspace, selected string, _ []string) error {
	summaries := []stackSummary{}
	add := func(name string, current bool, snapshot *state.Snapshot, err error) {
		s := stackSummary{Name: name, Current: current}
		if err != nil {
			a.Say("The stack %s cannot be read: %v", name, err)
		} else {
			n := workspace.CountResources(snapshot)
			s.ResourceCount = &n
			if t := snapshot.Manifest.Time; !t.IsZero() {
				s.LastUpdate = t.UTC().Format(timeLayout)
			}
		}
		summaries = append(summaries, s)
	}
	if a.find("stack ls").Flag("all").Changed {
		names, err := w.Everything(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			snapshot, err := w.ReadAny(ctx, name)
			add(state.Organization+"/"+name.String(), name.Project == w.Project.Name && name.Name == selected, snapshot, err)
		}
		return a.WriteJSON(summaries)
	}
	names, err := w.Stacks(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		snapshot, _, err := w.Read(ctx, name, true)
		add(name, name == selected, snapshot, err)
	}
	return a.WriteJSON(summaries)
}

// kinds are Pulumi's names of what Husk names in another way.
var kinds = map[string]string{"up": "update", "import": "resource-import", "stack rename": "rename", "stack import": "import"}

type updateSummary struct {
	Version         int               `json:"version"`
	Kind            string            `json:"kind"`
	StartTime       string            `json:"startTime"`
	Message         string            `json:"message"`
	Environment     map[string]string `json:"environment"`
	Config          map[string]string `json:"config"`
	Result          string            `json:"result"`
	EndTime         string            `json:"endTime"`
	ResourceChanges map[string]int    `json:"resourceChanges,omitempty"`
}

func (a *answers) history(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
	updates, damaged, err := w.History(ctx, stack)
	if err != nil {
		return err
	}
	if damaged > 0 {
		a.Say("The history of the stack %s is damaged: %s cannot be read.", stack, cli.Plural(damaged, "update"))
	}
	flags := a.find("stack history").Flags()
	size, _ := flags.GetInt("page-size")
	page, _ := flags.GetInt("page")
	if size > 0 {
		size, page = min(size, len(updates)), min(max(page, 1), len(updates)+1) // so that their product is a number
		from := min(len(updates), size*(page-1))
		updates = updates[from:min(len(updates), from+size)]
	}
	summaries := make([]updateSummary, len(updates))
	for i, u := range updates {
		s := updateSummary{
			Version: u.Version, Kind: u.Kind, StartTime: u.Start.UTC().Format(timeLayout), Message: u.Message, Result: u.Result,
			EndTime: u.End.UTC().Format(timeLayout), Environment: map[string]string{}, Config: map[string]string{},
		}
		if kind := kinds[u.Kind]; kind != "" {
			s.Kind = kind
		}
		if c := u.Changes; c != nil {
			s.ResourceChanges = make(map[string]int)
			for op, n := range map[string]int{"create": c.Create, "update": c.Update, "replace": c.Replace, "delete": c.Delete, "same": c.Same, "read": c.Read} {
				if n > 0 {
					s.ResourceChanges[op] = n
				}
			}
		}
		summaries[i] = s
	}
	return a.WriteJSON(summaries)
}

// add adds the commands that only Pulumi has.
func (a *answers) add() {
	plugin := &cobra.Command{Use: "plugin", Short: "List the providers of the project"}
	cli.Group(plugin, nil,
		&cobra.Command{Use: "ls", Short: "List the providers of the project", RunE: a.listPlugins},
		a.noPlugins("install KIND [NAME] [VERSION]"), a.noPlugins("rm KIND [NAME] [VERSION]"))
	about := &cobra.Command{Use: "about", Short: "Show what this husk is, and where the stacks are", RunE: a.about}
	a.root.AddCommand(plugin, about)
	tag := &cobra.Command{Use: "tag", Short: "Show and change the tags of the stack"}
	cli.Group(tag, nil,
		&cobra.Command{Use: "ls", Short: "List the tags", RunE: a.OnStack(a.listTags)},
		&cobra.Command{Use: "get NAME", Short: "Show a tag", RunE: a.OnStack(a.getTag)},
		&cobra.Command{Use: "set NAME VALUE", Short: "Set a tag", RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			value := []byte(args[1])
			return putTag(ctx, w, stack, args[0], &value)
		})},
		&cobra.Command{Use: "rm NAME", Short: "Remove a tag", RunE: a.OnStack(func(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
			return putTag(ctx, w, stack, args[0], nil)
		})})
	a.find("stack").AddCommand(tag)
}

// noPlugins returns a command for plugins, of which Husk has none.
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
		return []string{i.Name, i.Kind, i.Version, cli.Megabytes(i.Size)}
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
	who, err := a.who(cmd.Context())
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

// tagsOf names where the tags of a stack are, beside the values of its providers.
const tagsOf = "pulumi-tags"

// tags returns the tags of a stack: those that were set, and those that Pulumi gives to each.
func tags(ctx context.Context, w *workspace.Workspace, stack string) (map[string]string, error) {
	if _, _, err := w.Read(ctx, stack, true); err != nil {
		return nil, err
	}
	all := map[string]string{"pulumi:project": w.Project.Name, "pulumi:runtime": w.Project.Runtime}
	if w.Project.Description != "" {
		all["pulumi:description"] = w.Project.Description
	}
	store, err := w.Stores(ctx, stack)(tagsOf)
	if err != nil {
		return nil, err
	}
	keys, err := store.Keys(ctx, "", "", mostTags)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		v, err := store.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		all[key] = string(*v.Value)
	}
	return all, nil
}

// mostTags is more than the store has room for.
const mostTags = 1 << 20

func (a *answers) listTags(ctx context.Context, w *workspace.Workspace, stack string, _ []string) error {
	all, err := tags(ctx, w, stack)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(all)
	}
	rows := [][]string{{"NAME", "VALUE"}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []string{name, all[name]})
	}
	return a.Table(rows)
}

func (a *answers) getTag(ctx context.Context, w *workspace.Workspace, stack string, args []string) error {
	all, err := tags(ctx, w, stack)
	if err != nil {
		return err
	}
	value, ok := all[args[0]]
	if !ok {
		return fmt.Errorf("the stack %s has no tag %q", stack, args[0])
	}
	return a.Printf("%s\n", value)
}

// putTag sets a tag, or removes it if there is no value.
func putTag(ctx context.Context, w *workspace.Workspace, stack, name string, value *[]byte) (err error) {
	leased, err := w.LeaseExisting(ctx, stack, "stack tag")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leased.Close(context.WithoutCancel(ctx))) }()
	store, err := w.Stores(ctx, stack)(tagsOf)
	if err != nil {
		return err
	}
	old, err := store.Get(ctx, name)
	if err == nil {
		_, err = store.Put(ctx, name, value, old.Revision)
	}
	return err
}
