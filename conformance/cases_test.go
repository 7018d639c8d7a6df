package conformance_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/testdata/notes"
)

// Written cases are used as they are, and what they expect is a check of its own.
func TestWrittenCases(t *testing.T) {
	for _, test := range []struct {
		name, cases string
		fails       map[string]string
	}{
		{"as expected", `{"resources": {"notes:Note": [
			{"name": "a", "inputs": {"title": "a", "text": "one two"},
			 "updates": [
				{"inputs": {"title": "a", "text": "one two"}, "expect": "none"},
				{"inputs": {"title": "a", "text": "three"}, "expect": "update"},
				{"inputs": {"title": "b", "text": "three"}, "expect": "replace"}],
			 "expect": {"outputs": {"words": 2, "copies": 1}}},
			{"inputs": {"title": "a", "copies": 10}, "expect": {"refused": ["text", "copies"]}},
			{"inputs": {"title": "x", "text": {"fn::secret": "x"}}}]},
		  "functions": {"notes:count": [
			{"args": {"text": "a b"}, "expect": {"outputs": {"words": 2}}},
			{"args": {}, "expect": {"refused": ["text"]}}]}}`, map[string]string{}},
		{"another output", `{"resources": {"notes:Note": [
			{"inputs": {"title": "a", "text": "one two"}, "expect": {"outputs": {"words": 3}}}]}}`,
			map[string]string{"expectations": "words is to be 3, and is 2"}},
		{"another diff", `{"resources": {"notes:Note": [
			{"inputs": {"title": "a", "text": "x"}, "updates": [{"inputs": {"title": "b", "text": "x"}, "expect": "update"}]}]}}`,
			map[string]string{"expectations": "update 1: expected update, got replace: changes some, title update-replace"}},
		{"no error", `{"resources": {"notes:Note": [
			{"inputs": {"title": "a", "text": "x"}, "expect": {"error": "unavailable"}}]}}`,
			map[string]string{"expectations": "create must return the error unavailable, and succeeds"}},
		{"not refused", `{"resources": {"notes:Note": [
			{"inputs": {"title": "a", "text": "x"}, "expect": {"refused": ["title"]}}]}}`,
			map[string]string{"expectations": `check is to refuse "title", and says: nothing`}},
		{"refused", `{"resources": {"notes:Note": [{"inputs": {"title": "a"}}]}}`,
			map[string]string{"check-answers": `check refuses {title: "a"}: text: required property is missing; expected string`}},
		{"a result", `{"functions": {"notes:count": [{"args": {"text": "a"}, "expect": {"outputs": {"words": 5}}}]}}`,
			map[string]string{"expectations": "words is to be 5, and is 1"}},
		{"a configuration", `{"configurations": [{"inputs": {"raeder": "me"}}]}`,
			map[string]string{"check-answers": `check refuses {raeder: "me"}: raeder: no such configuration key; did you mean "reader"?`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := run(t, opened(t, right), conformance.Options{Cases: readCases(t, test.cases), CasesOnly: true})
			require.Equal(t, test.fails, outcomes(report))
		})
	}
}

func TestCasesThatCannotBeRead(t *testing.T) {
	for _, test := range []struct{ cases, message string }{
		{`[]`, "cases: must be an object"},
		{`{"resorces": {}}`, `cases: there is no member "resorces" here; did you mean "resources"? there are checks, config, configurations, extension, functions, parameters, provider, resources, seed`},
		{`{"resources": {"a:b:C": {}}}`, `cases: resources["a:b:C"]: must be a list`},
		{`{"resources": {"a:b:C": [{"args": {}}]}}`, `cases: resources["a:b:C"][0]: there is no member "args" here; there are expect, inputs, name, updates`},
		{`{"functions": {"a:b:c": [{"args": {"x": {"fn::secrt": 1}}}]}}`, `cases: functions["a:b:c"][0].args: x: fn::secrt: there is no such function; there are fn::secret, fn::unknown, fn::number, fn::asset, fn::archive, fn::resource, fn::output, and fn::object`},
		{`{"resources": {"a:b:C": [{"updates": [{"expect": "delete"}]}]}}`, `cases: resources["a:b:C"][0].updates[0].expect: must be none, update, or replace`},
		{`{"resources": {"a:b:C": [{"expect": {"error": "lost"}}]}}`, `cases: resources["a:b:C"][0].expect.error: there is no kind of error "lost"; there are invalid-argument, not-found, unimplemented, unavailable, cancelled, init-failed, denied, internal, crashed`},
		{`{"checks": ["spelling"]}`, `cases: checks: there is no check "spelling"`},
		{`{"seed": -1}`, "cases: seed: must be a natural number"},
		{`{"config": {"a": {"fn::asset": {"text": "a", "path": "b"}}}}`, "cases: config: a: fn::asset: an asset has one of text, path, and uri"},
	} {
		t.Run(test.cases, func(t *testing.T) {
			var document any
			require.NoError(t, json.Unmarshal([]byte(test.cases), &document))
			_, err := conformance.ReadCases(document)
			require.EqualError(t, err, test.message)
		})
	}
}

// everyKind has a value of each kind that a file of cases can hold.
var everyKind = property.NewMap(
	property.Entry{Key: "null", Value: property.Null},
	property.Entry{Key: "bool", Value: property.Bool(true)},
	property.Entry{Key: "numbers", Value: property.Array(property.Number(1.5), property.Number(math.NaN()), property.Number(math.Inf(1)), property.Number(math.Inf(-1)), property.Number(-1<<60))},
	property.Entry{Key: "string", Value: property.String("\u202e\n")},
	property.Entry{Key: "object", Value: property.Object(property.NewMap(property.Entry{Key: "fn::secret", Value: property.String("no function")}))},
	property.Entry{Key: "assets", Value: property.Array(
		property.AssetOf(property.Asset{Hash: "h", Source: property.SourceText, Text: "t"}),
		property.AssetOf(property.Asset{Source: property.SourcePath, Path: "p"}),
		property.AssetOf(property.Asset{Source: property.SourceURI, URI: "u"}),
		property.AssetOf(property.Asset{Hash: "h"}))},
	property.Entry{Key: "archives", Value: property.Array(
		property.ArchiveOf(property.Archive{Source: property.SourceAssets, Assets: property.NewMap(
			property.Entry{Key: "a", Value: property.AssetOf(property.Asset{Source: property.SourcePath, Path: "p"})})}),
		property.ArchiveOf(property.Archive{Source: property.SourcePath, Path: "p"}),
		property.ArchiveOf(property.Archive{Source: property.SourceURI, URI: "u"}),
		property.ArchiveOf(property.Archive{}))},
	property.Entry{Key: "references", Value: property.Array(
		property.Reference(property.ResourceReference{URN: "u"}),
		property.Reference(property.ResourceReference{URN: "u", HasID: true, PackageVersion: "1.0.0"}),
		property.Reference(property.ResourceReference{URN: "u", HasID: true, ID: "i"}))},
	property.Entry{Key: "unknown", Value: property.Unknown},
	property.Entry{Key: "secret", Value: property.Secret(property.Array(property.Unknown))},
	property.Entry{Key: "output", Value: property.OutputOf(property.Output{Value: property.Bool(false), Secret: true, Dependencies: []string{"a", "b"}})},
)

func TestCasesSurviveTheirFile(t *testing.T) {
	seed := uint64(7)
	cases := &conformance.Cases{
		Provider: "notes 1.0.0", Checks: []string{"read", "create"}, Seed: &seed, Parameters: []string{"a"},
		Config:         everyKind,
		Configurations: []conformance.Case{{Name: "c", Inputs: everyKind}},
		Resources: map[string][]conformance.Case{"a:b:C": {
			{Inputs: everyKind, Updates: []conformance.Update{{Inputs: everyKind, Expect: "none"}, {}}},
			{Expect: &conformance.Expectation{Refused: []string{"a", "b[0]"}}},
			{Expect: &conformance.Expectation{Error: "not-found", Outputs: everyKind}},
		}},
		Functions: map[string][]conformance.Case{"a:b:c": {{Name: "f", Inputs: everyKind, Updates: nil}}},
	}
	data, err := json.Marshal(cases.Document())
	require.NoError(t, err)
	back := readCases(t, string(data))
	again, err := json.Marshal(back.Document())
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(again))
	require.True(t, everyKind.Equal(back.Config), "%s", property.Diff(everyKind, back.Config))
	require.Equal(t, cases.Checks, back.Checks)
	require.Equal(t, cases.Parameters, back.Parameters)
	require.Equal(t, seed, *back.Seed)
	require.Len(t, back.Resources["a:b:C"][0].Updates, 2)
}

// What can be read can be written, and is then read as the same.
func FuzzReadCases(f *testing.F) {
	f.Add([]byte(`{"checks": ["read"], "seed": 1, "config": {"a": {"fn::unknown": true}}}`))
	f.Add([]byte(`{"resources": {"a:b:C": [{"inputs": {"x": {"fn::archive": {"assets": {"f": {"fn::asset": {"text": "t"}}}}}}, "updates": []}]}}`))
	f.Add([]byte(`{"functions": {"a:b:c": [{"args": {"x": {"fn::output": {"value": 1, "dependencies": ["u"]}}}, "expect": {"error": "denied"}}]}}`))
	f.Add([]byte(`{"config": {"a": {"fn::object": {"fn::number": "-0"}}, "b": {"fn::number": "0x1p-2"}, "c": {"fn::resource": {"id": ""}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var document any
		if json.Unmarshal(data, &document) != nil {
			return
		}
		cases, err := conformance.ReadCases(document)
		if err != nil {
			return
		}
		first, err := json.Marshal(cases.Document())
		require.NoError(t, err)
		second, err := json.Marshal(readCases(t, string(first)).Document())
		require.NoError(t, err)
		require.JSONEq(t, string(first), string(second))
	})
}

// rule is the environment variable that makes the module break a rule.
const rule = "NOTES_BREAK"

// cancelGrace is how long the host lets a guest go on that was cancelled: not as long as
// it does elsewhere, because a test waits for it.
const cancelGrace = 1200 * time.Millisecond

// loadModule builds and compiles testdata/wrong, which takes most of the time of its tests.
func loadModule(t *testing.T) *host.Module {
	t.Helper()
	testmodule.Skip(t)
	module, err := testmodule.Host(t, host.NewConfig().WithCancelGrace(cancelGrace)).LoadBytes(t.Context(), testmodule.Build(t, "../testdata/wrong"))
	require.NoError(t, err)
	return module
}

// testModule tests a module, with a directory for its notes.
func testModule(t *testing.T, module *host.Module, options conformance.Options, log slog.Handler) *conformance.Report {
	t.Helper()
	folder := t.TempDir()
	grants := host.Grants{
		Env: []string{rule},
		FS:  []host.FSGrant{{HostPath: folder, GuestPath: notes.DefaultFolder, ReadWrite: true}},
	}
	options.Observe = func(context.Context) (map[string]string, error) { return contents(folder) }
	report, err := conformance.Run(t.Context(), func(ctx context.Context) (abi.Provider, error) {
		return module.NewProvider(ctx, host.ProviderOptions{Name: "notes", Grants: grants, Lenient: true, Logger: slog.New(log)})
	}, options)
	require.NoError(t, err)
	return report
}

// begins is a log that hears of creates which say that they have begun.
type begins chan struct{}

func (b begins) wait(create context.Context) {
	select {
	case <-b:
	case <-create.Done():
	}
}

func (b begins) Enabled(context.Context, slog.Level) bool { return true }

func (b begins) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "begun" {
		select {
		case b <- struct{}{}:
		default: // nobody has waited for the one before
		}
	}
	return nil
}

func (b begins) WithAttrs([]slog.Attr) slog.Handler { return b }
func (b begins) WithGroup(string) slog.Handler      { return b }

// contents returns those of the files in a directory.
func contents(folder string) (map[string]string, error) {
	entries, err := os.ReadDir(folder)
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files[e.Name()] = string(data)
	}
	return files, err
}

// outcomes returns the failed checks with their messages.
func outcomes(report *conformance.Report) map[string]string {
	failed := map[string]string{}
	for _, r := range report.Failures() {
		failed[r.Check] = regexp.MustCompile(` at main\.\S+ \(\w+\.go:\d+\)`).ReplaceAllString(r.Message, " at FRAME")
	}
	return failed
}
