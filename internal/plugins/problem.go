package plugins

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
)

// entry is a module that the project lists.
type entry struct {
	// kind is "provider", "policy pack", or "program".
	kind, name, path string
	position         source.Position
}

func providerEntry(declared *program.ProviderPlugin) entry {
	return entry{"provider", declared.Name, declared.Place(), declared.Position}
}

// problem returns an error at the place in the project file that lists the module, with what to do. The
// error of an ended context, or of a run that was stopped, stays as it is.
func (p *Plugins) problem(declared entry, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, engine.ErrStopped) {
		return err
	}
	if _, told := errors.AsType[source.Diagnostics](err); told {
		return err
	}
	if errors.Is(err, os.ErrNotExist) {
		d := p.project.File.Errorf(declared.position, "the %s %q has the path %s, which does not exist", declared.kind, declared.name, declared.path)
		d.Detail = "path names a .wasm file or a directory of source, relative to the directory of " + p.project.File.Name
		d.Cause = err
		return source.Diagnostics{d}
	}
	summary, detail, _ := strings.Cut(err.Error(), "\n")
	if refused, ok := errors.AsType[*host.LoadError](err); ok {
		summary = strings.ReplaceAll(refused.Err.Error(), "\n", " ")
		detail = "the module is " + refused.Path
		if refused.Advice != "" {
			detail += "\n" + refused.Advice
		}
		if errors.Is(err, host.ErrNotWasm) || errors.Is(err, host.ErrTruncated) {
			if declared.kind == "provider" && errors.Is(err, host.ErrNotWasm) {
				detail += "\nif it is a plugin for Pulumi, a program of this machine, add native: true"
			}
			detail += "\nrebuild it with husk provider build, or name the directory of the " + declared.kind + "'s source instead"
		}
	}
	if other, ok := errors.AsType[*host.WorldError](err); ok {
		detail = map[canon.World]string{
			canon.WorldProvider: "list it under plugins.providers instead", canon.WorldPolicy: "list it under policies instead",
			canon.WorldProgram: "a project of the runtime wasm names it with main",
		}[other.Is]
	}
	d := p.project.File.Errorf(declared.position, "the %s %q cannot be used: %s", declared.kind, declared.name, strings.TrimSuffix(summary, ":"))
	d.Detail, d.Cause = detail, err
	return source.Diagnostics{d}
}
