package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestRequestsReachModules takes a stack through its life, and compares everything that
// the module says it was asked with testdata/asked.txt, field by field.
func TestRequestsReachModules(t *testing.T) {
	t.Setenv("KIT_TALK", "1")
	heard := &listener{fields: map[string]bool{}}
	loader := loadModules(t)
	loader.options.Grants.Env = []string{"KIT_TALK"}
	loader.options.Logger = slog.New(heard)
	stack := enginetest.NewStack(t, nil)
	colour := "red"
	stack.Edit = func(d *enginetest.Deployment) {
		d.Providers, d.Organization, d.Parallel, d.Version = loader, "acme", 1, "1.0.0"
		d.Config = []abi.ConfigEntry{
			{Key: "echo:colour", Value: colour}, {Key: "echo:token", Value: "t0ken", Secret: true},
			{Key: "proj:password", Value: "hunter2", Secret: true}, // of which components of a package learn nothing
			{Key: "pulumi:autonaming", Value: `{"pattern": "${name}-named", "enforce": true}`},
		}
	}
	life := func(value string) enginetest.Program {
		return func(p *enginetest.Run) error {
			kit, err := asEcho(p)
			if err != nil {
				return err
			}
			timeouts := func(o *abi.ResourceOptions) {
				o.CustomTimeouts = abi.CustomTimeouts{Create: 1, Update: 2, Delete: 3, Read: 4}
				o.IgnoreChanges = []string{"left"}
			}
			first, err := p.Custom(echoType, "first", enginetest.Props("value", value, "left", value, "stale", true), kit, timeouts)
			if err != nil {
				return err
			}
			options := abi.ResourceOptions{Dependencies: []urn.URN{first.URN}}
			kit(&options)
			args := enginetest.Props("value", first.Out("value"))
			dependencies := []abi.PropertyDependency{{Key: "value", URNs: []urn.URN{first.URN}}}
			if _, err = p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
				Type: mirrorType, Name: "all", Parent: p.Root, Remote: true, Inputs: args, PropertyDependencies: dependencies, Options: options,
			}); err != nil {
				return err
			}
			by := abi.FunctionOptions{PackageRef: options.PackageRef}
			if _, err = p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: "echo:index:say", Args: args, Options: by}); err != nil {
				return err
			}
			answer, err := p.Monitor.Call(p.Ctx, abi.MonitorCallRequest{
				Token: mirrorType + "/ask", Args: args, ArgDependencies: dependencies, Options: by,
			})
			if err != nil {
				return err
			}
			require.Equal(t, dependencies, answer.ResultDependencies)
			return nil
		}
	}
	for _, phase := range []struct {
		name string
		do   func()
	}{
		{"preview", func() { stack.Preview(life("one")) }},
		{"create", func() { stack.Up(life("one")) }},
		{"update, with another configuration", func() {
			colour = "blue"
			stack.Preview(life("two"))
			stack.Up(life("two"))
		}},
		{"refresh", func() { stack.Refresh() }},
		{"destroy", func() { stack.Destroy() }},
		{"import", func() {
			stack.Up(func(p *enginetest.Run) error {
				kit, err := asEcho(p)
				if err != nil {
					return err
				}
				_, err = p.Custom(echoType, "found", enginetest.Props("value", "there"), kit, func(o *abi.ResourceOptions) {
					o.ImportID, o.CustomTimeouts.Read = "there", 4
				})
				return err
			})
			require.Equal(t, "there", stack.Resource("found").ID)
		}},
	} {
		heard.begin(phase.name)
		phase.do()
	}

	golden := filepath.Join("testdata", "asked.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(heard.text()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), heard.text())
	for _, request := range []any{
		abi.HandshakeRequest{}, abi.ConfigureRequest{}, abi.CheckRequest{}, abi.DiffRequest{}, abi.CreateRequest{}, abi.ReadRequest{},
		abi.UpdateRequest{}, abi.DeleteRequest{}, abi.InvokeRequest{}, abi.CallRequest{}, abi.ConstructRequest{},
	} {
		for _, field := range allFields(reflect.TypeOf(request)) {
			if !elsewhere(field) {
				require.True(t, heard.fields[field], "no request had a value in %s", field)
			}
		}
	}
}

// allFields returns the names of the fields of a record and of its nested records, as Record.Field.
func allFields(t reflect.Type) []string {
	if t.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return allFields(t.Elem())
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, t.Name()+"."+t.Field(i).Name)
			fields = append(fields, allFields(t.Field(i).Type)...)
		}
		slices.Sort(fields)
		return slices.Compact(fields)
	}
	return nil
}

// elsewhere reports whether a field is one of those that TestOptionsReachComponents is about.
func elsewhere(field string) bool {
	return strings.HasPrefix(field, "ResourceOptions.") || strings.HasPrefix(field, "Alias") ||
		strings.HasPrefix(field, "CustomTimeouts.") || strings.HasPrefix(field, "HookBinding.") || strings.HasPrefix(field, "PackageProvider.")
}

// listener is a slog.Handler for what the kit says.
type listener struct {
	mu     sync.Mutex
	lines  []string
	fields map[string]bool
}

func (*listener) Enabled(context.Context, slog.Level) bool { return true }

// opaque finds what differs from run to run, or tells a reader nothing: the IDs of
// providers, the seeds of checks, and what stands for a parameterization.
var opaque = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,}`)

// Handle implements slog.Handler.
func (l *listener) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if said, ok := strings.CutPrefix(r.Message, "asked "); ok {
		l.lines = append(l.lines, opaque.ReplaceAllString(said, "…"))
	}
	if fields, ok := strings.CutPrefix(r.Message, "fields "); ok {
		for _, f := range strings.Fields(fields) {
			l.fields[f] = true
		}
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (l *listener) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *listener) WithGroup(string) slog.Handler { return l }

func (l *listener) begin(phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, "", "# "+phase)
}

// text is what was said. Instances introduce themselves whenever the host makes one, and
// are told parameters and configuration then: of what is said again, the first counts.
func (l *listener) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, line := range l.lines {
		if line == "" || !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.TrimPrefix(strings.Join(lines, "\n")+"\n", "\n")
}
