// Command reach ports the providers that are used most, and prints a table of what became of each: a row as soon as it is known.
// providers.txt has their repositories and tags, and after # the types to port if the whole provider is larger than a module may
// be. The last column says which of create, read, update, replace, import, and delete TestLives does with each, and against which
// service. It runs in the root of a checkout.
//
//	go run -C bench ./reach [-only NAME,...] [-list FILE]
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
)

//go:embed providers.txt
var providers string

func main() {
	only := flag.String("only", "", "the names of providers, with commas; empty for all")
	list := flag.String("list", "", "file with a source a line, in place of providers.txt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *list, *only); err != nil {
		fmt.Fprintln(os.Stderr, "reach:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, list, only string) error {
	text := providers
	if list != "" {
		data, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		text = string(data)
	}
	fmt.Println("| provider | kind | resources | functions | module | result | life |\n| --- | --- | --- | --- | --- | --- | --- |")
	builds, tried := 0, 0
	for _, source := range strings.Fields(text) {
		name, version := named(source)
		if only != "" && !slices.Contains(strings.Split(only, ","), path.Base(name)) {
			continue
		}
		from, types, _ := strings.Cut(source, "#")
		is, err := reach(ctx, from, types)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		tried++
		if is.result = "builds"; err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", source, err)
			is.result = reason(err)
		} else {
			builds++
		}
		if types != "" {
			version += ", only `" + types + "`"
		}
		lived := ""
		if l, ok := lives[name]; ok {
			lived = l.String()
		}
		fmt.Printf("| `%s` %s | %s | %s | %s | %s | %s | %s |\n", name, version, is.kind, is.resources, is.functions, is.size, is.result, lived)
	}
	fmt.Printf("\n%d of %d build.\n", builds, tried)
	return nil
}

// named returns the name that a registry has for the provider in a repository, and the version.
func named(source string) (name, version string) {
	source, _, _ = strings.Cut(source, "#")
	repository, tag, _ := strings.Cut(source, "@")
	name = path.Join(path.Base(path.Dir(repository)), strings.TrimPrefix(path.Base(repository), "terraform-provider-"))
	return name, tag
}

// row has the cells of a provider. What is not known is empty.
type row struct{ kind, resources, functions, size, result string }

// reach ports a provider, or some types of it, and asks the module for its schema.
func reach(ctx context.Context, source, types string) (is row, err error) {
	dir, err := os.MkdirTemp("", "reach")
	if err != nil {
		return is, err
	}
	defer os.RemoveAll(dir)
	options := port.Options{Dir: dir, Progress: func(s port.Step) { fmt.Fprintf(os.Stderr, "%s %s\n", s.Doing, s.What) }}
	if types != "" {
		options.Only = strings.Split(types, ",")
	}
	built, err := port.Port(ctx, source, options)
	if err != nil {
		return is, err
	}
	is.kind = strings.TrimPrefix(built.Manifest.Origin.Kind, "Terraform ")
	is.size = fmt.Sprintf("%d MB", len(built.Wasm)/1_000_000)
	h, err := host.New(ctx, host.NewConfig())
	if err != nil {
		return is, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	m, err := h.LoadBytes(ctx, built.Wasm)
	if err != nil {
		return is, err
	}
	p, err := m.NewProvider(ctx, host.ProviderOptions{Name: built.Manifest.Name})
	if err != nil {
		return is, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	answer, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	if err != nil {
		return is, err
	}
	pkg, err := schemajson.Parse([]byte(answer.Schema))
	if err != nil {
		return is, err
	}
	is.resources, is.functions = fmt.Sprint(len(pkg.Resources)), fmt.Sprint(len(pkg.Functions))
	return is, nil
}

// reason says in a line why a provider does not build: the module that no proxy hands out, the packages that fail and why, or the
// first line of the error.
func reason(err error) string {
	if refused, ok := errors.AsType[*port.RefusedError](err); ok {
		of, err := url.Parse(refused.URL)
		if err != nil {
			return err.Error()
		}
		return "the module proxy refuses `" + strings.TrimPrefix(of.Path, "/") + "`"
	}
	var packages []port.FailedPackage
	if failed, ok := errors.AsType[*port.BuildError](err); ok {
		packages = failed.Packages
	} else if failed, ok := errors.AsType[*port.FetchError](err); ok {
		packages = failed.Packages
	} else {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return strings.ReplaceAll(first, "|", `\|`)
	}
	var all []string
	for _, p := range packages {
		why := p.Reason
		if why == "" && len(p.Output) > 0 {
			why = strings.TrimSpace(p.Output[0])
		}
		all = append(all, fmt.Sprintf("`%s`: %s", p.Path, strings.ReplaceAll(why, "|", `\|`)))
	}
	return strings.Join(all, "; ")
}
