package providercmd

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/plugins"
)

// servesPulumi names the part that commands for the Pulumi CLI need.
const servesPulumi = "Pulumi's provider protocol"

func (a commands) providerServe() *cobra.Command {
	var f askFlags
	var port int
	cmd := &cobra.Command{
		Use: "serve FILE|NAME", Short: "Serve a provider to the Pulumi CLI at a port",
		Long: "Serve a provider over Pulumi's provider protocol at a port of this machine, until it is interrupted. The\n" +
			"command writes the port in a line of its own. Pulumi uses the provider if the environment variable\n" +
			"PULUMI_DEBUG_PROVIDERS names it, as in random:41234. The provider runs in its sandbox, with the grants\n" +
			"of --grant or, for a provider of the project, of the project file. It has one configuration; a plugin of\n" +
			"husk provider shim can have several.\n\n" +
			"Each program on this machine can reach the port. Values that the provider stores with the grant kv are discarded.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if port < 0 || port > 65535 {
				return cli.Usagef("--port %d: must be 0, for a free port, to 65535", port)
			}
			if err := a.WithWhole(servesPulumi); err != nil {
				return err
			}
			messages := &messages{app: a.App}
			f.events = messages.send
			grants, _, _, err := f.parse()
			if err != nil {
				return err
			}
			served := func(p abi.Provider) error {
				return a.serveProvider(cmd.Context(), p, messages, "", port, func(s cli.Served) {
					_, port, _ := net.SplitHostPort(s.Address())
					a.Say("Run Pulumi with PULUMI_DEBUG_PROVIDERS=%s:%s", s.ProviderName(), port)
				})
			}
			project, err := a.projectOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if project != nil {
				return a.openProvider(cmd.Context(), args[0], &f, func(p *calledProvider) error { return served(p.Provider) })
			}
			o, err := a.PluginOptions()
			if err != nil {
				return err
			}
			o.Events = messages.send
			return cli.WithPluginsBy(cmd.Context(), nil, o, func(loader *plugins.Plugins) error {
				m, err := loader.Module(cmd.Context(), "", args[0])
				if err != nil {
					return err
				}
				return closing(loader.Served(cmd.Context(), m, grants))(served)
			})
		},
	}
	cmd.Flags().Var(cli.Repeated(&f.grants), "grant", "grant "+grant.Flags("")+"; can be repeated")
	cmd.Flags().IntVar(&port, "port", 0, "the port (default: a free one)")
	return cmd
}

// closing returns a function that uses an opened provider, and closes it.
func closing(p abi.Provider, err error) func(use func(abi.Provider) error) error {
	return func(use func(abi.Provider) error) error {
		if err != nil {
			return err
		}
		return errors.Join(use(WithContents(p)), abi.Close(p))
	}
}

// serveProvider serves a provider until an interrupt, or until the engine with an address is gone.
func (a commands) serveProvider(ctx context.Context, p abi.Provider, to *messages, engine string, port int, begun func(cli.Served)) error {
	s, err := a.Parts.Serve(ctx, p, engine, port)
	if err != nil {
		return err
	}
	defer s.Close()
	to.served.Store(&s)
	_, text, err := net.SplitHostPort(s.Address())
	if err != nil {
		return err
	}
	stop, end := a.OnInterrupt()
	defer end()
	if err := a.Printf("%s\n", text); err != nil {
		return err
	}
	begun(s)
	gone := make(chan struct{})
	if engine != "" {
		watching, cancel := context.WithCancel(ctx)
		defer cancel()
		go awaitGone(watching, engine, gone)
	}
	select {
	case <-stop:
	case <-gone:
	case <-ctx.Done():
	}
	return nil
}

const (
	// watchInterval is how often a plugin looks whether its engine is there. One that was killed leaves it behind.
	watchInterval = time.Second
	// watchTries is how many of these may fail.
	watchTries = 3
)

// awaitGone closes gone when nothing listens at an address any more.
func awaitGone(ctx context.Context, address string, gone chan<- struct{}) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for failed := 0; failed < watchTries; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		conn, err := net.DialTimeout("tcp", address, watchInterval)
		if err != nil {
			failed++
			continue
		}
		failed = 0
		_ = conn.Close() // it was there
	}
	close(gone)
}

// messages takes what a provider logs to Pulumi, and to standard error while there is none.
type messages struct {
	app    *cli.App
	served atomic.Pointer[cli.Served]
}

func (m *messages) send(e engine.Event) {
	d, ok := e.(engine.Diagnostic)
	s := m.served.Load()
	if !ok || s == nil || !(*s).Log(abi.LogEntry{Severity: severityOf(d.Severity), Message: d.Message, URN: d.URN, Ephemeral: d.Ephemeral}) {
		m.app.SayEvent(e)
	}
}

func severityOf(name string) abi.LogSeverity {
	switch name {
	case "debug":
		return abi.LogSeverityDebug
	case "warning":
		return abi.LogSeverityWarning
	case "error":
		return abi.LogSeverityError
	default:
		return abi.LogSeverityInfo
	}
}
