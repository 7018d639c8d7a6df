package pulumicmd

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// deploying are the commands that show a deployment as it goes.
const deploying = "up,preview,refresh,destroy,import,watch"

// others are the flags of Pulumi's commands that Husk's lack. The commands are separated by commas, the flags by spaces:
//
//	NAME=FLAG  another name of a flag; a name of one letter is a shorthand
//	NAME       a switch without effect
//	NAME:      a flag without effect that has a value
var others = []struct{ commands, flags string }{
	{deploying, "d=debug"},
	{"up,refresh,destroy", "f=skip-preview"},
	{"up,preview,destroy,watch", "r=refresh"},
	{"preview,refresh,destroy", "x=exclude"},
	{"up,preview,refresh,destroy,import", "m=message"},
	{deploying, "skip-config-validation skip-plugin-pre-install urns coherence-window:"}, // the configuration is always checked
	{"up,preview,refresh,destroy", "remote-env=env remote-env-secret=env"},
	{"up,preview", "neo-task-on-failure show-policy-exceptions"},
	{"refresh", "skip-pending-creates"}, // which Husk does, unless it is told otherwise
	{"watch", "message: m: show-config show-reads show-sames show-replacement-steps"},
	{"import,stack output,config,config get", "j=json"},
	{"import", "generate-resources:"},

	{"stack", "i=show-ids"},
	{"stack ls", "a=all"},
	{"stack import", "f=force"},
	{"stack rm", "f=force"},
	{"state move", "source=stack dest=to"},
	{"state protect,state unprotect,state taint,state untaint,state rename", "yes y=yes"},
	{"config,config get", "open"}, // there are no environments
	{"whoami", "verbose v=verbose"},
	{"stack init", "yes y=yes"},
	{"login", "c=cloud-url default-org: insecure interactive"},
	{"logout", "all delete-credentials-key local l=local cloud-url: c=cloud-url"},
	{"about", "transitive t=transitive"},
	{"new", "yes y=yes generate-only g=generate-only offline o=offline force f=force n=name d=description l=list list-templates=list"},
	{"install", "parallel:"},
	{"stack graph", "ignore-parent-edges ignore-dependency-edges short-node-name dependency-edge-color: parent-edge-color: dot-fragment:"},
	{"plugin install", "f=file parallel:"},
	{"plugin ls", "project p=project"},
	{"plugin rm", "a=all y=yes"},
	{"package gen-sdk", "local out=output"},
}

// without are flags of Pulumi's commands that are refused, with what there is instead. Those that end in a colon have a value.
var without = []struct{ commands, flags, why string }{
	{deploying, "config-file:", noConfigFile},
	{"config,config get,config set,config set-all,config rm,config rm-all", "config-file:", noConfigFile},
	{"up,preview,refresh,destroy,import", "attach-debugger", "husk attaches no debugger to programs"},
	{"up,watch,stack select,new", "secrets-provider:", "husk pulumi stack init NAME --secrets-provider chooses it"},
	{"preview,refresh,destroy,import", "output:", "--json writes JSON"},
	{"up,preview,refresh,destroy", "remote-pre-run-command:", "husk runs no commands at a worker before the program"},
	{"up,preview,refresh,destroy", "remote-executor-image: remote-executor-image-username: remote-executor-image-password: remote-agent-pool-id:",
		"a worker runs where it was started: --label chooses one"},
	{"up,preview,refresh,destroy", "remote-inherit-settings", "a stack has no settings of deployments"},
	{"watch", "policy-pack: policy-pack-config:", "husk up checks with policy packs"},
	{"stack export", "version:", "husk stack restore --list lists earlier states, and husk stack restore brings one back"},
	{"stack init", "teams: remote-config esc-config", "a server of Husk has teams, and configuration is beside the project file"},
	{"stack ls", "organization: project: tag: o: p: t:", "it lists the stacks of this project, and with --all those of all projects"},
	{"stack rm", "remove-backups", "earlier states of a stack stay where its state was: remove them there"},
	{"state move", "include-parents", "name the parents, too"},
	{"login", "credential-helper-arg: oidc-token: oidc-org: oidc-team: oidc-user: oidc-expiration:", "husk login URL names a place of stacks, or a server of Husk"},
	{"new", "ai: template-mode: runtime-options: remote-stack-config t:", "a template is the path of its directory"},
	{"config set", "type:", "the project file declares the types of keys"},
	{"config set,config set-all", "override-import", "there are no environments"},
	{"watch", "config: c: config-path", "husk config set KEY VALUE sets it before"},
	{"package add", "language: server:", "the SDK of a package is installed as any other of its language"},
	{"package info", "module: m: resource: r: function: f:", "the second argument names a type or function"},
	{"package get-schema,package info", "server:", "the project file lists the providers"},
	{"package gen-sdk", "overlays: version: server:", "the SDK is generated from the schema alone"},
}

// aliases are the names that commands have in Pulumi, too.
var aliases = map[string][]string{
	"up": {"update"}, "preview": {"pre"}, "destroy": {"down", "dn"}, "new": {"create", "setup"},
	"stack init": {"new", "create", "setup"}, "stack ls": {"list"}, "stack rm": {"remove", "delete"}, "stack history": {"hist"},
	"stack tag ls": {"list"}, "stack tag rm": {"remove", "delete"}, "plugin ls": {"list"}, "plugin rm": {"remove", "delete"},
	"config rm": {"remove", "delete"}, "config rm-all": {"remove-all", "delete-all"},
}

// flags adds the names and flags of Pulumi's commands that Husk's lack.
func (a *answers) flags() {
	a.root.RemoveCommand(a.find("update")) // which is another name of up
	for path, names := range aliases {
		a.find(path).Aliases = names
	}
	for _, o := range others {
		for path := range strings.SplitSeq(o.commands, ",") {
			cmd := a.find(path)
			for flag := range strings.FieldsSeq(o.flags) {
				name, valued := strings.CutSuffix(flag, ":")
				if name, to, is := strings.Cut(name, "="); is {
					alike(cmd, name, to)
				} else {
					ignore(cmd.Flags(), !valued, name)
				}
			}
		}
	}
	for _, w := range without {
		for path := range strings.SplitSeq(w.commands, ",") {
			for flag := range strings.FieldsSeq(w.flags) {
				name, valued := strings.CutSuffix(flag, ":")
				refuse(a.find(path).Flags(), name, w.why, !valued)
			}
		}
	}
}

// another is the value of a flag that is another name of one.
type another struct {
	of    *pflag.Flag
	flags *pflag.FlagSet
}

func (a another) String() string        { return "" }
func (a another) Type() string          { return a.of.Value.Type() }
func (a another) Set(text string) error { return a.flags.Set(a.of.Name, text) }

// alike adds another name of a flag of a command.
func alike(cmd *cobra.Command, name, flag string) {
	of := cmd.Flags().Lookup(flag)
	if of == nil {
		of = cmd.Root().PersistentFlags().Lookup(flag)
	}
	cmd.Flags().VarP(another{of, cmd.Flags()}, name, shorthand(name), "")
	added := cmd.Flags().Lookup(name)
	added.NoOptDefVal, added.Hidden = of.NoOptDefVal, true
}

// shorthand returns the name of a flag if it has one letter.
func shorthand(name string) string {
	if len(name) == 1 {
		return name
	}
	return ""
}
