// Package contacts_test holds the provider contacts in each language to the contract, and to the same in Go.
package contacts_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/examples/contacts/provider"
	"github.com/husk-dev/husk/examples/internal/contactstest"
	guestsdk "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/guesttest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/langbuild"
	"github.com/husk-dev/husk/internal/property/fakevalue"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// languages are those in which the provider is. Each module is committed, so that machines without the tools test it, too. So is the one
// of the program roster in Rust.
var languages = []string{"c", "rust"}

const rosterInRust = "roster/rust"

// packed returns the file with the module of a directory.
func packed(dir string) string { return "testdata/" + strings.ReplaceAll(dir, "/", "-") + ".wasm.gz" }

// TestTheSDKInJavaScript runs the SDK's own tests.
func TestTheSDKInJavaScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil || exec.CommandContext(t.Context(), node, "-e", `process.exit("".toWellFormed ? 0 : 1)`).Run() != nil {
		t.Skip("there is no Node.js 20")
	}
	out, err := exec.CommandContext(t.Context(), node, "../../guest-sdk/js/tests/sdk.mjs").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// open returns the committed module of a directory, and the sum of the source that it is of.
func open(dir string) (wasm []byte, sum string, err error) {
	file, err := os.ReadFile(packed(dir))
	if err != nil {
		return nil, "", err
	}
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, "", err
	}
	wasm, err = io.ReadAll(r)
	return wasm, r.Comment, err
}

// sumOf returns a sum of the source in a directory, and of the SDK.
func sumOf(t *testing.T, dir string) string {
	sum := sha256.New()
	for _, files := range []fs.FS{guestsdk.In(path.Base(dir)), os.DirFS(dir)} {
		require.NoError(t, fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || name == "target" {
				return cmp.Or(err, fs.SkipDir)
			}
			if d.IsDir() {
				return nil
			}
			text, err := fs.ReadFile(files, name)
			fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
			return err
		}))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// inEach runs a test with each module, and with the process in Python.
func inEach(t *testing.T, test func(t *testing.T, open contactstest.Opener)) {
	t.Run("python", func(t *testing.T) {
		if testing.Short() {
			t.Skip("an interpreter of Python in a module is slow")
		}
		t.Parallel()
		shared := openPython(t) // because it takes half a second to start
		test(t, func(t testing.TB, lenient bool, _ string) abi.Provider {
			p := shared
			if lenient { // for the conformance kit, which configures some with unknowns
				p = openPython(t)
			}
			_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test", Features: abi.AllFeatures})
			require.NoError(t, err)
			return p
		})
	})
	inModules(t, test)
}

// languageOf returns the language of a test of [inEach].
func languageOf(t *testing.T) string { return path.Base(t.Name()) }

func inModules(t *testing.T, test func(t *testing.T, open contactstest.Opener)) {
	for _, l := range languages {
		t.Run(l, func(t *testing.T) {
			if l == "rust" && testing.Short() {
				t.Skip("it is as the one in C")
			}
			t.Parallel()
			test(t, contactstest.OpenerOf(load(t, l)))
		})
	}
}

// load loads the committed module of a directory.
func load(t *testing.T, dir string) *host.Module {
	wasm, _, err := open(dir)
	require.NoError(t, err)
	module, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), wasm)
	require.NoError(t, err)
	return module
}

// The committed modules are of the sources, and those can be built where the tools are. With -update the modules become so.
func TestModulesAreCurrent(t *testing.T) {
	testmodule.Skip(t)
	for _, l := range append(languages, rosterInRust) {
		t.Run(l, func(t *testing.T) {
			source := sumOf(t, l)
			language := langbuild.Of(l)
			require.NotNil(t, language)
			wasm, err := language.Build(t.Context(), langbuild.Source{Dir: l, Root: l, SDK: guestsdk.In(language.Name)})
			missing, lacks := errors.AsType[*langbuild.MissingError](err)
			if !lacks {
				require.NoError(t, err)
				_, err = testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), wasm)
				require.NoError(t, err)
			}
			if flag.Lookup("update").Value.String() == "true" && !lacks { // of package guesttest
				var file bytes.Buffer
				w, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
				require.NoError(t, err)
				w.Comment = source
				_, err = w.Write(wasm)
				require.NoError(t, errors.Join(err, w.Close(), os.WriteFile(packed(l), file.Bytes(), 0o644)))
			}
			_, of, err := open(l)
			require.NoError(t, err)
			require.Equal(t, source, of, "the module is not of this source: go test ./examples/contacts -run Current -update")
			if lacks {
				t.Skip(missing)
			}
		})
	}
}

func TestConformance(t *testing.T) {
	inEach(t, contactstest.Conformance)
}

// Whatever request of its life fails, nothing is forgotten.
func TestFaults(t *testing.T) {
	inEach(t, func(t *testing.T, open contactstest.Opener) {
		contactstest.Faults(t, func(t testing.TB, lenient bool, url string) abi.Provider {
			return withoutPreviews{open(t, lenient, url)}
		})
	})
}

// The stack of a module holds the deepest values.
func TestTheDeepestValues(t *testing.T) {
	inModules(t, func(t *testing.T, open contactstest.Opener) {
		api, _ := contactstest.Service(t)
		p := open(t, true, api.URL)
		require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: property.NewMap(property.Entry{Key: "url", Value: property.String(api.URL)})}))
		deep := property.Secret(property.String("correct horse"))
		for range property.DefaultDepth - 2 {
			deep = property.Array(deep)
		}
		state := property.NewMap(property.Entry{Key: "tags", Value: deep})
		api.Answer("GET /contacts/deep", 200, guesttest.Props{"name": "Ann", "kind": "person", "priority": 1, "tags": []string{"correct horse"}})
		read, err := p.Read(t.Context(), abi.ReadRequest{Type: contactstest.Contact, ID: "deep", State: &state, Inputs: &state})
		require.NoError(t, err)
		require.True(t, read.State.Get("tags").IsSecret())
	})
}

// withoutPreviews answers previews as an engine does for a provider that does not know them.
type withoutPreviews struct{ abi.Provider }

func (p withoutPreviews) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	if r.Preview {
		return abi.CreateResponse{}, nil
	}
	return p.Provider.Create(ctx, r)
}

func (p withoutPreviews) Update(ctx context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	if r.Preview {
		return abi.UpdateResponse{}, nil
	}
	return p.Provider.Update(ctx, r)
}

// asked is how many inputs are generated. Each is checked, and most are created, compared, updated, read, and deleted: 1,000
// requests and more.
const asked = 200

// The module answers generated requests as the provider in Go does.
func TestAnswersOfTheTwin(t *testing.T) {
	inEach(t, func(t *testing.T, open contactstest.Opener) {
		ours, _ := contactstest.Service(t)
		theirs, _ := contactstest.Service(t)
		twin, err := guest.New(provider.New())
		require.NoError(t, err)
		tw := &twins{t: t, native: twin, module: open(t, false, theirs.URL)}
		for url, p := range map[string]abi.Provider{ours.URL: tw.native, theirs.URL: tw.module} {
			require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: property.NewMap(property.Entry{Key: "url", Value: property.String(url)})}))
		}
		r, find := tw.schema()
		for seed := range uint64(asked) {
			tw.live(seed, r)
			if seed%4 == 0 {
				ask(tw, abi.InvokeRequest{Token: find.Token, Args: tw.inputs(seed, &find.Args)}, abi.Provider.Invoke)
			}
		}
		ask(tw, abi.ListRequest{Token: contactstest.Contact}, abi.Provider.List)
		ask(tw, abi.ListRequest{Token: "contacts:index:None"}, abi.Provider.List)
		require.Greater(t, tw.answers, 1000)
	})
}

type twins struct {
	t              *testing.T
	native, module abi.Provider
	answers        int
}

// ask asks both, and requires the same answer.
func ask[Q, R any](tw *twins, question Q, method func(abi.Provider, context.Context, Q) (R, error)) (R, bool) {
	tw.t.Helper()
	tw.answers++
	ours, ourErr := method(tw.native, tw.t.Context(), question)
	theirs, theirErr := method(tw.module, tw.t.Context(), question)
	if ourErr != nil || theirErr != nil {
		a, b := abi.AsError(ourErr), abi.AsError(theirErr)
		require.True(tw.t, a != nil && b != nil, "%v and %v to %v", ourErr, theirErr, question)
		require.Equal(tw.t, []any{a.Kind, a.Path, a.Message}, []any{b.Kind, b.Path, b.Message}, "to %v", question)
		return ours, false
	}
	require.Equal(tw.t, canontest.Dump(ours), canontest.Dump(theirs), "to %v", question)
	return ours, true
}

// schema requires that both have the same schema, but for who checks arguments and the inputs of components: the host for C and Rust.
func (tw *twins) schema() (*schema.Resource, *schema.Function) {
	var texts [2]string
	var parsed [2]*schema.Package
	for i, p := range []abi.Provider{tw.native, tw.module} {
		response, err := p.GetSchema(tw.t.Context(), abi.GetSchemaRequest{})
		require.NoError(tw.t, err)
		texts[i] = response.Schema
		parsed[i], err = schemajson.Parse([]byte(response.Schema))
		require.NoError(tw.t, err)
	}
	if languageOf(tw.t) == "python" {
		require.Equal(tw.t, texts[0], texts[1])
		return parsed[0].Resources[0], parsed[0].Functions[0]
	}
	require.True(tw.t, parsed[1].Functions[0].SchemaCheck)
	parsed[1].Functions[0].SchemaCheck = false
	require.True(tw.t, parsed[1].Resource(contactstest.Team).SchemaCheck)
	parsed[1].Resource(contactstest.Team).SchemaCheck = false
	require.Equal(tw.t, string(parsed[0].AppendJSON(nil)), string(parsed[1].AppendJSON(nil)))
	return parsed[0].Resources[0], parsed[0].Functions[0]
}

// inputs returns inputs that fit, with secrets in them at times, or with something that does not.
func (tw *twins) inputs(seed uint64, o *schema.Object) property.Map {
	random := rand.New(rand.NewPCG(seed, 1))
	g := &fakevalue.Generator{Random: random, Optional: func() bool { return random.IntN(2) == 0 }}
	m := g.Object(o)
	for _, key := range m.Keys() {
		switch random.IntN(20) {
		case 0:
			m = m.With(key, property.Secret(m.Get(key)))
		case 1:
			m = m.With(key, property.Array(property.Secret(m.Get(key))))
		case 2:
			m = m.With("x"+key, m.Get(key))
		case 3:
			m = m.With(key, property.Unknown)
		}
	}
	if a, ok := m.Get("address").AsObject(); ok && random.IntN(3) == 0 {
		m = m.With("address", property.Object(a.With("city", property.Secret(a.Get("city")))))
	}
	return m
}

// live takes a contact through its life.
func (tw *twins) live(seed uint64, r *schema.Resource) {
	u := urn.New("dev", "test", "", r.Token, "it")
	checked, ok := ask(tw, abi.CheckRequest{URN: u, Name: "it", Type: r.Token, News: tw.inputs(seed, &r.Inputs), RandomSeed: make([]byte, 32)}, abi.Provider.Check)
	if !ok || len(checked.Failures) > 0 {
		return
	}
	created, ok := ask(tw, abi.CreateRequest{URN: u, Name: "it", Type: r.Token, Inputs: checked.Inputs}, abi.Provider.Create)
	if !ok {
		return
	}
	news, ok := ask(tw, abi.CheckRequest{URN: u, Type: r.Token, Olds: &checked.Inputs, News: tw.inputs(seed+asked, &r.Inputs), RandomSeed: make([]byte, 32)}, abi.Provider.Check)
	state := created.State
	if ok && len(news.Failures) == 0 {
		ask(tw, abi.DiffRequest{URN: u, Type: r.Token, ID: created.ID, Olds: state, OldInputs: checked.Inputs, News: news.Inputs}, abi.Provider.Diff)
		updated, ok := ask(tw, abi.UpdateRequest{URN: u, Type: r.Token, ID: created.ID, Olds: state, OldInputs: checked.Inputs, News: news.Inputs}, abi.Provider.Update)
		if ok {
			state, checked.Inputs = updated.State, news.Inputs
		}
	}
	ask(tw, abi.ReadRequest{URN: u, Type: r.Token, ID: created.ID, State: &state, Inputs: &checked.Inputs}, abi.Provider.Read)
	ask(tw, abi.ReadRequest{URN: u, Type: r.Token, ID: created.ID}, abi.Provider.Read)
	if seed%3 == 0 {
		return
	}
	for range 2 {
		ask(tw, abi.DeleteRequest{URN: u, Type: r.Token, ID: created.ID, State: state}, func(p abi.Provider, ctx context.Context, q abi.DeleteRequest) (struct{}, error) {
			return struct{}{}, p.Delete(ctx, q)
		})
	}
	ask(tw, abi.ReadRequest{URN: u, Type: r.Token, ID: created.ID}, abi.Provider.Read)
}
