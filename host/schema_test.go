package host_test

import (
	"context"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// boxSchema is what the hand-made providers of these tests say that they offer.
const boxSchema = `{"name": "hand",
	"config": {"variables": {"depth": {"type": "integer"}}},
	"provider": {"inputProperties": {"depth": {"type": "integer"}}},
	"resources": {"hand:index:Box": {
		"inputProperties": {"size": {"type": "integer"}, "label": {"type": "string"}},
		"requiredInputs": ["size"],
		"properties": {"size": {"type": "integer"}, "label": {"type": "string"}, "lids": {"type": "array", "items": {"type": "string"}}}}},
	"functions": {"hand:index:weigh": {"outputs": {"properties": {"grams": {"type": "number"}}}}}}`

const box = "hand:index:Box"

// memory lays out the memory of a hand-made module: strings, and the answers that
// refer to them.
type memory struct {
	data map[uint32]string
	next uint32
	// schema is what get-schema answers.
	schema string
}

func newMemory() *memory {
	return &memory{data: map[uint32]string{}, next: contents, schema: boxSchema}
}

func (m *memory) put(s string) (address uint32) {
	address = m.next
	m.data[address] = s
	m.next += uint32(len(s)+15) &^ 15
	return address
}

// text is a string as answers refer to it.
func (m *memory) text(s string) string { return words(m.put(s), uint32(len(s))) }

func (m *memory) bag(t *testing.T, v property.Map) string {
	t.Helper()
	data, err := guestcbor.Marshal(v)
	require.NoError(t, err)
	return m.text(string(data))
}

// returns is the body of a method with this answer.
func (m *memory) returns(answer string) code { return returns(int32(m.put(answer))) }

// assemble makes a provider with the schema and these methods.
func (m *memory) assemble(t *testing.T, bodies map[string]code, options host.ProviderOptions) *host.Provider {
	t.Helper()
	bodies["get-schema"] = m.returns(words(0) + m.text(m.schema))
	module, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{bodies: bodies, data: m.data}.wasm())
	require.NoError(t, err)
	options.Name = "hand"
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func bag(entries ...property.Entry) property.Map { return property.NewMap(entries...) }

func is(key string, v property.Value) property.Entry { return property.Entry{Key: key, Value: v} }

// A state or result that does not fit the schema is refused; what was created is kept.
func TestAnswersThatDoNotFitTheSchema(t *testing.T) {
	for name, c := range map[string]struct {
		state property.Map
		want  string
		kept  property.Map
	}{
		"undeclared": {
			bag(is("size", property.Number(1)), is("lid", property.Null), is("colour", property.String("red"))),
			`lid: no such property; did you mean "lids"?; colour: no such property; there are label, lids, size`, bag(is("size", property.Number(1))),
		},
		"wrong type": {
			bag(is("size", property.String("1")), is("label", property.String("x"))),
			"size: expected integer, got string", bag(is("label", property.String("x"))),
		},
		"wrong type within": {
			bag(is("lids", property.Array(property.String("a"), property.Secret(property.Number(1))))),
			"lids[1]: expected string, got number", property.Map{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			state := m.bag(t, c.state)
			p := m.assemble(t, map[string]code{
				"create": m.returns(words(0) + m.text("id") + state + words(0)),
				"update": m.returns(words(0) + state + words(0)),
				"read":   m.returns(words(0) + m.text("id") + state + words(0, 0, 0, 0)),
			}, host.ProviderOptions{})
			ctx := t.Context()
			breach := "the state that it answered does not fit its schema: " + c.want
			_, err := p.Create(ctx, abi.CreateRequest{Type: box})
			require.ErrorIs(t, err, abi.ErrInitFailed)
			require.EqualError(t, err, "hand: create (host): the provider broke the contract, but the resource exists\n  - "+breach)
			require.Equal(t, "id", abi.AsError(err).InitFailure.ID)
			require.True(t, abi.AsError(err).InitFailure.State.Equal(c.kept))
			_, err = p.Create(ctx, abi.CreateRequest{Type: box, Preview: true})
			require.EqualError(t, err, "hand: create (host): the provider broke the contract: "+breach)
			_, err = p.Update(ctx, abi.UpdateRequest{Type: box, ID: "id", Olds: bag(is("label", property.String("was")), is("size", property.Number(7)))})
			require.ErrorIs(t, err, abi.ErrInitFailed)
			require.EqualError(t, err, "hand: update (host): the provider broke the contract, but the resource exists\n  - "+breach)
			require.Equal(t, "id", abi.AsError(err).InitFailure.ID)
			kept := c.kept
			if name == "wrong type" {
				kept = kept.With("size", property.Number(7)) // as it was recorded
			}
			require.True(t, abi.AsError(err).InitFailure.State.Equal(kept))
			_, err = p.Update(ctx, abi.UpdateRequest{Type: box, ID: "id", Preview: true})
			require.EqualError(t, err, "hand: update (host): the provider broke the contract: "+breach)
			_, err = p.Read(ctx, abi.ReadRequest{Type: box, ID: "id"})
			require.EqualError(t, err, "hand: read (host): the provider broke the contract: "+breach)

			_, err = p.Create(ctx, abi.CreateRequest{Type: "hand:index:Other"})
			require.NoError(t, err, "the schema says nothing of it")
		})
	}
}

// What was made is known by its ID, or nobody knows the outcome, whatever keeps its answer from being read. A read that fails
// so says nothing of its object.
func TestWhatWasMadeIsKept(t *testing.T) {
	const most = 4096 // bytes of an answer
	whole := bag(is("size", property.Number(1)))
	long := bag(is("size", property.Number(1)), is("label", property.String(strings.Repeat("x", most))))
	for name, c := range map[string]struct {
		state           func(*testing.T, *memory) string
		partial         bool // the answer is that the initialization failed
		body            code
		created, update abi.ErrorKind
	}{
		"no properties":             {state: func(_ *testing.T, m *memory) string { return m.text("\xff") }, created: abi.ErrorKindInitFailed, update: abi.ErrorKindInternal},
		"too big":                   {state: func(t *testing.T, m *memory) string { return m.bag(t, long) }, created: abi.ErrorKindInitFailed, update: abi.ErrorKindInternal},
		"a failure without":         {partial: true, state: func(_ *testing.T, m *memory) string { return m.text("\xff") }, created: abi.ErrorKindInitFailed, update: abi.ErrorKindInitFailed},
		"a failure that is too big": {partial: true, state: func(t *testing.T, m *memory) string { return m.bag(t, long) }, created: abi.ErrorKindInitFailed, update: abi.ErrorKindInitFailed},
		"out of fuel":               {body: forever + unreachable, created: abi.ErrorKindCrashed, update: abi.ErrorKindCrashed},
		"a crash":                   {body: unreachable, created: abi.ErrorKindCrashed, update: abi.ErrorKindCrashed},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			bodies := map[string]code{"create": c.body, "update": c.body, "read": c.body}
			if c.state != nil {
				state := c.state(t, m)
				answers := map[string]string{
					"create": words(0) + m.text("id") + state + words(0), "update": words(0) + state + words(0),
					"read": words(0) + m.text("id") + state + words(0, 0, 0, 0),
				}
				for method, answer := range answers {
					if c.partial {
						answer = words(1, initFailed) + m.text("half") + m.text("") + words(1) + m.text("id") + state + words(0, 0, 0, 0, 0, 0) + words(0, 0)
					}
					bodies[method] = m.returns(answer)
				}
			}
			p := m.assemble(t, bodies, host.ProviderOptions{Limits: map[string]uint64{string(limit.Answer): most, string(limit.Fuel): 1 << 20}})
			_, err := p.Create(t.Context(), abi.CreateRequest{Type: box, Inputs: whole})
			judged := func(err error, kind abi.ErrorKind) {
				t.Helper()
				e := abi.AsError(err)
				require.Equal(t, kind, e.Kind, "%v", err)
				if kind == abi.ErrorKindInitFailed {
					require.Equal(t, "id", e.InitFailure.ID)
					require.True(t, e.InitFailure.RefreshBeforeUpdate)
				} else {
					require.NotEqual(t, abi.ErrorOriginGuest, e.Origin, "the engine takes it for an outcome that nobody knows")
				}
			}
			judged(err, c.created)
			_, err = p.Update(t.Context(), abi.UpdateRequest{Type: box, ID: "id", Olds: whole, News: whole})
			judged(err, c.update)
			_, err = p.Read(t.Context(), abi.ReadRequest{Type: box, ID: "id", State: &whole})
			require.Error(t, err, "an answer without an ID would say that the object is gone")
		})
	}
}

// A state that an older version of the provider recorded may have what the schema lost
// since then.
func TestWhatWasRecordedMayBeAnsweredAgain(t *testing.T) {
	m := newMemory()
	p := m.assemble(t, map[string]code{
		"read": m.returns(words(0) + m.text("id") + m.bag(t, bag(is("colour", property.String("red")))) + words(0, 0, 0, 0)),
	}, host.ProviderOptions{})
	recorded := bag(is("colour", property.String("red")))
	response, err := p.Read(t.Context(), abi.ReadRequest{Type: box, ID: "id", State: &recorded})
	require.NoError(t, err)
	require.Equal(t, recorded, response.State)

	recorded = bag(is("colour", property.String("blue")))
	_, err = p.Read(t.Context(), abi.ReadRequest{Type: box, ID: "id", State: &recorded})
	require.ErrorContains(t, err, "the state that it answered does not fit its schema: colour: no such property")
}

func TestWhatALenientProviderMay(t *testing.T) {
	m := newMemory()
	p := m.assemble(t, map[string]code{
		"create": m.returns(words(0) + m.text("id") + m.bag(t, bag(is("size", property.String("1")))) + words(0)),
	}, host.ProviderOptions{Lenient: true})
	_, err := p.Create(t.Context(), abi.CreateRequest{Type: box})
	require.NoError(t, err)
}

func TestResultsThatDoNotFitTheSchema(t *testing.T) {
	m := newMemory()
	p := m.assemble(t, map[string]code{
		"invoke": m.returns(words(0) + m.bag(t, bag(is("gramms", property.Number(1)))) + words(0, 0)),
	}, host.ProviderOptions{})
	_, err := p.Invoke(t.Context(), abi.InvokeRequest{Token: "hand:index:weigh"})
	require.EqualError(t, err, "hand: invoke (host): the provider broke the contract: "+
		`the result that it answered does not fit its schema: gramms: no such property; did you mean "grams"?`)
}

// Inputs that a provider lets pass are held to its schema by the host.
func TestInputsAreHeldToTheSchema(t *testing.T) {
	m := newMemory()
	answered := bag(is("size", property.String("big")), is("labl", property.String("x")), is("__own", property.Null))
	p := m.assemble(t, map[string]code{
		"check":        m.returns(words(0) + m.bag(t, answered) + words(0, 0)),
		"check-config": m.returns(words(0) + m.bag(t, bag(is("depth", property.String("deep")))) + words(0, 0)),
	}, host.ProviderOptions{})
	response, err := p.Check(t.Context(), abi.CheckRequest{Type: box, News: answered})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{
		{Path: "labl", Reason: `no such property; did you mean "label"?`},
		{Path: "size", Reason: "expected integer, got string"},
	}, response.Failures)
	response, err = p.CheckConfig(t.Context(), abi.CheckRequest{News: bag(is("depth", property.String("deep")))})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "depth", Reason: "expected integer, got string"}}, response.Failures)

	_, err = p.Check(t.Context(), abi.CheckRequest{Type: box, News: bag(is("size", property.Number(1)))})
	require.EqualError(t, err, "hand: check (host): the provider broke the contract: the inputs that it answered do not fit its schema: "+
		`labl: no such property; did you mean "label"?; size: expected integer, got string`)
}

func TestDiffsThatCannotBe(t *testing.T) {
	const update, noInput = 4, 0
	for name, c := range map[string]struct {
		paths []string
		keys  []string
		want  string
	}{
		"a path twice":          {[]string{"size", "label", "size"}, nil, "its detailed diff has the path size twice"},
		"no path":               {[]string{"lids[x"}, nil, `its detailed diff has the path "lids[x", which is none: `},
		"an empty path":         {[]string{""}, nil, `its detailed diff has the path "", which `},
		"a pattern":             {[]string{"lids[*]"}, nil, `its detailed diff has the path "lids[*]", which leads to no property`},
		"an element of nothing": {[]string{"[1]"}, nil, `its detailed diff has the path "[1]", which does not begin with the name of a property`},
		"an unknown property":   {[]string{"lid"}, nil, `its detailed diff has the path "lid", whose property its schema does not have; "lids" is near`},
		"an unknown key":        {nil, []string{"colour"}, `its replace keys have the path "colour", whose property its schema does not have`},
		"what may be":           {[]string{"size", "lids[0]", `label["a \"b\""].c`, "__own"}, []string{"size"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			var diffs, keys string
			for _, path := range c.paths {
				diffs += m.text(path) + words(update|noInput<<8)
			}
			for _, key := range c.keys {
				keys += m.text(key)
			}
			lists := words(2|1<<8, m.put(diffs), uint32(len(c.paths)), 0, m.put(keys), uint32(len(c.keys)), 0, 0, 0, 0)
			p := m.assemble(t, map[string]code{"diff": m.returns(words(0) + lists)}, host.ProviderOptions{})
			response, err := p.Diff(t.Context(), abi.DiffRequest{Type: box, ID: "id"})
			if c.want == "" {
				require.NoError(t, err)
				require.Len(t, response.DetailedDiff, len(c.paths))
				return
			}
			require.ErrorIs(t, err, abi.ErrInternal)
			require.ErrorContains(t, err, "hand: diff (host): the provider broke the contract: "+c.want)
		})
	}
}

func TestAnUpdateKeepsTheID(t *testing.T) {
	m := newMemory()
	p := m.assemble(t, map[string]code{
		"update": m.returns(words(0) + m.bag(t, bag(is("id", property.String("other")))) + words(0)),
	}, host.ProviderOptions{})
	_, err := p.Update(t.Context(), abi.UpdateRequest{Type: box, ID: "id"})
	require.EqualError(t, err, `hand: update (host): the provider broke the contract: the state that it answered has the ID "other" for the resource "id", whose ID no update changes`)
}

// Secrets are for providers that took them in the handshake.
func TestSecretsThatWereNotNegotiated(t *testing.T) {
	for _, features := range []abi.Features{0, abi.FeaturesSecrets} {
		t.Run(strconv.Itoa(int(features)), func(t *testing.T) {
			m := newMemory()
			p := m.assemble(t, map[string]code{
				"handshake": m.returns(words(0) + m.text("hand") + m.text("1.0.0") + m.text("") + words(uint32(features), 0, 0)),
				"read": m.returns(words(0) + m.text("id") + m.bag(t, bag(
					is("lids", property.Array(property.Secret(property.String("x")))))) + words(0, 0, 0, 0)),
			}, host.ProviderOptions{})
			_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Features: abi.FeaturesSecrets})
			require.NoError(t, err)
			_, err = p.Read(t.Context(), abi.ReadRequest{Type: box, ID: "id"})
			if features == abi.FeaturesSecrets {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "hand 1.0.0: read (host): the provider broke the contract: "+
				"the property lids[0] of the state that it answered is secret, though it does not say in its handshake that it knows secrets")
		})
	}
}

// A schema that cannot be read turns nothing down, and is told of once.
func TestASchemaThatCannotBeRead(t *testing.T) {
	m := newMemory()
	m.schema = "no JSON"
	logged := &records{}
	p := m.assemble(t, map[string]code{
		"create": m.returns(words(0) + m.text("id") + m.bag(t, bag()) + words(0)),
	}, host.ProviderOptions{Logger: logged.logger()})
	for range 2 {
		_, err := p.Create(t.Context(), abi.CreateRequest{Type: box})
		require.NoError(t, err)
	}
	require.Len(t, logged.lines(), 1)
	require.Contains(t, strings.Join(logged.lines(), ""), "the provider's schema cannot be read, so that its answers are not held to it: package schema: line 1")
}

// What exists in part keeps the ID that it has, and of its state what keeps to the contract.
func TestFailuresThatBreakTheContract(t *testing.T) {
	partial := bag(is("size", property.Number(1)), is("label", property.Unknown))
	for name, c := range map[string]struct {
		update   bool
		id       string
		want     string
		answered string
	}{
		"created without an ID": {false, "", "hand: create (host): the provider broke the contract: it says that the resource exists in part, but not its ID: not ready", ""},
		"created": {false, "made", "hand: create: not ready\n" +
			"  - the provider broke the contract: the property label of the state that it answered is unknown, which only a preview allows", "made"},
		"updated without an ID": {true, "", "hand: update: not ready\n" +
			"  - the provider broke the contract: the property label of the state that it answered is unknown, which only a preview allows", "id"},
		"updated with another ID": {true, "other", "hand: update: not ready\n" +
			"  - the provider broke the contract: it answered the ID \"other\" for the resource \"id\", whose ID no update changes\n" +
			"  - the provider broke the contract: the property label of the state that it answered is unknown, which only a preview allows", "id"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			failed := words(1, initFailed) + m.text("not ready") + m.text("") +
				words(1) + m.text(c.id) + m.bag(t, partial) + words(0, 0, 0, 0, 0, 0) + words(0, 0)
			p := m.assemble(t, map[string]code{"create": m.returns(failed), "update": m.returns(failed)}, host.ProviderOptions{})
			var err error
			if c.update {
				_, err = p.Update(t.Context(), abi.UpdateRequest{Type: box, ID: "id"})
			} else {
				_, err = p.Create(t.Context(), abi.CreateRequest{Type: box})
			}
			require.EqualError(t, err, c.want)
			if c.answered == "" {
				require.ErrorIs(t, err, abi.ErrInternal)
				return
			}
			failure := abi.AsError(err).InitFailure
			require.Equal(t, c.answered, failure.ID)
			require.True(t, failure.State.Equal(bag(is("size", property.Number(1)))))
			require.True(t, failure.RefreshBeforeUpdate)
		})
	}
}

// initFailed is the error kind in the contract's order; the origin after it is the guest.
const initFailed = uint32(abi.ErrorKindInitFailed)

// crateSchema says of crates that their Check and Diff are the schema's own, of chests that
// one is, and of bins that both are, though the default of one does not fit it.
const crateSchema = `{"name": "hand", "resources": {
	"hand:index:Crate": {
		"inputProperties": {"size": {"type": "integer", "willReplaceOnChanges": true}, "label": {"type": "string", "default": "none"}},
		"requiredInputs": ["size"],
		"properties": {"size": {"type": "integer"}, "label": {"type": "string"}},
		"language": {"husk": {"schemaCheck": true, "schemaDiff": true}}},
	"hand:index:Chest": {"inputProperties": {"size": {"type": "integer"}}, "language": {"husk": {"schemaDiff": true}}},
	"hand:index:Shelf": {"inputProperties": {"size": {"type": "integer"}}, "language": {"husk": {"identity": ["size"]}}},
	"hand:index:Bin": {
		"inputProperties": {"size": {"type": "integer", "default": 7, "language": {"husk": {"maximum": 5}}}},
		"language": {"husk": {"schemaCheck": true, "schemaDiff": true}}}}}`

const crate = "hand:index:Crate"

// newCrates makes a provider that crashes in check and diff.
func newCrates(t *testing.T, options host.ProviderOptions) *host.Provider {
	t.Helper()
	m := newMemory()
	m.schema = crateSchema
	return m.assemble(t, map[string]code{"configure": m.returns(words(0))}, options)
}

func setUp(t *testing.T, p *host.Provider) *host.Provider {
	t.Helper()
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{}))
	return p
}

// What a schema says of Check and Diff is answered without the guest.
func TestChecksAndDiffsBySchema(t *testing.T) {
	p := setUp(t, newCrates(t, host.ProviderOptions{}))
	size := func(n float64) property.Map { return bag(is("size", property.Number(n))) }

	checked, err := p.Check(t.Context(), abi.CheckRequest{Type: crate, News: size(3)})
	require.NoError(t, err)
	require.Equal(t, abi.CheckResponse{Inputs: size(3).With("label", property.String("none"))}, checked)
	checked, err = p.Check(t.Context(), abi.CheckRequest{URN: "urn:pulumi:dev::test::hand:index:Crate::x", News: bag(is("sise", property.Null))})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{
		{Path: "sise", Reason: `no such property; did you mean "size"?`},
		{Path: "size", Reason: "required property is missing; expected integer"},
	}, checked.Failures)

	diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: crate, ID: "x", Olds: size(3), OldInputs: size(3), News: size(4)})
	require.NoError(t, err)
	require.Equal(t, abi.DiffResponse{
		Changes: abi.DiffChangesSome, HasDetailedDiff: true,
		DetailedDiff: []abi.PropertyDiff{{Path: "size", Kind: abi.DiffKindUpdateReplace}},
		ReplaceKeys:  []string{"size"}, ChangedKeys: []string{"size"},
	}, diff)
	diff, err = p.Diff(t.Context(), abi.DiffRequest{Type: "hand:index:Chest", OldInputs: size(3), News: size(3)})
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesNone, diff.Changes)

	methods := p.Stats().Methods
	require.Equal(t, host.MethodStats{BySchema: 2}, methods["check"])
	require.Equal(t, host.MethodStats{BySchema: 2}, methods["diff"])
	require.EqualValues(t, 1, p.Stats().Started, "for the schema and the configuration")
}

// A module may leave to its host what its schema says: also to one that tests it.
func TestWhatAModuleLeavesToItsSchema(t *testing.T) {
	m := newMemory()
	m.schema = crateSchema
	left := m.returns(words(1, uint32(abi.ErrorKindUnimplemented)) + m.text("left") + words(0, 0) + string(make([]byte, 52)))
	p := setUp(t, m.assemble(t, map[string]code{"configure": m.returns(words(0)), "check": left, "diff": left}, host.ProviderOptions{Lenient: true}))
	size := bag(is("size", property.Number(3)))
	checked, err := p.Check(t.Context(), abi.CheckRequest{Type: crate, News: size})
	require.NoError(t, err)
	require.Equal(t, size.With("label", property.String("none")), checked.Inputs)
	diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: crate, Olds: size, OldInputs: size})
	require.NoError(t, err)
	require.Equal(t, []string{"size"}, diff.ReplaceKeys)
	_, err = p.Check(t.Context(), abi.CheckRequest{Type: "hand:index:Chest", News: size})
	require.ErrorIs(t, err, abi.ErrUnimplemented, "whose schema does not say so")
}

// Arguments that the schema refuses do not reach a function, and others do with their defaults.
func TestArgumentsAreCheckedBySchema(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		m := newMemory()
		m.schema = `{"name": "hand", "functions": {"hand:index:echo": {
			"inputs": {"properties": {"text": {"type": "string", "default": "none"}}},
			"outputs": {"properties": {"text": {"type": "string"}}}, "language": {"husk": {"schemaCheck": true}}}},
			"resources": {"hand:index:Box": {"isComponent": true, "inputProperties": {"text": {"type": "string", "default": "none"}},
			"properties": {"text": {"type": "string"}}, "language": {"husk": {"schemaCheck": true}}}}}`
		echo := m.put(words(0, 0, 0, 0, 0))
		answer := func(at uint32, parameter string) code {
			return i32Const(int32(echo+at)) + code("\x20"+parameter+"\x36\x02\x00")
		}
		body := answer(4, "\x02") + answer(8, "\x03") + returns(int32(echo))
		box := m.put(words(0, 0, 0, 0, 0, 0, 0))
		inputs := func(at uint32, from string) code { // from the request, of which the host passes the address
			return i32Const(int32(box+at)) + code("\x20\x00\x28\x02"+from+"\x36\x02\x00")
		}
		construct := inputs(12, "\x18") + inputs(16, "\x1c") + returns(int32(box))
		p := setUp(t, m.assemble(t, map[string]code{"configure": m.returns(words(0)), "invoke": body, "construct": construct}, host.ProviderOptions{Lenient: lenient}))
		constructed, err := p.Construct(t.Context(), abi.ConstructRequest{Type: "hand:index:Box"})
		require.NoError(t, err)
		require.Equal(t, bag(is("text", property.String("none"))), constructed.State)
		_, err = p.Construct(t.Context(), abi.ConstructRequest{Type: "hand:index:Box", Inputs: bag(is("text", property.Bool(true)))})
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		require.ErrorContains(t, err, "construct: text: expected string, got bool")
		response, err := p.Invoke(t.Context(), abi.InvokeRequest{Token: "hand:index:echo"})
		require.NoError(t, err)
		require.Equal(t, bag(is("text", property.String("none"))), response.Result)
		response, err = p.Invoke(t.Context(), abi.InvokeRequest{Token: "hand:index:echo", Args: bag(is("text", property.Bool(true)))})
		require.NoError(t, err)
		require.Equal(t, []abi.CheckFailure{{Path: "text", Reason: "expected string, got bool"}}, response.Failures)
	}
}

// Whatever the schema does not say for certain the guest is asked, which crashes here.
func TestWhatIsNotAnsweredBySchema(t *testing.T) {
	good := bag(is("size", property.Number(3)))
	check := func(request abi.CheckRequest) func(context.Context, *host.Provider) error {
		return func(ctx context.Context, p *host.Provider) error {
			_, err := p.Check(ctx, request)
			return err
		}
	}
	diff := func(request abi.DiffRequest) func(context.Context, *host.Provider) error {
		return func(ctx context.Context, p *host.Provider) error {
			_, err := p.Diff(ctx, request)
			return err
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	deep := property.Number(1)
	for range property.DefaultDepth + 1 {
		deep = property.Array(deep)
	}
	for name, c := range map[string]struct {
		options host.ProviderOptions
		before  bool
		ctx     context.Context
		do      func(context.Context, *host.Provider) error
		is      error
		says    string
	}{
		"a type of which it says nothing":      {do: check(abi.CheckRequest{Type: "hand:index:Chest", News: good})},
		"a type that it does not have":         {do: diff(abi.DiffRequest{Type: "hand:index:Cask"})},
		"a default that does not fit":          {do: check(abi.CheckRequest{Type: "hand:index:Bin"})},
		"before the provider is configured":    {before: true, do: check(abi.CheckRequest{Type: crate, News: good})},
		"where nothing is held to the schema":  {options: host.ProviderOptions{Lenient: true}, do: check(abi.CheckRequest{Type: crate, News: good})},
		"a path that is none":                  {do: diff(abi.DiffRequest{Type: crate, IgnoreChanges: []string{"a["}})},
		"a call that was cancelled":            {ctx: ended, do: check(abi.CheckRequest{Type: crate, News: good}), is: abi.ErrCancelled},
		"inputs that no guest could be passed": {do: check(abi.CheckRequest{Type: crate, News: bag(is("size", deep))}), is: abi.ErrInvalidArgument, says: "the request cannot be passed to the provider: provider.check.request.news: "},
		"old inputs of this kind":              {do: check(abi.CheckRequest{Type: crate, News: good, Olds: new(bag(is("size", deep)))}), is: abi.ErrInvalidArgument, says: "the request cannot be passed"},
		"a state of this kind":                 {do: diff(abi.DiffRequest{Type: crate, Olds: bag(is("label", property.String("\xff")))}), is: abi.ErrInvalidArgument, says: "the request cannot be passed"},
		"a name that is no text":               {do: diff(abi.DiffRequest{Type: crate, Name: "\xff"}), is: abi.ErrInvalidArgument, says: "the request cannot be passed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newCrates(t, c.options)
			if !c.before {
				setUp(t, p)
			}
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			if c.is == nil {
				c.is = abi.ErrCrashed
			}
			err := c.do(c.ctx, p)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			require.Zero(t, p.Stats().Methods["check"].BySchema+p.Stats().Methods["diff"].BySchema)
		})
	}
}

// A provider that may not be called is not answered for.
func TestProvidersThatAreGoneAreNotAnsweredFor(t *testing.T) {
	request := abi.CheckRequest{Type: crate, News: bag(is("size", property.Number(3)))}
	const crashes = 3
	m := newMemory()
	m.schema = crateSchema
	h := newHost(t, host.NewConfig().WithClock(newHandClock()).WithLimit(limit.Crashes, crashes))
	module, err := h.LoadBytes(t.Context(), assembly{data: m.data, bodies: map[string]code{
		"configure": m.returns(words(0)), "get-schema": m.returns(words(0) + m.text(m.schema)),
	}}.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	setUp(t, p)
	_, err = p.Check(t.Context(), request)
	require.NoError(t, err)
	for range crashes {
		_, err := p.Check(t.Context(), abi.CheckRequest{Type: "hand:index:Chest"})
		require.ErrorIs(t, err, abi.ErrCrashed)
	}
	_, err = p.Check(t.Context(), request)
	var quarantine *host.QuarantineError
	require.ErrorAs(t, err, &quarantine)
	p.Readmit()
	_, err = p.Check(t.Context(), request)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	_, err = p.Check(t.Context(), request)
	require.ErrorContains(t, err, "the provider is closed")
}

// A type whose schema says what its objects are known by is deleted before it is made again,
// whatever its provider answers to Diff.
func TestIdentityDeletesFirst(t *testing.T) {
	m := newMemory()
	m.schema = crateSchema
	nothing := words(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	p := setUp(t, m.assemble(t, map[string]code{"configure": m.returns(words(0)), "diff": m.returns(words(0) + nothing)}, host.ProviderOptions{}))
	size := func(n float64) property.Map { return bag(is("size", property.Number(n))) }
	for _, test := range []struct {
		typ      string
		new      float64
		expected bool
	}{{"hand:index:Shelf", 3, true}, {"hand:index:Shelf", 4, false}, {"hand:index:Chest", 3, false}} {
		diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: test.typ, ID: "x", Olds: size(3), OldInputs: size(3), News: size(test.new)})
		require.NoError(t, err)
		require.Equal(t, test.expected, diff.DeleteBeforeReplace, "%v", test)
	}
	p = setUp(t, m.assemble(t, map[string]code{
		"configure": m.returns(words(0)), "diff": m.returns(words(1, uint32(abi.ErrorKindUnimplemented)) + m.text("no diff") + words(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
	}, host.ProviderOptions{}))
	diff, err := p.Diff(t.Context(), abi.DiffRequest{Type: "hand:index:Shelf", ID: "x", OldInputs: size(3), News: size(3)})
	require.NoError(t, err)
	require.Equal(t, abi.DiffResponse{Changes: abi.DiffChangesUnknown, DeleteBeforeReplace: true}, diff)
	_, err = p.Diff(t.Context(), abi.DiffRequest{Type: "hand:index:Shelf", ID: "x", OldInputs: size(3), News: size(4)})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
}

// shed is a module that says of itself that its setup may be deferred.
type shed struct {
	dir     string
	memory  *memory
	imports []importEntry
	bodies  map[string]code
}

// newShed makes one whose schema says so, with these bodies beside its handshake.
func newShed(t *testing.T, bodies map[string]code) *shed {
	t.Helper()
	m := newMemory()
	m.schema = strings.Replace(crateSchema, `"resources"`, `"config": {"variables": {"depth": {"type": "integer", "default": 1}, "key": {"type": "string"}}, "defaults": ["key"]},
		"provider": {"inputProperties": {"depth": {"type": "integer", "default": 1}, "key": {"type": "string"}}, "requiredInputs": ["key"],
			"language": {"husk": {"schemaCheck": true, "schemaDiff": true, "deferred": true}}}, "resources"`, 1)
	s := &shed{dir: filepath.Join(t.TempDir(), "cache"), memory: m, bodies: map[string]code{
		"handshake":  m.returns(words(0) + m.text("hand") + m.text("1.0.0") + m.text("") + words(0, 0, 0)),
		"get-schema": m.returns(words(0) + m.text(m.schema)),
		"configure":  m.returns(words(0)),
		"create":     m.returns(words(0) + m.text("id") + m.bag(t, bag()) + words(0)),
	}}
	maps.Copy(s.bodies, bodies)
	return s
}

// open makes a provider of the module in a host of its own, as another process does.
func (s *shed) open(t *testing.T, options host.ProviderOptions) *host.Provider {
	t.Helper()
	return s.provide(t, s.load(t), options)
}

// load loads the module in a host of its own.
func (s *shed) load(t *testing.T) *host.Module {
	t.Helper()
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(s.dir))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	module, err := h.LoadBytes(t.Context(), assembly{imports: s.imports, bodies: s.bodies, data: s.memory.data}.wasm())
	require.NoError(t, err)
	return module
}

func (s *shed) provide(t *testing.T, module *host.Module, options host.ProviderOptions) *host.Provider {
	t.Helper()
	options.Name = "hand"
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

var (
	handshake     = abi.HandshakeRequest{Engine: "test"}
	configuration = abi.ConfigureRequest{Inputs: bag(is("key", property.String("k")))}
)

// learn has the module run once, so that the cache knows what it says of itself.
func (s *shed) learn(t *testing.T) {
	t.Helper()
	p := s.open(t, host.ProviderOptions{})
	_, err := p.Handshake(t.Context(), handshake)
	require.NoError(t, err)
	_, err = p.CheckConfig(t.Context(), abi.CheckRequest{News: configuration.Inputs})
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Stats().Started)
}

// A provider is not run before something needs it that its schema does not answer.
func TestAProviderIsRunWhenItIsNeeded(t *testing.T) {
	s := newShed(t, nil)
	s.learn(t)
	p := s.open(t, host.ProviderOptions{})
	ctx := t.Context()

	who, err := p.Handshake(ctx, handshake)
	require.NoError(t, err)
	require.Equal(t, abi.HandshakeResponse{Name: "hand", Version: "1.0.0"}, who)
	described, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	require.NoError(t, err)
	require.Equal(t, s.memory.schema, described.Schema)
	checked, err := p.CheckConfig(ctx, abi.CheckRequest{News: bag(is("depth", property.String("2")))})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "key", Reason: "required property is missing; expected string"}}, checked.Failures)
	compared, err := p.DiffConfig(ctx, abi.DiffRequest{OldInputs: configuration.Inputs, News: configuration.Inputs})
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesNone, compared.Changes)
	require.NoError(t, p.Configure(ctx, configuration))
	size := bag(is("size", property.Number(3)))
	_, err = p.Check(ctx, abi.CheckRequest{Type: crate, News: size})
	require.NoError(t, err)
	_, err = p.Diff(ctx, abi.DiffRequest{Type: crate, OldInputs: size, News: size})
	require.NoError(t, err)
	require.Zero(t, p.Stats().Started)

	for range 2 {
		_, err = p.Create(ctx, abi.CreateRequest{Type: crate})
		require.NoError(t, err)
	}
	stats := p.Stats()
	require.EqualValues(t, 1, stats.Started)
	for method, calls := range map[string]int{"handshake": 1, "configure": 1, "create": 2, "get-schema": 0, "check": 0} {
		require.EqualValues(t, calls, stats.Methods[method].Calls, method)
	}
	require.NoError(t, p.Configure(ctx, configuration), "it runs now, and is asked")
	require.EqualValues(t, 2, p.Stats().Methods["configure"].Calls)
}

// A provider that does nothing with its configuration is not asked to take it, whether it
// runs or not.
func TestAConfigurationThatDoesNothing(t *testing.T) {
	s := newShed(t, map[string]code{"configure": unreachable})
	s.memory.schema = strings.Replace(s.memory.schema, `"deferred": true`, `"deferred": true, "schemaConfigure": true`, 1)
	s.bodies["get-schema"] = s.memory.returns(words(0) + s.memory.text(s.memory.schema))
	s.learn(t)
	for name, c := range map[string]struct {
		options host.ProviderOptions
		inputs  property.Map
		ok      bool
	}{
		"a complete configuration":            {inputs: configuration.Inputs, ok: true},
		"one that is not known":               {inputs: bag(is("key", property.Unknown)), ok: true},
		"an incomplete configuration":         {},
		"one that cannot be passed":           {inputs: bag(is("key", property.String("\xff")))},
		"where nothing is held to the schema": {options: host.ProviderOptions{Lenient: true}, inputs: configuration.Inputs},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.open(t, c.options)
			_, err := p.Handshake(t.Context(), handshake)
			require.NoError(t, err)
			for range 2 {
				err := p.Configure(t.Context(), abi.ConfigureRequest{Inputs: c.inputs})
				if !c.ok {
					require.Error(t, err)
					return
				}
				require.NoError(t, err)
				_, err = p.Create(t.Context(), abi.CreateRequest{Type: crate})
				require.NoError(t, err)
			}
			require.Equal(t, host.MethodStats{BySchema: 2}, p.Stats().Methods["configure"])
		})
	}
}

// What must be asked at once is.
func TestSetupsThatAreNotDeferred(t *testing.T) {
	s := newShed(t, map[string]code{"configure": unreachable})
	s.learn(t)
	for name, c := range map[string]struct {
		options  host.ProviderOptions
		engine   string
		inputs   property.Map
		deferred bool
	}{
		"a complete configuration":            {engine: "test", inputs: configuration.Inputs, deferred: true},
		"an incomplete configuration":         {engine: "test"},
		"one that is not known":               {engine: "test", inputs: bag(is("key", property.Unknown))},
		"one that cannot be passed":           {engine: "test", inputs: bag(is("key", property.String("\xff")))},
		"another handshake":                   {engine: "other", inputs: configuration.Inputs},
		"where nothing is held to the schema": {options: host.ProviderOptions{Lenient: true}, engine: "test", inputs: configuration.Inputs},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.open(t, c.options)
			_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: c.engine})
			require.NoError(t, err)
			err = p.Configure(t.Context(), abi.ConfigureRequest{Inputs: c.inputs})
			if c.deferred {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
		})
	}
}

// The error of a configuration that was deferred says so, and what needed it. It is told
// each time, as the provider is not configured.
func TestADeferredConfigurationThatFails(t *testing.T) {
	s := newShed(t, nil)
	s.bodies["configure"] = s.memory.returns(words(1, uint32(abi.ErrorKindInvalidArgument)) + s.memory.text("the key is too short") +
		s.memory.text("key") + words(0) + strings.Repeat(words(0), 10) + words(0, 0))
	s.learn(t)
	p := s.open(t, host.ProviderOptions{})
	_, err := p.Handshake(t.Context(), handshake)
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), configuration))
	for range 2 {
		_, err = p.Create(t.Context(), abi.CreateRequest{Type: crate})
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
		require.EqualError(t, err, "hand 1.0.0: configure: key: this was not asked before create needed it: the key is too short")
	}
}

// A handshake that is answered in another way than before ends what needed it.
func TestADeferredHandshakeThatIsAnsweredInAnotherWay(t *testing.T) {
	s := newShed(t, nil)
	answers := func(version string) int32 {
		return int32(s.memory.put(words(0) + s.memory.text("hand") + s.memory.text(version) + s.memory.text("") + words(0, 0, 0)))
	}
	s.bodies["handshake"] = count + choose(1, answers("1.0.0"), answers("2.0.0"))
	s.bodies["get-schema"] = count + drop + s.bodies["get-schema"]

	p := s.open(t, host.ProviderOptions{})
	_, err := p.CheckConfig(t.Context(), abi.CheckRequest{}) // asks for the schema first
	require.NoError(t, err)
	for range 2 {
		who, err := p.Handshake(t.Context(), handshake)
		require.NoError(t, err)
		require.Equal(t, "2.0.0", who.Version)
		p = s.open(t, host.ProviderOptions{})
	}
	_, err = p.Handshake(t.Context(), handshake)
	require.NoError(t, err)
	_, err = p.Create(t.Context(), abi.CreateRequest{Type: crate})
	require.ErrorIs(t, err, abi.ErrInternal)
	require.ErrorContains(t, err, "it answers the handshake in another way than before")
}

// Calls at once may each start an instance, of which each is set up before it is called.
func TestDeferredSetupsOfCallsAtOnce(t *testing.T) {
	s := newShed(t, nil)
	s.learn(t)
	p := s.open(t, host.ProviderOptions{})
	_, err := p.Handshake(t.Context(), handshake)
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), configuration))
	const calls = 8
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if _, err := p.Create(context.Background(), abi.CreateRequest{Type: crate}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	stats := p.Stats()
	require.EqualValues(t, calls, stats.Methods["create"].Calls)
	require.Positive(t, stats.Methods["configure"].Calls)
	require.LessOrEqual(t, stats.Methods["configure"].Calls, stats.Started)
}
