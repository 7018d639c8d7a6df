package pulumiprogram

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

const top = "../../../"

// row is what docs/pulumi.md says about a feature, a method, or a field.
type row struct {
	status, about, test string
	// used is set when a test has looked at it.
	used bool
}

// tables returns the rows of docs/pulumi.md by the heading of their table and their name.
func tables(t *testing.T) map[string]map[string]*row {
	t.Helper()
	text, err := os.ReadFile(top + "docs/pulumi.md")
	require.NoError(t, err)
	found, heading := map[string]map[string]*row{}, ""
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			heading = name
			found[heading] = map[string]*row{}
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if heading == "" || len(cells) != 4 || !strings.Contains(cells[0], "`") {
			continue
		}
		for name := range strings.SplitSeq(cells[0], ",") {
			name = strings.Trim(name, " `")
			require.Nil(t, found[heading][name], "%s: %s has two rows", heading, name)
			found[heading][name] = &row{status: strings.TrimSpace(cells[1]), about: strings.TrimSpace(cells[2]), test: strings.Trim(cells[3], " `")}
		}
	}
	return found
}

// leaves returns the names of the fields of a message, with those of the messages in it.
func leaves(d protoreflect.MessageDescriptor) (names []string) {
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		name := string(f.Name())
		switch inner := f.Message(); {
		case inner == nil || f.IsMap() || inner.Name() == "Callback" || inner.Name() == "StackTrace" ||
			inner.Name() == "SourcePosition" && d.Name() != "RegisterResourceRequest" && d.Name() != "ReadResourceRequest" ||
			inner.Name() == "TransformResourceOptions" || inner.Name() == "ResourceOptions":
			names = append(names, name)
		default:
			for _, below := range leaves(inner) {
				names = append(names, name+"."+below)
			}
		}
	}
	return names
}

// set sets a field of a message, which may be one of a message in it, to some value.
func set(m pulumiwire.Message, name string) {
	name, rest, isInner := strings.Cut(name, ".")
	f := m.Field(name)
	switch {
	case isInner && f.IsList():
		set(m.Add(name), rest)
	case isInner:
		set(m.Make(name), rest)
	case f.IsMap() && f.MapValue().Message() != nil:
		m.SetDependencies(name, []abi.PropertyDependency{{Key: "color", URNs: []urn.URN{someURN}}})
	case f.IsMap() && f.MapValue().Kind() == protoreflect.BytesKind:
		m.Reflect.Mutable(f).Map().Set(protoreflect.ValueOfString("linux").MapKey(), protoreflect.ValueOfBytes([]byte{1}))
	case f.IsMap():
		m.SetText(name, "shop", "text")
	case f.Message() != nil && f.Message().Name() == "Callback":
		c := m.Make
		if f.IsList() {
			c = m.Add
		}
		setCallback(c(name))
	case f.Message() != nil && f.Message().Name() == "TransformResourceOptions":
		set(m.Make(name), "protect")
	case f.Message() != nil && f.IsList():
		m.Add(name)
	case f.Message() != nil:
		m.Make(name)
	case name == "aliasURNs":
		m.SetTexts(name, []string{string(someURN)})
	case f.Parent().Name() == "Alias" && name == "urn", name == "parentUrn":
		m.Set(name, string(someURN))
	case f.IsList() && f.Kind() == protoreflect.StringKind:
		m.SetTexts(name, []string{"text"})
	case f.Kind() == protoreflect.StringKind && strings.Contains(strings.ToLower(string(f.Parent().Name())), "timeouts"):
		m.Set(name, "7m0s")
	case name == "target":
		m.Set(name, "127.0.0.1:1")
	case f.Parent().Name() == "SupportsFeatureRequest":
		m.Set(name, "secrets")
	case f.Parent().Name() == "RequirePulumiVersionRequest":
		m.Set(name, ">=3.100.0")
	case f.Kind() == protoreflect.StringKind:
		m.Set(name, "text")
	case f.Kind() == protoreflect.BoolKind:
		m.Set(name, true)
	case f.Kind() == protoreflect.Int32Kind:
		m.Set(name, int32(7))
	case f.Kind() == protoreflect.EnumKind:
		m.SetEnum(name, 2)
	case f.Kind() == protoreflect.BytesKind && slices.Contains([]string{"replacement_trigger"}, name):
		m.SetValue(name, property.String("text"))
	case f.Kind() == protoreflect.BytesKind && name == "value":
		m.Set(name, []byte("text"))
	case f.Kind() == protoreflect.BytesKind:
		m.SetProperties(name, property.NewMap(property.Entry{Key: "color", Value: property.String("red")}))
	default:
		panic("no value for " + string(f.FullName()))
	}
}

const someURN = urn.URN("urn:pulumi:dev::shop::shop:index:Thing::thing")

func setCallback(m pulumiwire.Message) {
	m.Set("target", "127.0.0.1:1")
	m.Set("token", "token")
}

// asked is an engine that notes what it is asked.
type asked struct {
	callback.Monitor
	notes []any
	// result is that of registrations.
	result abi.RegistrationResult
}

// answer has each kind of value that an SDK may not take.
var answer = property.NewMap(
	property.Entry{Key: "secret", Value: property.Secret(property.String("text"))},
	property.Entry{Key: "unknown", Value: property.Unknown},
	property.Entry{Key: "reference", Value: property.Reference(property.ResourceReference{URN: string(someURN), HasID: true, ID: "id"})},
)

var (
	someFailures     = []abi.CheckFailure{{Path: "color", Reason: "not green"}}
	someDependencies = []abi.PropertyDependency{{Key: "color", URNs: []urn.URN{someURN}}}
)

func (a *asked) RegisterTransformed(_ context.Context, req abi.RegisterResourceRequest, transforms ...callback.ResourceTransform) (abi.RegisterResourceResponse, error) {
	a.notes = append(a.notes, req, len(transforms))
	return abi.RegisterResourceResponse{URN: someURN, ID: "id", State: answer, StateDependencies: someDependencies, Result: a.result}, nil
}

func (a *asked) LeftOut(urn.URN) bool { return a.result == abi.RegistrationResultSkipped }

func (a *asked) RegisterOutputs(_ context.Context, req abi.RegisterOutputsRequest) error {
	a.notes = append(a.notes, req)
	return nil
}

func (a *asked) Read(_ context.Context, req abi.ReadResourceRequest) (abi.RegisterResourceResponse, error) {
	a.notes = append(a.notes, req)
	return abi.RegisterResourceResponse{URN: someURN, ID: "id", State: answer, Result: a.result}, nil
}

func (a *asked) Exists(_ context.Context, req abi.ReadResourceRequest) (exists, known bool, err error) {
	a.notes = append(a.notes, req)
	return true, false, nil
}

func (a *asked) Invoke(_ context.Context, req abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	a.notes = append(a.notes, req)
	return abi.MonitorInvokeResponse{Result: answer, Failures: someFailures, Unknown: true}, nil
}

func (a *asked) Call(_ context.Context, req abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	a.notes = append(a.notes, req)
	return abi.MonitorCallResponse{Result: answer, ResultDependencies: someDependencies, Failures: someFailures}, nil
}

func (a *asked) RegisterPackage(_ context.Context, req abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	a.notes = append(a.notes, req)
	return abi.RegisterPackageResponse{PackageRef: "ref"}, nil
}

func (a *asked) RegisterStackTransform(callback.ResourceTransform) {
	a.notes = append(a.notes, "a transform")
}

func (a *asked) RegisterStackInvokeTransform(callback.InvokeTransform) {
	a.notes = append(a.notes, "a transform of functions")
}

func (a *asked) RegisterHook(h callback.Hook) error {
	a.notes = append(a.notes, h.Name, h.OnDryRun, h.IgnoreErrors)
	return nil
}

func (a *asked) RegisterErrorHook(h callback.ErrorHook) error {
	a.notes = append(a.notes, h.Name)
	return nil
}

// outcome is what a request has led to.
type outcome struct {
	notes []any
	out   proto.Message
	root  string
	err   string
}

// perform calls a method with a request, and returns what it led to.
func perform(method protoreflect.MethodDescriptor, in pulumiwire.Message, result abi.RegistrationResult) outcome {
	var o outcome
	a := &asked{result: result}
	m := &monitor{
		run: abi.RunContext{
			Project: "shop", Stack: "dev", Organization: "organization", Parallel: 3,
			DryRun: method.Name() == "GetDeploymentInfo",
			Config: []abi.ConfigEntry{{Key: "shop:color", Value: "red", Secret: true}},
		},
		engine: a, functions: newCallbacks(), report: func(d engine.Diagnostic) { a.notes = append(a.notes, d) },
		version:  func(_, wanted string) string { return wanted },
		node:     true,
		released: make(chan struct{}), done: make(chan struct{}), broken: make(chan struct{}), stack: someURN,
	}
	out := messageOf(method.Output())
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	serve := m.operations()[path]
	if serve == nil {
		serve = m.notices()[path]
	}
	if err := serve(context.Background(), in, out); err != nil {
		o.err = errors.Join(err, m.failed).Error()
	}
	sorted(out)
	o.notes, o.out, o.root = a.notes, out.Reflect.Interface(), m.root
	return o
}

// sorted encodes properties anew, in an order that is always the same.
func sorted(m pulumiwire.Message) {
	fields := m.Reflect.Descriptor().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		if fields.Get(i).Kind() != protoreflect.BytesKind || !m.Has(name) {
			continue
		}
		var s structpb.Struct
		if err := proto.Unmarshal(m.Bytes(name), &s); err != nil {
			panic(err)
		}
		encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(&s)
		if err != nil {
			panic(err)
		}
		m.Set(name, encoded)
	}
}

func (o outcome) equal(other outcome) bool {
	return reflect.DeepEqual(o.notes, other.notes) && proto.Equal(o.out, other.out) && o.root == other.root && o.err == other.err
}

// minimal fills a request as far as each has to be.
func minimal(m pulumiwire.Message, with string) (result abi.RegistrationResult) {
	switch m.Reflect.Descriptor().Name() {
	case "RegisterResourceRequest":
		m.Set("supportsResultReporting", with != "supportsResultReporting")
		if with == "supportsResultReporting" {
			result = abi.RegistrationResultFailed
		}
		if with == "aliasSpecs" {
			set(m, "aliases.urn")
		}
		if strings.HasPrefix(with, "aliases.") {
			m.Set("aliasSpecs", true)
		}
	case "RegisterResourceHookRequest", "RegisterErrorHookRequest":
		if with != "callback" {
			setCallback(m.Make("callback"))
		}
	case "Callback":
		setCallback(m)
		if with == "target" || with == "token" {
			m.Reflect.Clear(m.Field(with))
		}
	case "LogRequest":
		m.Set("message", "a message")
	}
	if with == "sourcePosition.line" || with == "sourcePosition.column" {
		set(m, "sourcePosition.uri")
	}
	if with == "sourcePosition.column" {
		set(m, "sourcePosition.line")
	}
	return result
}

// Each row is true, and there is one for each feature, method, and field that a program can send or get.
func TestTheTableOfTheProtocol(t *testing.T) {
	rows := tables(t)
	row := func(table, name string) *row {
		r := rows[table][name]
		require.NotNil(t, r, "docs/pulumi.md has no row for %s in the table %q", name, table)
		r.used = true
		return r
	}

	d, err := protocol().FindDescriptorByName("pulumirpc.ResourceMonitorFeature")
	require.NoError(t, err)
	for i := range d.(protoreflect.EnumDescriptor).Values().Len() {
		v := d.(protoreflect.EnumDescriptor).Values().Get(i)
		name := strings.TrimPrefix(string(v.Name()), "RESOURCE_MONITOR_FEATURE_")
		offered := false
		for _, f := range features {
			offered = offered || f.number == v.Number()
		}
		require.Equal(t, offered, row("Features", name).status == "yes", name)
	}

	given := map[protoreflect.FullName]map[string]bool{}
	for _, method := range methodsOf("pulumirpc.ResourceMonitor", "pulumirpc.Engine") {
		status := row(string(method.Parent().Name()), string(method.Name())).status
		if method.Name() == "SignalAndWaitForShutdown" {
			continue // it waits
		}
		base := messageOf(method.Input())
		minimal(base, "")
		o := perform(method, base, 0)
		if status == "refused" {
			require.Contains(t, o.err, unquoted(row(string(method.Parent().Name()), string(method.Name())).about))
			continue
		}
		note(given, o.out.ProtoReflect())
		for _, with := range leaves(method.Input()) {
			r := row(string(method.Input().Name()), with)
			without, in := messageOf(method.Input()), messageOf(method.Input())
			before := perform(method, without, minimal(without, with))
			result := minimal(in, with)
			set(in, with)
			o := perform(method, in, result)
			what := fmt.Sprintf("%s of %s is %q in docs/pulumi.md; its error is %q", with, method.Input().Name(), r.status, o.err)
			switch r.status {
			case "yes":
				require.False(t, o.equal(before), what)
				require.NotContains(t, o.err, "does not support", what)
			case "no effect":
				require.True(t, o.equal(before), what)
			default:
				require.Contains(t, o.err, unquoted(r.about), what)
			}
			note(given, o.out.ProtoReflect())
		}
		if method.Name() == "RegisterResource" || method.Name() == "ReadResource" {
			if method.Name() == "RegisterResource" {
				base.Set("custom", true)
			}
			note(given, perform(method, base, abi.RegistrationResultFailed).out.ProtoReflect())
			leftOut := perform(method, base, abi.RegistrationResultSkipped).out.ProtoReflect()
			require.False(t, leftOut.Has(leftOut.Descriptor().Fields().ByName("result")), "what targets leave out is a success")
			note(given, leftOut)
		}
		for _, with := range leaves(method.Output()) {
			status := row(string(method.Output().Name()), with).status
			require.Equal(t, status == "yes", given[method.Output().FullName()][with], "%s of %s", with, method.Output().Name())
		}
	}
	for _, name := range leaves(newMessage("pulumirpc.Callback").Reflect.Descriptor()) {
		row("Callback", name)
	}

	// A transform gets the options as they are, and returns them.
	options := newMessage("pulumirpc.TransformResourceOptions").Reflect.Descriptor()
	for _, with := range leaves(options) {
		m, again := messageOf(options), messageOf(options)
		set(m, with)
		read, err := pulumiwire.Options(m, abi.ResourceOptions{})
		require.NoError(t, err)
		pulumiwire.SetOptions(again, read)
		require.Equal(t, row("TransformResourceOptions", with).status == "yes", proto.Equal(m.Reflect.Interface(), again.Reflect.Interface()), with)
	}
	for table, messages := range map[string][]protoreflect.FullName{
		"TransformRequest and TransformResponse":             {"TransformRequest", "TransformResponse"},
		"TransformInvokeRequest and TransformInvokeResponse": {"TransformInvokeRequest", "TransformInvokeResponse"},
		"ResourceHookRequest and ResourceHookResponse":       {"ResourceHookRequest", "ResourceHookResponse"},
		"ErrorHookRequest and ErrorHookResponse":             {"ErrorHookRequest", "ErrorHookResponse"},
	} {
		for _, name := range messages {
			for _, with := range leaves(newMessage("pulumirpc." + name).Reflect.Descriptor()) {
				row(table, with)
			}
		}
	}
	for table, found := range rows {
		for name, r := range found {
			require.True(t, r.used, "docs/pulumi.md has a row for %s in the table %q, which the protocol lacks", name, table)
			require.Contains(t, []string{"yes", "no effect", "refused"}, r.status, name)
			require.False(t, r.status != "yes" && r.about == "", "%s: say why", name)
		}
	}
}

// unquoted returns the error in a cell.
func unquoted(about string) string {
	if parts := strings.Split(about, "`"); len(parts) > 1 {
		return parts[1]
	}
	return about
}

// note collects which fields of a message were set.
func note(given map[protoreflect.FullName]map[string]bool, m protoreflect.Message) {
	name := m.Descriptor().FullName()
	if given[name] == nil {
		given[name] = map[string]bool{}
	}
	var walk func(prefix string, m protoreflect.Message)
	walk = func(prefix string, m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			given[name][prefix+string(f.Name())] = true
			if f.IsList() && f.Message() != nil {
				walk(prefix+string(f.Name())+".", v.List().Get(0).Message())
			}
			return true
		})
	}
	walk("", m)
}

// Each test that a row names exists.
func TestTheTableNamesTests(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	tests := map[string]bool{}
	for _, below := range []string{"engine", "internal"} {
		require.NoError(t, filepath.WalkDir(top+below, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
				return err
			}
			source, err := os.ReadFile(name)
			for _, found := range declared.FindAllSubmatch(source, -1) {
				tests[string(found[1])] = true
			}
			return err
		}))
	}
	for table, found := range tables(t) {
		for name, r := range found {
			require.True(t, tests[r.test], "%s: %s names the test %q, which does not exist", table, name, r.test)
		}
	}
}
