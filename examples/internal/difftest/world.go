package difftest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/metaschema"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// world is where the twins live: the resources that exist, alike for both, and the
// actions that a deployment, or the passing of time, may take next.
type world struct {
	*twins
	questions
	pkg       *schema.Package
	resources []resource
	// costly are the types whose resources take long to make. There are fewer of them.
	costly []string
	// more are the actions that only this provider's world knows.
	more map[string]func(*rapid.T)
	// begin brings the world to its beginning; check compares what is outside of the
	// resources. Both may be nil.
	begin func()
	check func(*rapid.T)
}

// resource is one that exists.
type resource struct {
	token, id     string
	inputs, state property.Map
}

func newWorld(t *testing.T, declared guest.Provider, dir string, grants host.Grants) *world {
	t.Helper()
	load := func(config host.Config) *host.Module { return testmodule.Load(t, dir, config) }
	return worldOf(t, newTwins(t, declared, load, Options{Grants: grants}))
}

func worldOf(t *testing.T, of *twins) *world {
	t.Helper()
	w := &world{twins: of}
	_, err := ask(w.twins, t, "handshake", abi.HandshakeRequest{Engine: "test", Features: abi.FeaturesSecrets},
		func(p abi.Provider, ctx context.Context, r abi.HandshakeRequest) (abi.HandshakeResponse, error) {
			response, err := p.Handshake(ctx, r)
			response.SDK = "" // which differs between languages
			return response, err
		})
	require.NoError(t, err)
	response, err := ask(w.twins, t, "get-schema", abi.GetSchemaRequest{}, abi.Provider.GetSchema)
	require.NoError(t, err)
	require.NoError(t, metaschema.Validate([]byte(response.Schema)))
	w.pkg, err = schemajson.Parse([]byte(response.Schema))
	require.NoError(t, err)
	w.pkg.Resources = slices.DeleteFunc(w.pkg.Resources, func(r *schema.Resource) bool { return r.Component }) // which have no life of their own
	return w
}

// live lets the twins answer what happens in one history that goes well, and in many
// short ones in which anything may happen.
func (w *world) live() {
	w.goWell()
	rapid.Check(w.t, func(t *rapid.T) {
		w.resources, w.calls = nil, uint64(rapid.Uint32().Draw(t, "seed"))<<32
		w.clock.set(startOfTime)
		if w.begin != nil {
			w.begin()
		}
		actions := map[string]func(*rapid.T){
			"":              func(t *rapid.T) { w.compare(t) },
			"check":         w.tryCheck,
			"create":        func(t *rapid.T) { w.tryCreate(t, false) },
			"previewCreate": func(t *rapid.T) { w.tryCreate(t, true) },
			"diff":          w.tryDiff,
			"update":        func(t *rapid.T) { w.tryUpdate(t, false) },
			"previewUpdate": func(t *rapid.T) { w.tryUpdate(t, true) },
			"refresh":       w.tryRefresh,
			"import":        w.tryImport,
			"delete":        w.tryDelete,
			"invoke":        w.tryInvoke,
			"wrong":         w.tryWrong,
			"wait": func(t *rapid.T) {
				w.clock.set(w.clock.Now().Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "hours")) * time.Hour))
			},
		}
		for name, action := range w.more {
			actions[name] = action
		}
		t.Repeat(actions)
	})
}

// goWell takes a sample of everything that there is through its life.
func (w *world) goWell() {
	if w.begin != nil {
		w.begin()
	}
	for _, f := range w.pkg.Functions {
		response, err := ask(w.twins, w.t, f.Token, abi.InvokeRequest{Token: f.Token, Args: w.samples[f.Token]}, abi.Provider.Invoke)
		require.NoError(w.t, err)
		require.Empty(w.t, response.Failures)
	}
	for _, r := range w.pkg.Resources {
		u, token := urnOf(r.Token), r.Token
		checked, err := ask(w.twins, w.t, token, abi.CheckRequest{URN: u, Type: token, News: w.samples[token]}, abi.Provider.Check)
		require.NoError(w.t, err)
		require.Empty(w.t, checked.Failures)
		_, err = ask(w.twins, w.t, token, abi.CreateRequest{URN: u, Type: token, Inputs: checked.Inputs, Preview: true}, abi.Provider.Create)
		require.NoError(w.t, err)
		created, err := ask(w.twins, w.t, token, abi.CreateRequest{URN: u, Type: token, Inputs: checked.Inputs}, abi.Provider.Create)
		require.NoError(w.t, err)
		diff, err := ask(w.twins, w.t, token, abi.DiffRequest{
			URN: u, Type: token, ID: created.ID, Olds: created.State, OldInputs: checked.Inputs, News: checked.Inputs,
		}, abi.Provider.Diff)
		require.NoError(w.t, err)
		require.Equal(w.t, abi.DiffChangesNone, diff.Changes)
		read, err := ask(w.twins, w.t, token, abi.ReadRequest{
			URN: u, Type: token, ID: created.ID, State: &created.State, Inputs: &checked.Inputs,
		}, abi.Provider.Read)
		require.NoError(w.t, err)
		require.Empty(w.t, property.Diff(created.State, read.State))
		_, err = ask(w.twins, w.t, token, abi.DeleteRequest{URN: u, Type: token, ID: created.ID, State: created.State}, answerless(abi.Provider.Delete))
		require.NoError(w.t, err)
	}
}

func (w *world) compare(t *rapid.T) {
	if w.check != nil {
		w.check(t)
	}
}

const name = "test"

func urnOf(token string) urn.URN { return urn.New("dev", "test", "", token, name) }

func (w *world) drawType(t *rapid.T) *schema.Resource {
	r := w.pkg.Resources[rapid.IntRange(0, len(w.pkg.Resources)-1).Draw(t, "type")]
	if slices.Contains(w.costly, r.Token) && !w.rarely(t) {
		r = w.pkg.Resources[0]
	}
	return r
}

// drawResource returns one that exists; it skips the action if there is none.
func (w *world) drawResource(t *rapid.T) (int, *schema.Resource) {
	if len(w.resources) == 0 {
		t.Skip("there are no resources")
	}
	i := rapid.IntRange(0, len(w.resources)-1).Draw(t, "resource")
	return i, w.pkg.Resource(w.resources[i].token)
}

// checkInputs checks inputs; ok is false if they are refused.
func (w *world) checkInputs(t *rapid.T, token string, olds *property.Map, inputs property.Map) (checked property.Map, ok bool) {
	response, err := ask(w.twins, t, "check "+token, abi.CheckRequest{
		URN: urnOf(token), Name: name, Type: token, News: inputs, Olds: olds, RandomSeed: make([]byte, 32),
	}, abi.Provider.Check)
	return response.Inputs, err == nil && len(response.Failures) == 0
}

func (w *world) tryCheck(t *rapid.T) {
	r := w.drawType(t)
	w.checkInputs(t, r.Token, nil, w.inputs(t, r.Token, &r.Inputs))
}

func (w *world) tryCreate(t *rapid.T, preview bool) {
	r := w.drawType(t)
	inputs, ok := w.checkInputs(t, r.Token, nil, w.inputs(t, r.Token, &r.Inputs))
	if !ok || inputs.ContainsUnknowns() && !preview && !w.rarely(t) {
		return
	}
	what := "create "
	if preview {
		what = "preview "
	}
	response, err := ask(w.twins, t, what+r.Token, abi.CreateRequest{
		URN: urnOf(r.Token), Name: name, Type: r.Token, Inputs: inputs, Preview: preview,
	}, abi.Provider.Create)
	if err == nil && !preview {
		w.resources = append(w.resources, resource{r.Token, response.ID, inputs, response.State})
	}
}

// changedInputs are checked inputs that a resource might get next.
func (w *world) changedInputs(t *rapid.T, old resource, r *schema.Resource) (property.Map, bool) {
	return w.checkInputs(t, r.Token, &old.inputs, w.change(t, r.Token, &r.Inputs, old.inputs))
}

func (w *world) tryDiff(t *rapid.T) {
	i, r := w.drawResource(t)
	old := w.resources[i]
	inputs, ok := w.changedInputs(t, old, r)
	if !ok && !w.rarely(t) {
		return
	}
	var ignored []string
	if w.rarely(t) {
		ignored = append(ignored, rapid.SampledFrom(append(r.Inputs.Names(), "a[", "a[*].b", "")).Draw(t, "ignored"))
	}
	ask(w.twins, t, "diff "+r.Token, abi.DiffRequest{
		URN: urnOf(r.Token), Name: name, Type: r.Token, ID: old.id,
		Olds: old.state, OldInputs: old.inputs, News: inputs, IgnoreChanges: ignored,
	}, abi.Provider.Diff)
}

func (w *world) tryUpdate(t *rapid.T, preview bool) {
	i, r := w.drawResource(t)
	old := w.resources[i]
	inputs, ok := w.changedInputs(t, old, r)
	if !ok || inputs.ContainsUnknowns() && !preview && !w.rarely(t) {
		return
	}
	what := "update "
	if preview {
		what = "preview of update "
	}
	response, err := ask(w.twins, t, what+r.Token, abi.UpdateRequest{
		URN: urnOf(r.Token), Name: name, Type: r.Token, ID: old.id,
		Olds: old.state, OldInputs: old.inputs, News: inputs, Preview: preview,
	}, abi.Provider.Update)
	if err == nil && !preview {
		w.resources[i] = resource{r.Token, old.id, inputs, response.State}
	}
}

func (w *world) tryRefresh(t *rapid.T) {
	i, r := w.drawResource(t)
	old := w.resources[i]
	response, err := ask(w.twins, t, "read "+r.Token, abi.ReadRequest{
		URN: urnOf(r.Token), Name: name, Type: r.Token, ID: old.id, State: &old.state, Inputs: &old.inputs,
	}, abi.Provider.Read)
	switch {
	case err != nil:
	case response.ID == "":
		w.forget(i)
	default:
		require.NotNil(t, response.Inputs)
		w.resources[i] = resource{r.Token, response.ID, *response.Inputs, response.State}
	}
}

func (w *world) tryImport(t *rapid.T) {
	r := w.drawType(t)
	var existing []string
	for _, other := range w.resources {
		if other.token == r.Token {
			existing = append(existing, other.id)
		}
	}
	id := w.id(t, existing...)
	ask(w.twins, t, "import "+r.Token, abi.ReadRequest{URN: urnOf(r.Token), Name: name, Type: r.Token, ID: id}, abi.Provider.Read)
}

func (w *world) tryDelete(t *rapid.T) {
	i, r := w.drawResource(t)
	old := w.resources[i]
	_, err := ask(w.twins, t, "delete "+r.Token, abi.DeleteRequest{
		URN: urnOf(r.Token), Name: name, Type: r.Token, ID: old.id, State: old.state, OldInputs: old.inputs,
	}, answerless(abi.Provider.Delete))
	if err == nil {
		w.forget(i)
	}
}

func (w *world) forget(i int) { w.resources = append(w.resources[:i:i], w.resources[i+1:]...) }

func (w *world) tryInvoke(t *rapid.T) {
	if len(w.pkg.Functions) == 0 {
		t.Skip("there are no functions")
	}
	f := w.pkg.Functions[rapid.IntRange(0, len(w.pkg.Functions)-1).Draw(t, "function")]
	ask(w.twins, t, f.Token, abi.InvokeRequest{Token: f.Token, Args: w.inputs(t, f.Token, &f.Args)}, abi.Provider.Invoke)
}

// tryWrong asks what no engine would.
func (w *world) tryWrong(t *rapid.T) {
	token := rapid.SampledFrom([]string{"", "x", w.pkg.Name + ":index:None", w.pkg.Resources[0].Token + "s"}).Draw(t, "token")
	inputs, _ := w.anything(t, 2).AsObject()
	inputs = w.confined(inputs)
	// A recorded state has no unknowns; the host would not take one back.
	state := inputs.Transform(func(v property.Value) property.Value {
		if v.IsUnknown() {
			return property.Null
		}
		return v
	})
	r := w.drawType(t)
	base, id := urnOf(r.Token), w.id(t)
	switch rapid.IntRange(0, 8).Draw(t, "method") {
	case 0:
		w.checkInputs(t, r.Token, &inputs, inputs)
	case 1:
		ask(w.twins, t, "wrong diff", abi.DiffRequest{URN: base, Type: r.Token, ID: id, Olds: state, OldInputs: state, News: inputs}, abi.Provider.Diff)
	case 2:
		ask(w.twins, t, "wrong update", abi.UpdateRequest{URN: base, Type: token, ID: id, Olds: state, News: inputs}, abi.Provider.Update)
	case 3:
		ask(w.twins, t, "wrong read", abi.ReadRequest{URN: base, Type: token, ID: id, State: &state}, abi.Provider.Read)
	case 4:
		ask(w.twins, t, "wrong delete", abi.DeleteRequest{URN: base, Type: token, ID: id, State: state}, answerless(abi.Provider.Delete))
	case 5:
		ask(w.twins, t, "wrong invoke", abi.InvokeRequest{Token: token, Args: inputs}, abi.Provider.Invoke)
	case 6:
		ask(w.twins, t, "wrong get-schema", abi.GetSchemaRequest{Version: 1, SubpackageName: token}, abi.Provider.GetSchema)
	case 7:
		ask(w.twins, t, "check-config", abi.CheckRequest{URN: base, Type: token, News: inputs}, abi.Provider.CheckConfig)
		ask(w.twins, t, "diff-config", abi.DiffRequest{URN: base, Type: token, Olds: state, News: inputs}, abi.Provider.DiffConfig)
	case 8:
		ask(w.twins, t, "parameterize", abi.ParameterizeRequest{}, abi.Provider.Parameterize)
		ask(w.twins, t, "get-mapping", abi.GetMappingRequest{Key: token}, abi.Provider.GetMapping)
		ask(w.twins, t, "list", abi.ListRequest{Token: token}, abi.Provider.List)
		ask(w.twins, t, "call", abi.CallRequest{Token: token, Args: inputs}, abi.Provider.Call)
	}
}
