package deploycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/blocking"
	"github.com/husk-dev/husk/internal/display/graphdraw"
	"github.com/husk-dev/husk/internal/display/stackgraph"
	"github.com/husk-dev/husk/internal/display/timeline"
	"github.com/husk-dev/husk/internal/workspace"
)

// drawTimeline has the session record a timeline, and returns the function that writes it at the end.
func (s *session) drawTimeline(file string) (drawn func() error) {
	if file == "" {
		return func() error { return nil }
	}
	recorder := timeline.NewRecorder(nil)
	s.watch = append(s.watch, recorder.Event)
	return func() error {
		var b bytes.Buffer
		err := recorder.Timeline().Write(&b, file)
		if err == nil {
			err = os.WriteFile(file, []byte(s.app.Secrets.In(b.String())), 0o644)
		}
		if err != nil {
			return fmt.Errorf("writing the timeline: %w", err)
		}
		return nil
	}
}

// graphFormats are the formats of graphs, with the endings of files that ask for them.
var graphFormats = []struct {
	name    string
	endings []string
	write   func(*graphdraw.Graph, io.Writer) error
}{
	{"dot", []string{".dot", ".gv"}, (*graphdraw.Graph).WriteDOT},
	{"mermaid", []string{".mmd", ".mermaid"}, (*graphdraw.Graph).WriteMermaid},
	{"svg", []string{".svg"}, func(g *graphdraw.Graph, w io.Writer) error { return g.WriteSVG(w, graphdraw.SVGOptions{}) }},
}

func (a commands) graph() *cobra.Command {
	f := &deployFlags{}
	var preview, providers bool
	var format, file string
	cmd := &cobra.Command{
		Use: "graph", Short: "Draw the resources of the stack and what they depend on",
		Long: "Draw the resources of the stack and their dependencies: an arrow leads from a resource to each of its\n" +
			"dependencies, with the properties that use it. Children are drawn within their parents.\n\n" +
			"--preview draws the resources that the program would make instead, with the update's step for each. The\n" +
			"format follows the name of the file: .svg, .dot (for Graphviz), or .mmd (Mermaid, which Markdown viewers\n" +
			"draw).",
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, err := graphWriter(format, file)
			if err != nil {
				return err
			}
			if err := f.parse(); err != nil {
				return err
			}
			if a.JSON && file == "" {
				return cli.Usagef("husk graph writes no JSON: husk stack export and husk preview do")
			}
			options := stackgraph.Options{Providers: providers}
			var g *graphdraw.Graph
			if preview {
				g, err = a.previewGraph(cmd.Context(), f, options)
			} else {
				g, err = a.stateGraph(cmd.Context(), options)
			}
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := write(g, &b); err != nil {
				return err
			}
			text := []byte(a.Secrets.In(b.String()))
			if file == "" {
				return a.Write(text)
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return fmt.Errorf("writing the graph: %w", err)
			}
			a.Say("Drew %s and %s in %s.", cli.Plural(len(g.Nodes), "resource"), arrows(len(g.Edges)), file)
			return nil
		},
	}
	cmd.Flags().BoolVar(&preview, "preview", false, "draw what the program would make")
	cmd.Flags().BoolVar(&providers, "providers", false, "draw the default providers as well")
	var formats []string
	for _, known := range graphFormats {
		formats = append(formats, known.name)
	}
	cmd.Flags().Var(cli.Choice(&format, formats...), "format", cli.AnyOf(formats)+" (default: by the name of the file, else dot)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file instead of standard output")
	a.AddLimits(cmd.Flags())
	return cmd
}

func arrows(n int) string {
	if n == 1 {
		return "1 dependency"
	}
	return fmt.Sprintf("%d dependencies", n)
}

// graphWriter returns the writer of a graph in a format, or in the format of a file.
func graphWriter(format, file string) (func(*graphdraw.Graph, io.Writer) error, error) {
	var endings []string
	for _, known := range graphFormats {
		if format == known.name {
			return known.write, nil
		}
		for _, ending := range known.endings {
			if format == "" && strings.EqualFold(filepath.Ext(file), ending) {
				return known.write, nil
			}
		}
		endings = append(endings, known.endings[0])
	}
	if file != "" {
		return nil, cli.Usagef("--output %s: the name says no format: end it with %s, or give --format", file, strings.Join(endings, ", "))
	}
	return graphFormats[0].write, nil
}

// stateGraph returns the graph of the resources in the state.
func (a commands) stateGraph(ctx context.Context, o stackgraph.Options) (*graphdraw.Graph, error) {
	w, stack, err := a.CurrentStack(ctx)
	if err != nil {
		return nil, err
	}
	snapshot, _, err := w.Read(ctx, stack, true)
	if missing := (*workspace.NoStackError)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("%w; husk graph --preview draws what the program would make", err)
	}
	if err != nil {
		return nil, err
	}
	o.Title, o.Mark = w.Project.Name+"/"+stack, stackgraph.Mark
	g := stackgraph.OfState(snapshot, o)
	if len(g.Nodes) == 0 {
		a.Say("The stack %s has no resources: husk graph --preview draws what the program would make.", stack)
	}
	return g, nil
}

// previewGraph returns the graph of the resources that the program would make.
func (a commands) previewGraph(ctx context.Context, f *deployFlags, o stackgraph.Options) (*graphdraw.Graph, error) {
	var recorder stackgraph.Recorder
	s := &session{app: a, flags: f, watch: []func(engine.Event){recorder.Event}} // without a display: the graph is the result
	ctx, stop, end := a.WatchInterrupts(ctx, s.interrupted)
	defer end()
	c := command{name: "preview", previewOnly: true, program: true, replaces: true}
	open, err := blocking.Call(ctx, func() (*openRun, error) { return s.open(ctx, c, stop) }, func(o *openRun) { _ = o.close(ctx) })
	if err != nil {
		return nil, err
	}
	_, err = engine.Preview(ctx, open.Deployment, engine.Up{Program: open.Program})
	if err = errors.Join(err, open.close(ctx)); err != nil {
		return nil, err
	}
	return recorder.Graph(o), nil
}
