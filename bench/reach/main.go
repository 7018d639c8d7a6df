// Command reach ports the providers that are used most, and prints a table of what became of each: a row as soon as it is known.
// providers.txt has their repositories and tags, and after # the types to port if a host does not take the whole provider: the table
// then says how many of all types these are. The last column says which of create, read, update, replace, import, and delete TestLives
// does with each, and against which service. It runs in the root of a checkout.
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
	"github.com/husk-dev/husk/internal/port/prune"
)

//go:embed providers.txt
var providers string

func main() {
	names := flag.String("only", "", "the names of providers, with commas; empty for all")
	list := flag.String("list", "", "file with a source a line, in place of providers.txt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *list, *names); err != nil {
		fmt.Fprintln(os.Stderr, "reach:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, list, names string) error {
	text := providers
	if list != "" {
		data, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		text = string(data)
	}
	fmt.Println("| provider | kind | resources | functions | module | result | life |\n| --- | --- | --- | --- | --- | --- | --- |")
	builds, parts, tried := 0, 0, 0
	for _, source := range strings.Fields(text) {
		name, version := named(source)
		if names != "" && !slices.Contains(strings.Split(names, ","), path.Base(name)) {
			continue
		}
		from, only := part(source)
		is, err := reach(ctx, from, only)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		tried++
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", source, err)
			is.result = reason(err)
		} else if builds++; len(only) > 0 {
			parts++
		}
		if len(only) > 0 {
			version += ", only `" + strings.Join(only, "`, `") + "`"
		}
		lived := ""
		if l, ok := lives[name]; ok {
			lived = l.String()
		}
		fmt.Printf("| `%s` %s | %s | %s | %s | %s | %s | %s |\n", name, version, is.kind, is.resources, is.functions, is.size, is.result, lived)
	}
	fmt.Printf("\n%d of %d build, %d of them in part.\n", builds, tried, parts)
	return nil
}

// named returns the name that a registry has for the provider in a repository, and the version.
func named(source string) (name, version string) {
	source, _ = part(source)
	repository, tag, _ := strings.Cut(source, "@")
	name = path.Join(path.Base(path.Dir(repository)), strings.TrimPrefix(path.Base(repository), "terraform-provider-"))
	return name, tag
}

// part returns a source without the types to port, and these, none for all.
func part(source string) (from string, only []string) {
	from, types, ok := strings.Cut(source, "#")
	if ok {
		only = strings.Split(types, ",")
	}
	return from, only
}

// row has the cells of a provider. What is not known is empty.
type row struct{ kind, resources, functions, size, result string }

// reach ports a provider, or some types of it, and asks the module for its schema.
func reach(ctx context.Context, source string, only []string) (is row, err error) {
	dir, err := os.MkdirTemp("", "reach")
	if err != nil {
		return is, err
	}
	defer os.RemoveAll(dir)
	progress := func(s port.Step) { fmt.Fprintf(os.Stderr, "%s %s\n", s.Doing, s.What) }
	built, err := port.Port(ctx, source, port.Options{Dir: dir, Only: only, Progress: progress})
	if err != nil {
		return is, err
	}
	if is.result = "builds"; len(only) > 0 {
		chosen := 0
		for _, name := range built.Types {
			if prune.Chosen(only, name) {
				chosen++
			}
		}
		is.result = fmt.Sprintf("builds in part: %d of %d types", chosen, len(built.Types))
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
