package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/testdata/notes"
)

// opened returns an Open of notes in one folder, which wrong may make into something else.
func opened(t *testing.T, wrong func(*notes.Provider) abi.Provider) conformance.Open {
	folder := t.TempDir()
	return func(context.Context) (abi.Provider, error) {
		return wrong(&notes.Provider{Folder: folder}), nil
	}
}

func right(p *notes.Provider) abi.Provider { return p }

func run(t *testing.T, open conformance.Open, options conformance.Options) *conformance.Report {
	t.Helper()
	report, err := conformance.Run(t.Context(), open, options)
	require.NoError(t, err)
	return report
}

func TestRightProvider(t *testing.T) {
	for seed := range uint64(20) {
		report := run(t, opened(t, right), conformance.Options{Seed: seed})
		require.Empty(t, outcomes(report))
		require.Zero(t, report.Count(conformance.Skipped), "everything can be tried on notes")
	}
}

func TestSameSeedSameReport(t *testing.T) {
	encoded := func(seed uint64) string {
		data, err := json.Marshal(run(t, opened(t, forgetful), conformance.Options{Seed: seed}))
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, encoded(1), encoded(1))
	require.NotEqual(t, encoded(1), encoded(2))
}

// forgetful drops lines that are secret.
func forgetful(p *notes.Provider) abi.Provider { return forgetfulProvider{p} }

type forgetfulProvider struct{ *notes.Provider }

func (p forgetfulProvider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if lines, ok := response.Inputs.Lookup("lines"); ok {
		response.Inputs = response.Inputs.With("lines", lines.Plain())
	}
	return response, err
}

// A failure comes with a case that shows it, without what it does not take, and that
// does so again once it was written to a file and read.
func TestFailuresCanBeRunAgain(t *testing.T) {
	open := opened(t, forgetful)
	report := run(t, open, conformance.Options{Seed: 1})
	const message = "lines[0] was given as a secret, and check returns it in plain"
	require.Equal(t, map[string]string{"check-secrets": message}, outcomes(report))

	failure := report.Failures()[0]
	require.Equal(t, []string{"lines", "text", "title"}, failure.Case.Inputs.Keys(), "lines, and what is required")
	data, err := json.Marshal(report.Rerun(failure).Document())
	require.NoError(t, err)
	again := run(t, open, conformance.Options{Cases: readCases(t, string(data)), CasesOnly: true})
	require.Equal(t, map[string]string{"check-secrets": message}, outcomes(again))
	require.Empty(t, outcomes(run(t, opened(t, right), conformance.Options{Cases: readCases(t, string(data)), CasesOnly: true})))
}

func readCases(t *testing.T, text string) *conformance.Cases {
	t.Helper()
	var document any
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	cases, err := conformance.ReadCases(document)
	require.NoError(t, err)
	return cases
}

// native are providers that no host would let be so wrong.
var native = []struct {
	name  string
	wrong func(*notes.Provider) abi.Provider
	fails map[string]string
}{
	{"creates what is cancelled", func(p *notes.Provider) abi.Provider { return headless{p} }, map[string]string{
		"cancelled-before": "a create that was cancelled before it began succeeds",
	}},
	{"panics", func(p *notes.Provider) abi.Provider { return panicking{p} }, map[string]string{
		"list": "list: the provider panicked: no list",
	}},
	{"hangs", func(p *notes.Provider) abi.Provider { return hanging{p} }, map[string]string{
		"invoke": "invoke: the call did not return, not even 2s after its end",
	}},
	{"takes too long", func(p *notes.Provider) abi.Provider { return slow{p} }, map[string]string{
		"invoke": "invoke: the call was not done after 200ms",
	}},
}

type headless struct{ *notes.Provider }

func (p headless) Create(_ context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	return p.Provider.Create(context.Background(), request)
}

type panicking struct{ *notes.Provider }

func (panicking) List(context.Context, abi.ListRequest) (abi.ListResponse, error) { panic("no list") }

type hanging struct{ *notes.Provider }

func (hanging) Invoke(context.Context, abi.InvokeRequest) (abi.InvokeResponse, error) { select {} }

type slow struct{ *notes.Provider }

func (slow) Invoke(ctx context.Context, _ abi.InvokeRequest) (abi.InvokeResponse, error) {
	<-ctx.Done()
	return abi.InvokeResponse{}, ctx.Err()
}

func TestWrongProviders(t *testing.T) {
	for _, test := range native {
		t.Run(test.name, func(t *testing.T) {
			options := conformance.Options{Seed: 1}
			if test.name == "hangs" || test.name == "takes too long" {
				t.Parallel()
				options.Timeout, options.Promptness = 200*time.Millisecond, 500*time.Millisecond
				options.Only = []string{"invoke"}
			}
			require.Equal(t, test.fails, outcomes(run(t, opened(t, test.wrong), options)))
		})
	}
}

// A provider that cannot do what is asked, for want of something outside, may be right. But
// nobody has seen it, so that somebody has to say that it does not matter.
func TestWhatWasNeverSeenToWork(t *testing.T) {
	open := opened(t, func(p *notes.Provider) abi.Provider { return &notes.Provider{Folder: p.Folder + "/missing"} })
	for seed := range uint64(3) {
		report := run(t, open, conformance.Options{Seed: seed})
		require.Len(t, report.Failures(), 1, "what follows from it is not told again")
		failure := report.Failures()[0]
		require.Equal(t, []any{"create", notes.Note, true}, []any{failure.Check, failure.Subject, failure.Untested})
		require.Contains(t, failure.Message, "it was never seen to work: create: open ")
		require.NotZero(t, report.Count(conformance.Skipped))

		again := run(t, open, conformance.Options{Cases: report.Rerun(failure), CasesOnly: true})
		require.Contains(t, outcomes(again)["create"], "no such file or directory", "the case of the failure shows it")

		allowed := run(t, open, conformance.Options{Seed: seed, AllowUntested: []string{"notes:Note"}})
		require.Empty(t, outcomes(allowed))
		require.Equal(t, report.Count(conformance.Skipped)+1, allowed.Count(conformance.Skipped))
	}
	// Of a check that rests on it the reason is told.
	require.Contains(t, outcomes(run(t, open, conformance.Options{Only: []string{"read"}})), "create")
	require.Empty(t, outcomes(run(t, open, conformance.Options{Only: []string{"check-answers", "schema"}})))
	// Nothing is to be created.
	require.Empty(t, outcomes(run(t, open, conformance.Options{ReadOnly: true})))
}

// Cases that are all to fail show of nothing that it works, unless there is nothing else to be
// shown.
func TestCasesThatAreToFail(t *testing.T) {
	cases := readCases(t, `{"resources": {"notes:index:Note": [{"inputs": {"text": "a"}, "expect": {"refused": ["title"]}}]},
		"functions": {"notes:index:count": [{"args": {}, "expect": {"refused": ["text"]}}]}}`)
	open := opened(t, right)
	require.Equal(t, map[string]string{
		"create": "it was never seen to work: the inputs are to be refused, and so in all cases: add one that makes something",
		"invoke": "it was never seen to work: the call is to fail, and so in all cases: add one that is to succeed",
	}, outcomes(run(t, open, conformance.Options{Cases: cases})))
	require.Empty(t, outcomes(run(t, open, conformance.Options{Cases: cases, CasesOnly: true})))
	require.Empty(t, outcomes(run(t, open, conformance.Options{Cases: cases, AllowUntested: []string{"notes:index:Note", "notes:index:count"}})))
}

// Whatever the provider is configured with is a case of its configuration, as those that are
// made up may all be refused.
func TestTheGivenConfigurationIsACase(t *testing.T) {
	open := opened(t, func(p *notes.Provider) abi.Provider { return choosy{p} })
	require.Contains(t, outcomes(run(t, open, conformance.Options{}))["check-answers"], "reader: who is that?")
	given := property.NewMap(property.Entry{Key: "reader", Value: property.String("ann")})
	require.Empty(t, outcomes(run(t, open, conformance.Options{Config: given})))
}

// choosy knows one reader.
type choosy struct{ *notes.Provider }

func (p choosy) CheckConfig(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.CheckConfig(ctx, request)
	if reader := response.Inputs.Get("reader").Plain(); len(response.Failures) == 0 && reader.Kind() == property.KindString && !reader.EqualContents(property.String("ann")) {
		response.Failures = []abi.CheckFailure{{Path: "reader", Reason: "who is that?"}}
	}
	return response, err
}

func TestReadOnlyCreatesNothing(t *testing.T) {
	p := &counting{}
	open := opened(t, func(n *notes.Provider) abi.Provider { p.Provider = n; return p })
	report := run(t, open, conformance.Options{ReadOnly: true})
	require.Empty(t, outcomes(report))
	require.Zero(t, p.changes)
	require.NotZero(t, report.Count(conformance.OK))
}

// counting counts what changes the world.
type counting struct {
	*notes.Provider
	changes int
}

func (p *counting) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	if !request.Preview {
		p.changes++
	}
	return p.Provider.Create(ctx, request)
}

func (p *counting) Delete(ctx context.Context, request abi.DeleteRequest) error {
	if request.Type == notes.Note {
		p.changes++
	}
	return p.Provider.Delete(ctx, request)
}

// Whatever fails, nothing is left behind.
func TestNothingIsLeftBehind(t *testing.T) {
	for _, check := range []string{"read", "update", "preview-effects", "cancelled-create"} {
		folder := t.TempDir()
		open := func(context.Context) (abi.Provider, error) {
			return misreading{&notes.Provider{Folder: folder}}, nil
		}
		run(t, open, conformance.Options{Only: []string{check}})
		left, err := contents(folder)
		require.NoError(t, err)
		require.Empty(t, left, check)
	}
}

type misreading struct{ *notes.Provider }

func (p misreading) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	response, err := p.Provider.Read(ctx, request)
	response.State = response.State.With("words", property.Number(-1))
	return response, err
}

func TestParameters(t *testing.T) {
	open := opened(t, func(p *notes.Provider) abi.Provider { return parameterized{p} })
	cases := readCases(t, `{"parameters": ["notes", "1.0.0"]}`)
	require.Empty(t, outcomes(run(t, open, conformance.Options{Cases: cases})))
	require.Equal(t, map[string]string{"schema": `the schema names the package "notes", and the handshake names "blank"`},
		outcomes(run(t, open, conformance.Options{})))
}

// parameterized is no package before it is made into one.
type parameterized struct{ *notes.Provider }

func (p parameterized) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	response, err := p.Provider.Handshake(ctx, request)
	response.Name = "blank"
	return response, err
}

func (parameterized) Parameterize(_ context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	args := request.Parameters.Args
	return abi.ParameterizeResponse{Name: args[0], Version: args[1]}, nil
}

func TestErrorsOfTheTestItself(t *testing.T) {
	t.Run("a check that does not exist", func(t *testing.T) {
		_, err := conformance.Run(t.Context(), opened(t, right), conformance.Options{Only: []string{"spelling"}})
		require.EqualError(t, err, `there is no check "spelling"`)
	})
	t.Run("a provider that cannot be opened", func(t *testing.T) {
		none := func(context.Context) (abi.Provider, error) { return nil, errors.New("no such file") }
		_, err := conformance.Run(t.Context(), none, conformance.Options{})
		require.EqualError(t, err, "opening the provider: no such file")
	})
	t.Run("cases of another package", func(t *testing.T) {
		cases := readCases(t, `{"resources": {"notes:index:Mote": []}}`)
		_, err := conformance.Run(t.Context(), opened(t, right), conformance.Options{Cases: cases})
		require.EqualError(t, err, "cases: the package notes has no notes:index:Mote; did you mean notes:Note?")
	})
	t.Run("nothing of that name to be untested", func(t *testing.T) {
		_, err := conformance.Run(t.Context(), opened(t, right), conformance.Options{AllowUntested: []string{"notes:index:Mote"}})
		require.EqualError(t, err, "allowed to be untested: the package notes has no notes:index:Mote; did you mean notes:Note?")
	})
	t.Run("a context that ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := conformance.Run(ctx, opened(t, right), conformance.Options{})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// returning declares that functions response a type without properties.
type returning struct {
	*notes.Provider
	typ *schema.Type
}

func (p returning) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	pkg := *notes.Schema
	pkg.Functions = slices.Clone(pkg.Functions)
	for i, f := range pkg.Functions {
		if !f.Streams {
			changed := *f
			changed.Result, changed.Returns = schema.Object{}, p.typ
			pkg.Functions[i] = &changed
		}
	}
	return abi.GetSchemaResponse{Schema: string(pkg.AppendJSON(nil))}, nil
}

// A result may be of a type that has no properties of its own.
func TestResultsWithoutProperties(t *testing.T) {
	test := func(kind schema.Kind) map[string]string {
		typ := &schema.Type{Kind: schema.KindMap, Element: &schema.Type{Kind: kind}}
		return outcomes(run(t, opened(t, func(p *notes.Provider) abi.Provider { return returning{p, typ} }),
			conformance.Options{Only: []string{"invoke"}}))
	}
	require.Empty(t, test(schema.KindAny))
	require.Contains(t, test(schema.KindBool)["invoke"], "the result that invoke returns does not fit the schema: ")
}
