// Package yamlprogram runs programs in the syntax of Pulumi YAML against the engine's resource
// monitor.
//
// A run checks the whole program against the schemas of its packages, including the packages that parameters make, and reports
// all errors. Then it registers each resource when the resources that it refers to are done, independent ones at the same time.
//
// A value that was computed from a resource carries the resource's URN. A value computed from a secret
// is secret, and a value that a preview does not know is unknown.
package yamlprogram

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/derivation"
	"github.com/husk-dev/husk/engine/program/yamlprogram/internal/measure"
)

// Schemas says what packages offer. It may be called concurrently.
type Schemas interface {
	// Package returns the schema of a package, nil if it has none: then programs are not checked. With parameters, it is the
	// schema of the package that they make. The error is [ErrUnknownPackage] if there is no provider of the name of the source.
	Package(ctx context.Context, pkg program.Package) (*schema.Package, error)
}

// ErrUnknownPackage says that there is no provider for a package.
var ErrUnknownPackage = errors.New("unknown package")

// Program is a program written in YAML. It can be run any number of times.
type Program struct {
	project *program.Project
	// warn receives the warnings of the first run, nil for nobody.
	warn func(source.Diagnostic)
	// warned and doubted are for the warnings that are told before the run, and after it.
	warned, doubted sync.Once
	// deprecations has the [deprecated] that were found.
	deprecations sync.Map
	schemas      Schemas
	// limits bound the evaluation of each run, and of each check.
	limits budget.Limits
	// previewed is what the last preview has compiled.
	previewed atomic.Pointer[previewed]
}

// previewed is a compilation, with the budget as it was before the evaluation. The update after a preview goes on with it.
type previewed struct {
	run    abi.RunContext
	c      *compilation
	budget *budget.Budget
}

// New returns the program of a project. If the project is not trusted, the program reads only its files and public URLs.
func New(project *program.Project, schemas Schemas) *Program {
	return &Program{project: project, schemas: schemas}
}

// Pure implements [engine.Pure]: whether a run is a preview counts for failures and unknown values alone.
func (p *Program) Pure() {}

// Limit bounds what the evaluation of a run, or a check, may take. Without it, the defaults of [budget.Limits] do. The
// error of a run that takes more has a [*budget.ExceededError].
func (p *Program) Limit(limits budget.Limits) {
	p.limits = limits
	p.previewed.Store(nil)
}

// OnWarning has the first run call f with the warnings about the program.
func (p *Program) OnWarning(f func(source.Diagnostic)) { p.warn = f }

// deprecated is the reason why something of a resource or function should not be used any more.
type deprecated struct{ token, why string }

// Repeats reports whether the warning of a provider about a resource of a type says what a warning about the program has said
// before.
func (p *Program) Repeats(token, warning string) bool {
	repeats := false
	p.deprecations.Range(func(key, _ any) bool {
		d := key.(deprecated)
		repeats = d.token == token && strings.Contains(warning, strings.TrimSpace(d.why))
		return !repeats
	})
	return repeats
}

// Check returns all that is wrong with the program without running it, or the context's error.
func (p *Program) Check(ctx context.Context, run abi.RunContext) (source.Diagnostics, error) {
	c, ds, err := p.compile(ctx, run, nil)
	c.budget.Close()
	return append(ds, c.doubtful...), err
}

// Validate is Check for a program whose configuration is not all known. The values of the keys in unknown, and of declared
// keys that the run has no value for, may be any of their types.
func (p *Program) Validate(ctx context.Context, run abi.RunContext, unknown []string) (source.Diagnostics, error) {
	set := make(map[string]bool, len(run.Config))
	for _, e := range run.Config {
		set[e.Key] = true
	}
	for _, d := range p.project.Config {
		if d.Default.IsNull() && !set[d.Key] {
			unknown = append(unknown, d.Key)
		}
	}
	c, ds, err := p.compile(ctx, run, unknown)
	c.budget.Close()
	return append(ds, c.doubtful...), err
}

// compileOnce returns the compilation for a run. The update after a preview reuses the preview's.
func (p *Program) compileOnce(ctx context.Context, run abi.RunContext) (*compilation, source.Diagnostics, error) {
	update := run
	update.DryRun = false
	if before := p.previewed.Swap(nil); before != nil && reflect.DeepEqual(before.run, run) {
		c := *before.c
		c.run, c.budget, c.packages.refs = run, before.budget.Fork(ctx), map[string]string{}
		own := *c.template // its report becomes the run's
		c.template = &own
		return &c, nil, ctx.Err() // the preview has told the warnings
	}
	c, ds, err := p.compile(ctx, run, nil)
	if run.DryRun && err == nil && !ds.HasErrors() && len(c.components) == 0 { // components know the run that they are compiled for
		p.previewed.Store(&previewed{update, c, c.budget.Fork(ctx)})
	}
	return c, ds, err
}

// Run checks the program, registers its packages and resources, and then the stack's outputs. It
// returns when every registration has ended. After a failure nothing new is begun, but a preview goes on with nodes that do not
// need the failed resource. The error then is [source.Diagnostics].
func (p *Program) Run(ctx context.Context, run abi.RunContext, monitor abi.Monitor) (err error) {
	c, ds, err := p.compileOnce(ctx, run)
	defer func() { c.budget.Close() }() // it reports the charges, also of an interrupted evaluation
	if err != nil {
		return err
	}
	if err := ds.Err(); err != nil {
		return err
	}
	p.warned.Do(func() { p.tell(ds) })
	defer func() {
		p.doubted.Do(func() { p.tell(withoutErrors(c.doubtful, err)) })
	}()
	c.report = &source.Report{File: c.report.File, Budget: c.budget} // without the warnings, which are told
	if err := c.registerPackages(ctx, monitor); err != nil {
		return err
	}
	stack, err := monitor.RegisterResource(ctx, abi.RegisterResourceRequest{
		Type: urn.RootType, Name: run.Project + "-" + run.Stack,
	})
	if err != nil {
		return fmt.Errorf("register the stack: %w", err)
	}
	e := &evaluator{ctx: ctx, c: c, scope: newScope(len(c.resources)), monitor: monitor, budget: c.budget, components: new(atomic.Int64)}
	e.scope.set(pulumiName, c.pulumi)
	d := &deployment{evaluator: e, stack: stack.URN, status: make([]status, len(c.graph.nodes))}
	if err := d.registerActions(); err != nil {
		return err
	}
	d.runAll()
	if err := d.problems(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	outputs := d.outputs()
	if err := d.problems(); err != nil {
		return err
	}
	if err := monitor.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: stack.URN, Outputs: outputs.Lower(property.KindOutput)}); err != nil {
		return fmt.Errorf("register the stack's outputs: %w", err)
	}
	return nil
}

func (p *Program) tell(warnings source.Diagnostics) {
	for _, d := range warnings {
		if p.warn != nil {
			p.warn(d)
		}
	}
}

// withoutErrors leaves out the warnings about lines that an error is about, too.
func withoutErrors(warnings source.Diagnostics, err error) source.Diagnostics {
	problems, _ := errors.AsType[source.Diagnostics](err)
	return slices.DeleteFunc(warnings, func(d source.Diagnostic) bool {
		return slices.ContainsFunc(problems, func(x source.Diagnostic) bool { return x.File == d.File && x.Line == d.Line })
	})
}

type status uint8

const (
	pending status = iota
	done
	// missing is a resource that failed, or was skipped, in a deployment that goes on. Its users are registered with unknown
	// values: the deployment knows of it.
	missing
	// skipped is a resource that a preview leaves out, because it uses a failed one.
	skipped
	failed
)

type deployment struct {
	*evaluator
	stack urn.URN
	// status has an element for each node. Only the goroutine of runAll uses it.
	status []status
	// acting has the resources with actions, by their URN.
	acting sync.Map
}

// runAll runs each node when the nodes that it uses are done, as many at once as allowed.
func (d *deployment) runAll() {
	type result struct {
		node   int
		status status
	}
	g := d.c.graph
	waiting, users := make([]int, len(g.nodes)), make([][]int, len(g.nodes))
	for i, n := range g.nodes {
		waiting[i] = len(n.uses)
		for _, used := range n.uses {
			users[used] = append(users[used], i)
		}
	}
	var ready []int
	for _, i := range g.order {
		if waiting[i] == 0 {
			ready = append(ready, i)
		}
	}
	limit := int(d.c.run.Parallel)
	// A goroutine runs many nodes: growing a new stack takes as long as half of an unchanged node.
	jobs, results := make(chan int), make(chan result)
	defer close(jobs)
	work := func() {
		for i := range jobs {
			results <- result{i, d.runNode(g.nodes[i])}
		}
	}
	running, workers, stopped := 0, 0, false
	finish := func(i int, s status) {
		d.status[i] = s
		stopped = stopped || (s == failed && !d.c.run.DryRun)
		for _, user := range users[i] {
			if waiting[user]--; waiting[user] == 0 {
				ready = append(ready, user)
			}
		}
	}
	for {
		for len(ready) > 0 && !stopped && d.ctx.Err() == nil && (limit == 0 || running < limit) {
			i := ready[0]
			ready = ready[1:]
			if d.without(g.nodes[i].uses) {
				finish(i, skipped)
				continue
			}
			if running == workers {
				workers++
				go work()
			}
			running++
			jobs <- i
		}
		if running == 0 {
			return
		}
		r := <-results
		running--
		finish(r.node, r.status)
	}
}

func (d *deployment) without(nodes []int) bool {
	return slices.ContainsFunc(nodes, func(i int) bool { return d.status[i] != done && d.status[i] != missing })
}

func (d *deployment) lacks(nodes []int) bool {
	return slices.ContainsFunc(nodes, func(i int) bool { return d.status[i] != done })
}

func (d *deployment) runNode(n *node) status {
	if n.variable == nil {
		return d.register(n.resource)
	}
	v, ok := d.eval(n.variable.value)
	if !ok {
		return failed
	}
	d.scope.set(n.name, v)
	return done
}

// outputs evaluates the outputs of the stack, or of a component, without outputs of missing resources.
func (d *deployment) outputs() property.Map {
	var entries []property.Entry
	for _, o := range d.c.outputs {
		if d.lacks(d.c.graph.usesOf(o.value)) {
			continue
		}
		v, ok := d.eval(o.value)
		m := measure.Of(v)
		if ok = ok && d.spend(o.value, 0, m.Bytes()); ok && (&derivation.Derivation{URNs: v.Dependencies()}).Ephemeral() {
			d.errorf(o.value, "the output %q must not be ephemeral, because it is recorded", o.name)
		} else if ok {
			entries = append(entries, property.Entry{Key: o.name, Value: v})
		}
	}
	return property.NewMap(entries...)
}

// problems returns the errors, without the cancellations that followed from them.
func (d *deployment) problems() error {
	ds := d.c.report.Diagnostics()
	cancelled := func(x source.Diagnostic) bool {
		return errors.Is(x.Cause, abi.ErrCancelled) || errors.Is(x.Cause, context.Canceled)
	}
	if slices.ContainsFunc(ds, func(x source.Diagnostic) bool { return !cancelled(x) }) {
		ds = slices.DeleteFunc(ds, cancelled)
	}
	return onlyExceeded(ds).Err()
}

// position is a place in the program as registrations tell it.
func (d *deployment) position(x *resource) string {
	return fmt.Sprintf("%s:%d:%d", d.c.report.File.Name, x.key.Line, x.key.Column)
}
