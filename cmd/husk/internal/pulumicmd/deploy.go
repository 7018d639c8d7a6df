package pulumicmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/pulumi"
	"github.com/husk-dev/husk/internal/workspace"
)

// ofDeployments are flags of deployments without effect: what they choose is shown in Husk's way.
var ofDeployments = []string{
	"suppress-outputs", "suppress-progress", "suppress-permalink", "show-config", "show-reads", "show-sames", "show-replacement-steps",
	"show-secrets", "show-full-output", "show-policy-remediations", "strict", "neo", "copilot",
}

// deploys are the flags of one command that deploys.
type deploys struct {
	*answers
	log, client, message string
	config, pending      []string
	path, document       bool
	repository
}

func (a *answers) deployments() {
	for _, name := range []string{"up", "preview", "refresh", "destroy", "import"} {
		cmd, d := a.find(name), &deploys{answers: a}
		flags := cmd.Flags()
		ignore(flags, true, ofDeployments...)
		flags.StringVar(&d.log, "event-log", "", "")
		flags.Lookup("verbose").Value, flags.Lookup("verbose").NoOptDefVal = ignored{}, ""
		if name == "import" {
			flags.StringVar(&d.message, "message", "", "")
			flags.Lookup("generate-code").Value, flags.Lookup("generate-code").NoOptDefVal = written{flags.Lookup("generate-code").Value}, "true"
			flags.Lookup("from").Value = converter{flags.Lookup("from").Value}
		} else {
			flags.StringVar(&d.client, "client", "", "")
			flags.BoolVarP(&d.document, "json", "j", false, "")
		}
		if name != "import" {
			flags.VarP(cli.Repeated(&d.config), "config", "c", "")
			flags.BoolVar(&d.path, "config-path", false, "")
		}
		switch name {
		case "up", "preview":
			flags.Var(runs{}, "run-program", "")
			flags.Lookup("run-program").NoOptDefVal = "true"
		case "refresh":
			flags.Var(cli.Repeated(&d.pending), "import-pending-creates", "")
		}
		before(cmd, d.begin)
		if flags.Lookup("remote") != nil {
			d.ofRepository(cmd)
		}
	}
}

// begin does what the flags say.
func (d *deploys) begin(cmd *cobra.Command, _ []string) error {
	a, flags := d.answers, cmd.Flags()
	w, _, err := a.CurrentStack(cmd.Context())
	if err == nil {
		err = inTemporary(w)
	}
	if err != nil {
		return err
	}
	if flag := flags.Lookup("message"); flag.Changed && !flags.Changed("remote") {
		d.message, flag.Changed = flag.Value.String(), false
	}
	a.Pulumi.Message = d.message
	if skip := flags.Lookup("skip-preview"); skip != nil && skip.Value.String() == "true" { // without a preview, Pulumi asks nothing
		if err := flags.Set("yes", "true"); err != nil {
			return err
		}
	}
	if a.debug {
		if err := flags.Set("log-level", "debug"); err != nil {
			return err
		}
	}
	if d.client != "" {
		a.Parts.Pulumi = pulumi.Host{Client: d.client}
	}
	for i := 0; i < len(d.pending); i += 2 {
		if i+1 == len(d.pending) {
			return cli.Usagef("--import-pending-creates %s: has no ID behind it", d.pending[i])
		}
		if err := flags.Set("adopt-pending-creates", d.pending[i]+"="+d.pending[i+1]); err != nil {
			return err
		}
	}
	if len(d.config) > 0 {
		err := a.OnConfig(func(ctx context.Context, w *workspace.Workspace, c *workspace.Config, _ []string) error {
			return setConfig(ctx, w, c, d.config, d.path)
		})(cmd, nil)
		if err != nil {
			return err
		}
	}
	if d.log != "" {
		out, err := openLog(d.log)
		if err != nil {
			return fmt.Errorf("--event-log: %w", err)
		}
		a.Pulumi.Followers = append(a.Pulumi.Followers, &eventLog{app: a.App, out: out, debug: a.debug})
	}
	if d.document {
		a.Pulumi.Followers, a.Pulumi.Document = append(a.Pulumi.Followers, &document{app: a.App}), true
	}
	return nil
}

// runs is the value of --run-program where the program always runs.
type runs struct{}

func (runs) String() string { return "" }
func (runs) Type() string   { return "bool" }

func (runs) Set(text string) error {
	if text == "false" {
		return errors.New("an update does what the program says: refresh and destroy go without it")
	}
	return nil
}

// written takes Pulumi's values of --generate-code.
type written struct{ pflag.Value }

func (w written) Set(text string) error {
	switch text {
	case "true":
		text = "yaml"
	case "false":
		text = "none"
	}
	return w.Value.Set(text)
}

// converter takes Pulumi's names of tools.
type converter struct{ pflag.Value }

func (c converter) Set(text string) error {
	if text == "terraform" {
		text = "tfstate"
	}
	return c.Value.Set(text)
}
