// Command programs measures what Husk adds to the run of a Pulumi program: one for Node.js with a thousand
// resources of @pulumi/random, deployed by whole updates. The same program also runs against an engine that answers each request
// at once, which has neither providers nor state. That run's time is the program's own. The two take turns, and the medians are
// compared. On a busy machine, compare the processor times: they count all that the process of Husk does, also the serving of
// requests, which both runs have.
//
//	go run -C bench ./programs [-resources 1000] [-rounds 5] [-modules DIR] [-json]
//
// It needs Node.js, and fetches the SDK with npm, unless -modules names a directory node_modules with the SDK.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/bench/internal/processor"
	"github.com/husk-dev/husk/bench/internal/programs"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram"
)

// mostShare is the largest part of an update that Husk may add to the program's own time.
const mostShare = 0.2

func main() {
	resources := flag.Int("resources", 1000, "number of resources")
	rounds := flag.Int("rounds", 5, "number of updates of each kind")
	modules := flag.String("modules", "", "directory node_modules with @pulumi/pulumi and @pulumi/random; npm installs them if it is not given")
	figures.Main("programs", func(ctx context.Context) ([]figures.Figure, error) {
		return measure(ctx, *resources, *rounds, *modules)
	})
}

const programText = `const random = require("@pulumi/random");
for (let i = 0; i < %d; i++) {
  new random.RandomPet("pet-" + i, { length: 2, keepers: { number: String(i) } });
}
`

func measure(ctx context.Context, resources, rounds int, modules string) (all []figures.Figure, err error) {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := prepare(ctx, dir, resources, modules); err != nil {
		return nil, err
	}
	project, err := automation.Open(ctx, dir, automation.Options{})
	if err != nil {
		return nil, err
	}
	stack, err := project.Stack("dev")
	if err != nil {
		return nil, err
	}
	run := func(o engine.Operation) func() error {
		return func() error {
			var text bytes.Buffer
			if _, err := stack.Run(ctx, o, automation.RunOptions{Progress: &text}); err != nil {
				return fmt.Errorf("%w:\n%s", err, &text)
			}
			return nil
		}
	}
	// The provider is built and compiled once.
	if err := errors.Join(run(engine.Up{})(), run(engine.Destroy{})()); err != nil {
		return nil, err
	}
	var alone, first, unchanged costs
	for range rounds {
		err := errors.Join(
			alone.add(func() error { return answered(ctx, project.File()) }),
			first.add(run(engine.Up{})),
			unchanged.add(run(engine.Up{})),
			run(engine.Destroy{})(),
		)
		if err != nil {
			return nil, err
		}
	}
	own := alone.median(alone.wall)
	all = append(all, figures.Of("the program with an engine that answers at once", own, "s", 0))
	for _, u := range []struct {
		name string
		costs
	}{{"first update", first}, {"update without changes", unchanged}} {
		took := u.median(u.wall)
		all = append(all,
			figures.Of(u.name, took, "s", 0),
			figures.Of(u.name+", Husk's share", (took-own)/took, "of it", mostShare),
			figures.Of(u.name+", processor time of Node.js", u.median(u.node), "s", 0),
			figures.Of(u.name+", processor time of Husk with its provider", u.median(u.husk), "s", mostShare*u.median(u.node)),
		)
	}
	return all, nil
}

// prepare makes the project, with the SDK.
func prepare(ctx context.Context, dir string, resources int, modules string) error {
	provider, err := filepath.Abs(filepath.Join("examples", "providers", "random"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"Pulumi.yaml":  "name: bench\nruntime: nodejs\nplugins:\n  providers:\n    - {name: random, path: " + provider + "}\n",
		"package.json": `{"name": "bench", "main": "index.js", "dependencies": {"@pulumi/pulumi": "3.270.0", "@pulumi/random": "4.21.2"}}`,
		"index.js":     fmt.Sprintf(programText, resources),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return programs.Packages(ctx, dir, modules)
}

// costs are the costs of some runs, in seconds.
type costs struct{ wall, husk, node []float64 }

func (c *costs) add(run func() error) error {
	began, own, children := time.Now(), processor.Own(), processor.Children()
	if err := run(); err != nil {
		return err
	}
	c.wall = append(c.wall, time.Since(began).Seconds())
	c.husk = append(c.husk, (processor.Own() - own).Seconds())
	c.node = append(c.node, (processor.Children() - children).Seconds())
	return nil
}

func (c *costs) median(of []float64) float64 { return figures.Median(of) }

// answered runs the program against an engine that answers at once.
func answered(ctx context.Context, project *program.Project) error {
	var text bytes.Buffer
	p := pulumiprogram.New(project, pulumiprogram.Options{Report: func(d engine.Diagnostic) { fmt.Fprintln(&text, d.Message) }})
	err := p.Run(ctx, abi.RunContext{Project: project.Name, Stack: "dev", Organization: "organization"}, instant{})
	if err = errors.Join(err, p.Finish(ctx)); err != nil {
		return fmt.Errorf("%w:\n%s", err, &text)
	}
	return nil
}

// instant is an engine that answers at once.
type instant struct{ callback.Monitor }

func (instant) RegisterTransformed(_ context.Context, req abi.RegisterResourceRequest, _ ...callback.ResourceTransform) (abi.RegisterResourceResponse, error) {
	resp := abi.RegisterResourceResponse{URN: urn.New("dev", "bench", req.Parent, req.Type, req.Name)}
	if req.Custom {
		resp.ID, resp.State = req.Name, req.Inputs.With("id", property.String(req.Name))
	}
	return resp, nil
}

func (instant) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error { return nil }
