package plugins

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
)

// problem tells an error at the place where the project lists the provider, with
// what to do. Only the end of the context is told as it is.
func (p *Plugins) problem(declared *program.ProviderPlugin, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, os.ErrNotExist) {
		d := p.project.File.Errorf(declared.Position, "the provider %q has the path %s, and there is nothing", declared.Name, declared.Path)
		d.Detail = "path names a .wasm file, or a directory of Go source; it begins at the directory of " + p.project.File.Name
		d.Cause = err
		return source.Diagnostics{d}
	}
	summary, detail, _ := strings.Cut(err.Error(), "\n")
	var refused *host.LoadError
	if errors.As(err, &refused) {
		summary = strings.ReplaceAll(refused.Err.Error(), "\n", " ")
		detail = "the module is " + refused.Path
		if errors.Is(err, host.ErrNotWasm) || errors.Is(err, host.ErrTruncated) {
			detail += "\nmake it again with husk provider build, or name the directory of the provider's Go source instead"
		}
	}
	d := p.project.File.Errorf(declared.Position, "the provider %q cannot be used: %s", declared.Name, strings.TrimSuffix(summary, ":"))
	d.Detail, d.Cause = detail, err
	return source.Diagnostics{d}
}
