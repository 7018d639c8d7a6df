// Command languages measures one provider, examples/contacts, in each language that has an SDK: the size of its module, the time
// to compile it, to start an instance, and to call it, and the memory of an instance. All run in turn within one run.
//
// The calls are creations, whose inputs have 1 and 100 KB. The provider sends them to a server of this process as JSON, so that
// each call is of all that a provider does. The modules in C and Rust are the committed ones. The one in TypeScript is made by
//
//	husk provider build examples/contacts/typescript -o FILE
//
// and named by -typescript. Beside them run processes of Pulumi's SDKs for Go and Node.js: their start, first Check, and memory. npm
// installs the SDK for Node.js. With -modules, the SDK comes from that directory node_modules.
//
//	go run -C bench ./languages [-n rounds] [-typescript FILE] [-modules DIR] [-json]
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/bench/internal/figures"
	"github.com/husk-dev/husk/bench/internal/programs"
	"github.com/husk-dev/husk/host"
)

func main() {
	rounds := flag.Int("n", 20, "rounds; each measures every language in turn")
	typescript := flag.String("typescript", "", "the module in TypeScript")
	modules := flag.String("modules", "", "directory node_modules with @pulumi/pulumi; npm installs it if it is not given")
	asJSON := flag.Bool("json", false, "print the figures as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all, err := measure(ctx, max(*rounds, 1), *typescript, *modules)
	if err == nil {
		err = print(os.Stdout, all, *asJSON)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "languages:", err)
		os.Exit(1)
	}
}

// columns are what is measured of each language.
var columns = [...]struct {
	name, unit string
	decimals   int
}{
	{"size", "KB", 0}, {"gzipped", "KB", 0}, {"compile", "ms", 0}, {"start", "ms", 2}, {"first Check", "ms", 2},
	{"Create of 1 KB", "ms", 2}, {"of 100 KB", "ms", 2}, {"memory", "MB", 1},
}

// language is a module, with a value of each round for each column.
type language struct {
	name   string
	wasm   []byte
	module *host.Module
	values [len(columns)][]float64
}

func measure(ctx context.Context, rounds int, typescript, modules string) (_ []*language, err error) {
	all, err := languages(ctx, typescript)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "husk-bench-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id": "1"}`)
	}))
	defer service.Close()
	for i, l := range all {
		h, err := l.compile(ctx, filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		defer h.Close(ctx)
	}
	peers, err := processes(ctx, dir, modules)
	if err != nil {
		return nil, err
	}
	for range rounds {
		for _, l := range all {
			if err := l.round(ctx, service.URL); err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
		}
		for _, p := range peers {
			if err := p.round(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	for _, p := range peers {
		all = append(all, p.language)
	}
	return all, nil
}

func languages(ctx context.Context, typescript string) ([]*language, error) {
	wasm, err := programs.Module(ctx, "./languages/contacts")
	if err != nil {
		return nil, err
	}
	all := []*language{{name: "Go", wasm: wasm}}
	for _, name := range []string{"C", "Rust"} {
		packed, err := os.Open(filepath.Join("..", "examples", "contacts", "testdata", strings.ToLower(name)+".wasm.gz"))
		if err != nil {
			return nil, err
		}
		defer packed.Close()
		r, err := gzip.NewReader(packed)
		if err == nil {
			wasm, err = io.ReadAll(r)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, &language{name: name, wasm: wasm})
	}
	if typescript != "" {
		if wasm, err = os.ReadFile(typescript); err != nil {
			return nil, err
		}
		all = append(all, &language{name: "TypeScript", wasm: wasm})
	}
	for _, l := range all {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		_, err := w.Write(l.wasm)
		if err := errors.Join(err, w.Close()); err != nil {
			return nil, err
		}
		l.add(0, float64(len(l.wasm))/1000)
		l.add(1, float64(packed.Len())/1000)
	}
	return all, nil
}

func (l *language) add(column int, value float64) { l.values[column] = append(l.values[column], value) }

// compile loads the module into a host with an empty cache, and makes the image that instances start from.
func (l *language) compile(ctx context.Context, cache string) (*host.Host, error) {
	h, err := host.New(ctx, host.NewConfig().WithCacheDir(cache))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if l.module, err = h.LoadBytes(ctx, l.wasm); err == nil {
		_, err = l.module.BaseImage(ctx)
	}
	l.add(2, figures.Millis(time.Since(start)))
	if err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return h, nil
}

// round starts an instance, and calls it.
func (l *language) round(ctx context.Context, url string) (err error) {
	var grants grant.Set
	one, err := grant.ParseFlag("http=" + url)
	if err == nil {
		err = grants.Add(one, grant.Place{})
	}
	if err != nil {
		return err
	}
	start := time.Now()
	// A lenient provider is asked for all that the host would answer by its schema.
	p, err := l.module.NewProvider(ctx, host.ProviderOptions{Grants: grants, Instances: 1, Lenient: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if _, err = p.Handshake(ctx, abi.HandshakeRequest{Engine: "bench", Features: abi.AllFeatures}); err != nil {
		return err
	}
	l.add(3, figures.Millis(time.Since(start)))
	if err = p.Configure(ctx, abi.ConfigureRequest{Inputs: property.NewMap(property.Entry{Key: "url", Value: property.String(url)})}); err != nil {
		return err
	}
	start = time.Now()
	if _, err = p.Check(ctx, abi.CheckRequest{Type: contact, Name: "one", News: inputs(0)}); err != nil {
		return err
	}
	l.add(4, figures.Millis(time.Since(start)))
	for i, size := range [...]int{1_000, 100_000} {
		request := abi.CreateRequest{Type: contact, Name: "one", Inputs: inputs(size)}
		for again := range 2 { // the first one opens a connection, and has memory grow
			start = time.Now()
			if _, err = p.Create(ctx, request); err != nil {
				return err
			}
			if again == 1 {
				l.add(5+i, figures.Millis(time.Since(start)))
			}
		}
	}
	l.add(7, float64(p.Stats().Memory)/1e6)
	return nil
}

const contact = "contacts:index:Contact"

// inputs returns the inputs of a contact, with tags of so many bytes.
func inputs(size int) property.Map {
	tag := strings.Repeat("x", 95) // 100 bytes with what is around it
	tags := make([]property.Value, size/100)
	for i := range tags {
		tags[i] = property.String(tag)
	}
	return property.NewMap(
		property.Entry{Key: "kind", Value: property.String("person")}, property.Entry{Key: "name", Value: property.String("Ann")},
		property.Entry{Key: "priority", Value: property.Number(3)}, property.Entry{Key: "tags", Value: property.Array(tags...)},
	)
}

// print writes the medians, and their ratios to the first language. Columns without values have a dash in the table.
func print(w io.Writer, all []*language, asJSON bool) error {
	if asJSON {
		var flat []figures.Figure
		for _, l := range all {
			for c := range columns {
				if len(l.values[c]) == 0 {
					continue
				}
				flat = append(flat, figures.Of(l.name+", "+columns[c].name, figures.Median(l.values[c]), columns[c].unit, 0))
			}
		}
		return figures.Print(w, flat, true)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\t")
	for _, c := range columns {
		fmt.Fprintf(table, "%s (%s)\t", c.name, c.unit)
	}
	for _, l := range all {
		fmt.Fprintf(table, "\n%s\t", l.name)
		for c := range columns {
			if len(l.values[c]) == 0 {
				fmt.Fprint(table, "–\t")
				continue
			}
			value, first := figures.Median(l.values[c]), figures.Median(all[0].values[c])
			fmt.Fprintf(table, "%.*f", columns[c].decimals, value)
			if l != all[0] {
				fmt.Fprintf(table, " ×%.2g", value/cmp.Or(first, 1))
			}
			fmt.Fprint(table, "\t")
		}
	}
	fmt.Fprintln(table)
	return table.Flush()
}
