// Command ported measures providers for Terraform as they are and as modules: the same source, built as the
// program that Terraform starts, and by husk provider port. They are fetched from the Go module proxy.
//
// A process is asked over gRPC as Terraform asks it: its schema, to validate and take its configuration, and then a
// validation and a plan of one resource. A module is asked the same through the host: Check and the preview of
// Create. They take turns within one run.
//
//	go run -C bench ./ported [-n rounds] [-only name,...] [-json]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/host"
)

func main() {
	rounds := flag.Int("n", 15, "rounds; each runs the process and the module in turn")
	only := flag.String("only", "", "the names of providers, with commas; empty for all")
	figures.Main("ported", func(ctx context.Context) ([]figures.Figure, error) {
		dir, err := os.MkdirTemp("", "ported")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		var all []figures.Figure
		for _, p := range providers {
			if *only != "" && !slices.Contains(strings.Split(*only, ","), p.name) {
				continue
			}
			measured, err := p.measure(ctx, filepath.Join(dir, p.name), *rounds)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			all = append(all, measured...)
		}
		return all, nil
	})
}

// provider is a provider for Terraform, and the question that is put to it.
type provider struct {
	name, module string
	// config is the configuration for Terraform, and properties the same for Husk.
	config     map[string]any
	properties property.Map
	// resource is a type of Terraform, and inputs are a program's inputs for it. token and wanted are the same for Husk.
	resource string
	inputs   map[string]any
	token    string
	wanted   property.Map
}

func text(key, value string) property.Entry {
	return property.Entry{Key: key, Value: property.String(value)}
}

// providers are of all sizes, and made with both of Terraform's SDKs.
var providers = []provider{
	{
		name: "random", module: "github.com/terraform-providers/terraform-provider-random@v1.3.2-0.20231204135814-c6e90de46687",
		resource: "random_pet", inputs: map[string]any{"prefix": "a"}, token: "random:index/randomPet:RandomPet", wanted: property.NewMap(text("prefix", "a")),
	},
	{
		name: "tls", module: "github.com/hashicorp/terraform-provider-tls@v1.2.1-0.20230117062332-afdd54107aba",
		resource: "tls_private_key", inputs: map[string]any{"algorithm": "ED25519"},
		token: "tls:index/privateKey:PrivateKey", wanted: property.NewMap(text("algorithm", "ED25519")),
	},
	{
		name: "time", module: "github.com/hashicorp/terraform-provider-time@v0.14.2",
		resource: "time_static", inputs: map[string]any{"rfc3339": "2020-01-01T00:00:00Z"},
		token: "time:index/static:Static", wanted: property.NewMap(text("rfc3339", "2020-01-01T00:00:00Z")),
	},
	{
		name: "rabbitmq", module: "github.com/cyrilgdn/terraform-provider-rabbitmq@v1.8.0",
		config:     map[string]any{"endpoint": "http://127.0.0.1:1", "username": "u", "password": "p"},
		properties: property.NewMap(text("endpoint", "http://127.0.0.1:1"), text("username", "u"), text("password", "p")),
		resource:   "rabbitmq_vhost", inputs: map[string]any{"name": "v"}, token: "rabbitmq:index/vhost:Vhost", wanted: property.NewMap(text("name", "v")),
	},
	{
		name: "restapi", module: "github.com/Mastercard/terraform-provider-restapi@v1.20.0",
		config: map[string]any{"uri": "http://127.0.0.1:1"}, properties: property.NewMap(text("uri", "http://127.0.0.1:1")),
		resource: "restapi_object", inputs: map[string]any{"path": "/o", "data": "{\"id\": \"1\"}"},
		token: "restapi:index/object:Object", wanted: property.NewMap(text("path", "/o"), text("data", "{\"id\": \"1\"}")),
	},
	{
		name: "exoscale", module: "github.com/exoscale/terraform-provider-exoscale@v0.60.0",
		config: map[string]any{"key": "EXOx", "secret": "s"}, properties: property.NewMap(text("key", "EXOx"), text("secret", "s")),
		resource: "exoscale_anti_affinity_group", inputs: map[string]any{"name": "n"},
		token: "exoscale:index/antiAffinityGroup:AntiAffinityGroup", wanted: property.NewMap(text("name", "n")),
	},
}

// Goals: how much faster than its process a module starts, and how much slower its Check and plan may be.
const (
	startGoal = 5
	callGoal  = 1.5
)

// calls is how many questions are put in a row.
const calls = 20

func (p *provider) measure(ctx context.Context, dir string, rounds int) (all []figures.Figure, err error) {
	program, wasm, err := p.build(ctx, dir)
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(dir, "cache")
	begun := time.Now()
	h, module, err := load(ctx, cache, wasm)
	if err != nil {
		return nil, err
	}
	compiling := time.Since(begun)
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()

	var starts, asks, cached, clones, moduleAsks []time.Duration
	var resident, linear uint64
	for round := range rounds + 1 {
		start, ask, memory, err := p.askProcess(ctx, program)
		if err != nil {
			return nil, fmt.Errorf("the process: %w", err)
		}
		begun := time.Now()
		fresh, again, err := load(ctx, cache, wasm)
		if err != nil {
			return nil, err
		}
		first, err := p.open(ctx, again)
		if err != nil {
			return nil, fmt.Errorf("the module: %w", err)
		}
		fromCache := time.Since(begun)
		if err := errors.Join(first.Close(), fresh.Close(ctx)); err != nil {
			return nil, err
		}
		begun = time.Now()
		served, err := p.open(ctx, module)
		if err != nil {
			return nil, fmt.Errorf("the module: %w", err)
		}
		clone := time.Since(begun)
		asked, err := p.ask(ctx, served)
		if err != nil {
			return nil, fmt.Errorf("the module: %w", err)
		}
		linear = max(linear, h.Stats().Memory)
		if err := served.Close(); err != nil {
			return nil, err
		}
		if round == 0 {
			continue // warms up
		}
		starts, asks, resident = append(starts, start), append(asks, ask), max(resident, memory)
		cached, clones, moduleAsks = append(cached, fromCache), append(clones, clone), append(moduleAsks, asked)
	}
	size, err := os.Stat(wasm)
	if err != nil {
		return nil, err
	}
	native, err := os.Stat(program)
	if err != nil {
		return nil, err
	}
	const mega = 1 << 20
	start, ask := figures.Median(starts), figures.Median(asks)
	fromCache, clone, asked := figures.Median(cached), figures.Median(clones), figures.Median(moduleAsks)
	name := p.name + ", "
	return []figures.Figure{
		figures.Of(name+"program", float64(native.Size())/mega, "MB", 0),
		figures.Of(name+"module", float64(size.Size())/mega, "MB", 0),
		figures.Of(name+"compiling, once", compiling.Seconds(), "s", 0),
		figures.Of(name+"process, resident", float64(resident)/mega, "MB", 0),
		figures.Of(name+"module, memory of an instance", float64(linear)/mega, "MB", 0),
		figures.Of(name+"start of the process", figures.Millis(start), "ms", 0),
		figures.Of(name+"start of the module in a new host", figures.Millis(fromCache), "ms", 0),
		figures.Of(name+"start of the module in a host that has it", figures.Millis(clone), "ms", 0),
		figures.Of(name+"process, validation and plan", figures.Micros(ask), "µs", 0),
		figures.Of(name+"module, Check and preview of Create", figures.Micros(asked), "µs", 0),
		figures.Of(name+"start, process / module in a new host", float64(start)/float64(fromCache), "x", 0),
		figures.AtLeast(name+"start, process / module", float64(start)/float64(clone), "x", startGoal),
		figures.Of(name+"Check and plan, module / process", float64(asked)/float64(ask), "x", callGoal),
	}, nil
}

// load loads the module into a new host with a cache.
func load(ctx context.Context, cache, wasm string) (*host.Host, *host.Module, error) {
	h, err := host.New(ctx, host.NewConfig().WithCacheDir(cache))
	if err != nil {
		return nil, nil, err
	}
	module, err := h.Load(ctx, wasm)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close(ctx))
	}
	return h, module, nil
}

// open returns a configured provider that has answered to its schema.
func (p *provider) open(ctx context.Context, module *host.Module) (*host.Provider, error) {
	served, err := module.NewProvider(ctx, host.ProviderOptions{Name: p.name})
	if err != nil {
		return nil, err
	}
	if _, err = served.GetSchema(ctx, abi.GetSchemaRequest{}); err == nil {
		var checked abi.CheckResponse
		if checked, err = served.CheckConfig(ctx, abi.CheckRequest{News: p.properties}); err == nil {
			err = served.Configure(ctx, abi.ConfigureRequest{Inputs: checked.Inputs})
		}
	}
	if err != nil {
		return nil, errors.Join(err, served.Close())
	}
	return served, nil
}

// ask returns the time of one Check and preview, of several in a row.
func (p *provider) ask(ctx context.Context, served *host.Provider) (time.Duration, error) {
	begun := time.Now()
	for range calls {
		checked, err := served.Check(ctx, abi.CheckRequest{Type: p.token, Name: "r", News: p.wanted, RandomSeed: make([]byte, 32)})
		if err != nil {
			return 0, err
		}
		if len(checked.Failures) > 0 {
			return 0, fmt.Errorf("check: %s %s", checked.Failures[0].Path, checked.Failures[0].Reason)
		}
		if _, err := served.Create(ctx, abi.CreateRequest{Type: p.token, Name: "r", Inputs: checked.Inputs, Preview: true}); err != nil {
			return 0, err
		}
	}
	return time.Since(begun) / calls, nil
}
