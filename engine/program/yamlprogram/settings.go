package yamlprogram

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

// engineSettings are keys in a package's namespace that its provider never gets.
var engineSettings = []string{"version", "pluginDownloadURL"}

// checkSettings checks the stack's configuration of default providers against their schemas, at its lines of the stack's file. A
// key that the schema does not have is an error only if the schema is all that the provider checks by.
func (c *compilation) checkSettings() {
	used := c.defaultPackages()
	var stack *program.StackConfig
	for _, name := range slices.Sorted(maps.Keys(used)) {
		pkg, settings := used[name], c.settings(name)
		if settings.Len() == 0 {
			continue
		}
		if stack == nil {
			var err error
			if stack, err = c.program.project.StackConfig(c.run.Stack); err != nil {
				return // reading the file reports it
			}
		}
		for key := range settings.All() {
			if p := pkg.Config.Property(key); p != nil && p.Deprecation != "" {
				full := name + ":" + key
				c.report.Add(c.deprecation(stack.At(full, nil, p.Secret, ""), providers.TypePrefix+name, full, p.Deprecation))
			}
		}
		_, failures := pkg.Config.CheckConfig(schemajson.Nested(&pkg.Config, settings))
		for _, f := range failures {
			path, err := property.ParsePath(f.Path)
			if err != nil || len(path) == 0 {
				continue
			}
			key, _ := path[0].Key()
			if !settings.Has(key) {
				continue // a missing setting may come from elsewhere, such as the environment
			}
			p := pkg.Config.Property(key)
			d := stack.At(name+":"+key, path[1:], p != nil && p.Secret, name+":"+f.Path+": "+f.Reason)
			switch {
			case p != nil:
				d.Detail = "set it with: " + program.ConfigDeclaration{Key: name + ":" + key, Secret: p.Secret}.SetCommand(c.run.Project)
			case !pkg.SchemaCheckConfig:
				d.Severity = source.Warning
				c.doubtful = append(c.doubtful, d)
				continue
			}
			c.report.Add(d)
		}
	}
}

// settings returns the configuration of a package as its provider gets it: as text.
func (c *compilation) settings(pkg string) property.Map {
	all := map[string]property.Value{}
	for _, d := range c.program.project.Config {
		if text, err := program.ConfigText(d.Default); err == nil && !d.Default.IsNull() {
			all[d.Key] = property.String(text)
		}
	}
	for key, v := range c.config.byKey {
		if v.ContainsUnknowns() {
			all[key] = property.Unknown
		}
	}
	for _, e := range c.run.Config {
		all[e.Key] = property.String(e.Value)
	}
	settings := property.Map{}
	for key, v := range all {
		if key, ok := strings.CutPrefix(key, pkg+":"); ok && !slices.Contains(engineSettings, key) {
			settings = settings.With(key, v)
		}
	}
	return settings
}

// defaultPackages returns the packages with a schema whose default provider the program uses, by name. Resources that inherit
// their provider from a parent are left out.
func (c *compilation) defaultPackages() map[string]*schema.Package {
	used := map[string]*schema.Package{}
	use := func(pkg string, provider, parent expr.Expr) {
		if pkg == "" || pkg == builtin.Package || provider != nil || parent != nil || c.served(pkg) != pkg || c.defaults[pkg] != nil {
			return
		}
		for key, p := range c.packages.loaded {
			if key.name == pkg && p.schema != nil {
				used[pkg] = p.schema
			}
		}
	}
	for _, r := range c.resources {
		if !r.isProvider() && r.component == nil {
			use(r.pkg, r.options.exprs["provider"], r.options.exprs["parent"])
		}
	}
	for x, f := range c.functions {
		use(f.pkg, x.Provider, x.Parent)
	}
	return used
}

// DefaultProviders returns the names of the providers that the program has its resources use unless they name another one, by the
// names of their packages.
func (p *Program) DefaultProviders(ctx context.Context) map[string]string {
	c := p.compilationOf(p.project.Template, abi.RunContext{}, p.project.ProgramDir, packages{}, budget.New(ctx, p.limits), nil)
	defer c.budget.Close()
	names := map[string]string{}
	for _, r := range c.resources {
		if r.defaultProvider && r.isProvider() {
			names[providedPackage(r.typ)] = r.logicalName
		}
	}
	return names
}
