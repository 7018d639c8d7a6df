package deploycmd

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/base/blocking"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

type deployFlags struct {
	yes, skipPreview, previewOnly, diff, timings        bool
	refresh, runProgram, installed, install             bool
	continueOnError, ignoreProtect                      bool
	updateOnImport, legacyDiff                          bool
	clearPendingCreates, stopOnPending, detailedExit    bool
	targetDependents, excludeDependents, excludeProtect bool
	expectNone, remove                                  bool
	interpret                                           bool // see [plugins.Options]
	native                                              *plugins.Native
	parallel                                            int
	targets, excludes, replace, targetReplace, adopt    []string
	grants, trusted, policyPacks, policyConfigs         []string
	logLevel, logFile                                   string
	auditLog, learned, plan, savePlan, importFile       string
	timeline                                            string
	trace                                               string
	verbose                                             bool

	// refreshFlag is the flag --refresh, which overrides the project if it is set.
	refreshFlag *pflag.Flag

	// parse makes these of the flags.
	selection engine.Selection
	replaced  []engine.Pattern
	adopted   map[urn.URN]string
}

// The flags that several commands have.
const (
	shownFlags     = "verbose log-level log-file trace audit-log learn-grants trust-module diff timings timeline parallel " + cli.DetailedExitCode + " "
	selectionFlags = "target target-dependents exclude exclude-dependents "
	failureFlags   = "continue-on-error ignore-protect "
	updateFlags    = selectionFlags + failureFlags + "install-dependencies refresh replace target-replace update-on-import stop-on-pending legacy-diff "
	policyFlags    = "policy-pack policy-pack-config "
	recordedFlags  = selectionFlags + "expect-no-changes preview-only run-program install-dependencies installed grant "
)

// add adds flags to a command by their names. A flag that is not added costs nothing.
func (f *deployFlags) add(cmd *cobra.Command, names string) {
	added, flags := strings.Fields(names), cmd.Flags()
	for _, flag := range []struct {
		name, short string
		value       any
		usage       string
	}{
		{"yes", "y", &f.yes, "proceed without confirmation, unless the preview fails"},
		{"skip-preview", "", &f.skipPreview, "with --yes, deploy without a preview: problems are found on the way"},
		{"preview-only", "", &f.previewOnly, "show what would be done, without changing anything"},
		{cli.DetailedExitCode, "", &f.detailedExit, "exit with 2 if there are changes, with 3 if another run has the stack, and\nwith 1 for every other error"},
		{"expect-no-changes", "", &f.expectNone, "fail if there are changes, which an update makes all the same"},
		{"remove", "", &f.remove, "remove the stack, too, unless resources are left"},
		{"diff", "", &f.diff, "show what differs in each resource"},
		{"timings", "", &f.timings, "show the cost of provider calls and the slowest steps"},
		{"timeline", "", &f.timeline, "draw when each step ran, what it waited for, and its cost, in this .svg or .html file"},
		{"parallel", "p", &f.parallel, "maximum number of resources to deploy at once (default: 4 per processor, at least 32)"},
		{"verbose", "v", &f.verbose, "show messages of every severity, as --log-level debug does"},
		{"log-level", "", cli.Choice(&f.logLevel, display.LogLevels...), "show messages of this `SEVERITY` or a worse one: " + cli.AnyOf(display.LogLevels) + " (default: info)"},
		{"trace", "", &f.trace, "write an OpenTelemetry trace of run, steps, and calls of providers to this file, as JSON lines, or with otlp to a collector"},
		{"log-file", "", &f.logFile, "append all events to this file, as JSON lines, messages of every severity among them"},
		{"audit-log", "", &f.auditLog,
			"append each use and each refused use of a capability to this file, as JSON lines"},
		{"learn-grants", "", &f.learned,
			"add to this file the least grants that cover what the providers did"},
		{"refresh", "", &f.refresh, "refresh every resource first (--refresh=false overrides the project)"},
		{"continue-on-error", "", &f.continueOnError,
			"after a failure, continue with resources that do not depend on the failed one"},
		{"ignore-protect", "", &f.ignoreProtect, "delete and replace protected resources as well"},
		{"update-on-import", "", &f.updateOnImport,
			"update an imported resource that differs from the program, instead of failing"},
		{"legacy-diff", "", &f.legacyDiff, "call Diff of providers only if inputs changed"},
		{"plan", "", &f.plan, "execute exactly the plan in this file, after a preview that compares everything with it"},
		{"save-plan", "", &f.savePlan, "save the plan in this file, for husk up --plan"},
		{"import-file", "", &f.importFile,
			"write the resources that would be created to a file for husk import, with placeholders for IDs"},
		{"stop-on-pending", "", &f.stopOnPending, "fail if a run was interrupted while it created resources, unless Husk finds their objects for certain"},
		{"clear-pending-creates", "", &f.clearPendingCreates,
			"forget creations that an earlier run did not finish (first check what they created)"},
		{"adopt-pending-creates", "", &f.adopt,
			"adopt the object of a creation that an earlier run did not finish: URN=ID; can be repeated"},
		{"target", "t", &f.targets,
			"deploy only this resource: a URN, or a pattern (* matches text without a colon, ** any text); can be repeated"},
		{"target-dependents", "", &f.targetDependents, "also deploy dependents of the targets"},
		{"exclude", "", &f.excludes, "skip this resource, or all that match a pattern; can be repeated"},
		{"exclude-dependents", "", &f.excludeDependents, "also skip dependents of the excluded resources"},
		{"exclude-protected", "", &f.excludeProtect,
			"skip protected resources, and what they depend on, instead of failing"},
		{"replace", "", &f.replace,
			"replace this resource, or all that match a pattern, even if unchanged; can be repeated"},
		{"target-replace", "", &f.targetReplace, "short for --target and --replace with the same value"},
		{"run-program", "", &f.runProgram, "run the program, so that providers get their current configuration"},
		{"install-dependencies", "", &f.install, "first install the packages that a program in Node.js or Python needs"},
		{"installed", "", &f.installed,
			"use the providers that the project lists, instead of the modules that made the resources"},
		{"grant", "", &f.grants,
			"grant a provider more than the project does: " + grant.Flags("PROVIDER:") + "; can be repeated;\nwith --learn-grants also PROVIDER:http=https://* and PROVIDER:tcp=*:PORT, for all hosts on the Internet"},
		{"trust-module", "", &f.trusted,
			"trust the module with this digest: the state names it, but the project has never listed it; can be repeated"},
		{"policy-pack", "", &f.policyPacks,
			"check resources with this policy pack, a .wasm file or a directory of Go source; can be repeated"},
		{"policy-pack-config", "", &f.policyConfigs,
			"the configuration of a policy pack, a JSON or YAML file: the first is for the first --policy-pack, and so on"},
	} {
		if !slices.Contains(added, flag.name) {
			continue
		}
		switch value := flag.value.(type) {
		case *bool:
			flags.BoolVarP(value, flag.name, flag.short, false, flag.usage)
		case *int:
			flags.IntVarP(value, flag.name, flag.short, 0, flag.usage)
		case *string:
			flags.StringVarP(value, flag.name, flag.short, "", flag.usage)
		case *[]string:
			flags.VarP(cli.Repeated(value), flag.name, flag.short, flag.usage)
		case cli.Words:
			flags.VarP(value, flag.name, flag.short, flag.usage)
		}
	}
	f.refreshFlag = flags.Lookup("refresh")
	if i := slices.IndexFunc(added, func(name string) bool { return flags.Lookup(name) == nil }); i >= 0 {
		panic("there is no flag --" + added[i])
	}
}

// parse reads the flags whose values have a syntax.
func (f *deployFlags) parse() error {
	f.adopted = make(map[urn.URN]string)
	for _, text := range f.adopt {
		i := strings.LastIndex(text, "=")
		if i < 0 || i == len(text)-1 {
			return cli.Usagef("--adopt-pending-creates %s: must have the form <urn>=<id>", text)
		}
		u, err := urn.Parse(text[:i])
		if err != nil {
			return cli.Usagef("--adopt-pending-creates: %v", err)
		}
		f.adopted[u] = text[i+1:]
	}
	s := engine.Selection{
		TargetDependents: f.targetDependents, ExcludeDependents: f.excludeDependents, ExcludeProtected: f.excludeProtect,
	}
	f.replaced = nil
	for _, flag := range []struct {
		name  string
		texts []string
		lists []*[]engine.Pattern
	}{
		{"target", f.targets, []*[]engine.Pattern{&s.Targets}},
		{"target-replace", f.targetReplace, []*[]engine.Pattern{&s.Targets, &f.replaced}},
		{"replace", f.replace, []*[]engine.Pattern{&f.replaced}},
		{"exclude", f.excludes, []*[]engine.Pattern{&s.Excludes}},
	} {
		for _, text := range flag.texts {
			if _, err := urn.Parse(text); err != nil && !strings.Contains(text, "*") {
				return cli.Usagef("--%s %s: neither a URN (husk state ls lists them) nor a pattern: '**::%s' matches the name", flag.name, text, text)
			}
			for _, list := range flag.lists {
				*list = append(*list, engine.Pattern(text))
			}
		}
	}
	f.selection = s
	switch {
	case len(s.Targets) > 0 && len(s.Excludes) > 0:
		return cli.Usagef("--target and --exclude exclude each other")
	case s.TargetDependents && len(s.Targets) == 0:
		return cli.Usagef("--target-dependents requires --target")
	case s.ExcludeDependents && len(s.Excludes) == 0:
		return cli.Usagef("--exclude-dependents requires --exclude")
	}
	return nil
}

// refreshesFirst reports whether every resource is refreshed first.
func (f *deployFlags) refreshesFirst(o *openRun) bool {
	return f.refresh || o.Workspace.Project.Refresh && !f.refreshFlag.Changed
}

// update returns the update that the flags describe.
func (f *deployFlags) update(ctx context.Context, o *openRun) (engine.Operation, error) {
	policies, err := f.openPolicies(ctx, o.Plugins)
	if err != nil {
		return nil, err
	}
	up := engine.Up{
		Program: o.Program, Policies: policies, RefreshFirst: f.refreshesFirst(o), ContinueOnError: f.continueOnError,
		Selection: f.selection, Replace: f.replaced, IgnoreProtect: f.ignoreProtect, LegacyDiff: f.legacyDiff,
		UpdateOnImport: f.updateOnImport, StopOnPending: f.stopOnPending, DraftPlan: f.savePlan != "",
	}
	if f.plan == "" {
		return up, nil
	}
	text, err := f.readPlan(ctx)
	if err != nil {
		return nil, err
	}
	if up.Plan, err = engine.DecodePlan(ctx, text, o.Deployment.Stacks.Open); err != nil {
		return nil, fmt.Errorf("%s: %w", f.plan, err)
	}
	return up, nil
}

// readPlan reads the file that --plan names.
func (f *deployFlags) readPlan(ctx context.Context) ([]byte, error) {
	text, err := blocking.Call(ctx, func() ([]byte, error) { return os.ReadFile(f.plan) }, nil)
	if err != nil {
		err = fmt.Errorf("reading the plan: %w", err)
	}
	return text, err
}

// writePlan writes the plan that a preview has made.
func (f *deployFlags) writePlan(ctx context.Context, o *openRun, result *engine.Result) error {
	if result.Plan == nil {
		return nil
	}
	text, err := result.Plan.Encode(ctx, o.Deployment.State.Codec())
	if err == nil {
		err = os.WriteFile(f.savePlan, text, 0o600) // names and values are nobody else's business
	}
	if err != nil {
		err = fmt.Errorf("saving the plan: %w", err)
	}
	return err
}

func (f *deployFlags) openPolicies(ctx context.Context, p *plugins.Plugins) ([]analysis.Pack, error) {
	if len(f.policyConfigs) > 0 && len(f.policyConfigs) != len(f.policyPacks) {
		return nil, cli.Usagef("%d --policy-pack and %d --policy-pack-config: give one configuration for each pack, or none",
			len(f.policyPacks), len(f.policyConfigs))
	}
	packs := make([]program.PolicyPack, len(f.policyPacks))
	for i, path := range f.policyPacks {
		packs[i].Path = path
		if len(f.policyConfigs) == 0 {
			continue
		}
		settings, err := program.ReadPolicySettings(f.policyConfigs[i])
		if err != nil {
			return nil, err
		}
		packs[i].Settings = settings
	}
	return p.Policies(ctx, packs)
}

// grantsIn reads PROVIDER:KIND=SCOPE, by provider. Directories are relative to the project's, even if
// there is no project file.
func (f *deployFlags) grantsIn(w *workspace.Workspace) (map[string]host.Grants, error) {
	texts := make(map[string][]string)
	for _, text := range f.grants {
		provider, grant, ok := strings.Cut(text, ":")
		if !ok || provider == "" || strings.Contains(provider, "=") {
			return nil, cli.Usagef("--grant %s: must begin with the name of a provider, as in local:fs=public:rw", text)
		}
		texts[provider] = append(texts[provider], grant)
	}
	grants := make(map[string]host.Grants, len(texts))
	for provider, texts := range texts {
		g, err := cli.ParseGrants(w.Project.Dir, f.learned != "", texts)
		if err != nil {
			return nil, err
		}
		grants[provider] = g
	}
	return grants, nil
}

// withheld returns the files of flags that no grant of a directory above them covers.
func (f *deployFlags) withheld() []string {
	all := slices.Concat(f.policyPacks, f.policyConfigs)
	for _, file := range []string{f.auditLog, f.learned} {
		if file != "" {
			all = append(all, file)
		}
	}
	return all
}
