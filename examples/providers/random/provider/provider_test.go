package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/random/provider"
)

const (
	randomBytes    = "random:index/randomBytes:RandomBytes"
	randomID       = "random:index/randomId:RandomId"
	randomInteger  = "random:index/randomInteger:RandomInteger"
	randomPassword = "random:index/randomPassword:RandomPassword"
	randomPet      = "random:index/randomPet:RandomPet"
	randomShuffle  = "random:index/randomShuffle:RandomShuffle"
	randomString   = "random:index/randomString:RandomString"
	randomUUID     = "random:index/randomUuid:RandomUuid"
)

func start(t *testing.T) *pt.Provider { return pt.New(t, provider.New()) }

// examples has inputs for each resource.
var examples = map[string]pt.Object{
	randomBytes:    {"length": 8},
	randomID:       {"byteLength": 8},
	randomInteger:  {"min": 1, "max": 100},
	randomPassword: {"length": 12},
	randomPet:      {},
	randomShuffle:  {"inputs": []string{"a", "b", "c"}},
	randomString:   {"length": 12},
	randomUUID:     {},
}

// What holds for each resource: it stays as it is until an input changes.
func TestLives(t *testing.T) {
	for token, inputs := range examples {
		t.Run(token, func(t *testing.T) {
			p := start(t)
			r := p.Create(token, inputs)
			require.NotEmpty(t, r.ID)
			require.Empty(t, p.Diff(r, inputs), "the same inputs are no change")

			refreshed, exists := p.Refresh(r)
			require.True(t, exists)
			require.True(t, r.State.Equal(refreshed.State))
			require.Empty(t, property.Diff(r.Inputs, refreshed.Inputs))

			kept := pt.With(inputs, pt.Object{"keepers": pt.Object{"image": "a"}})
			require.Equal(t, []string{"keepers add-replace"}, p.Diff(r, kept))
			r = p.Create(token, kept)
			require.Empty(t, p.Diff(r, kept))
			require.Equal(t, []string{"keepers.image update-replace"}, p.Diff(r, pt.With(inputs, pt.Object{"keepers": pt.Object{"image": "b"}})))
			require.Equal(t, []string{"keepers delete-replace"}, p.Diff(r, inputs))

			p.Delete(r)
		})
	}
}

// What is drawn is not known beforehand, what is given is.
func TestPreviews(t *testing.T) {
	drawn := map[string]bool{
		"base64": true, "hex": true, "b64Std": true, "b64Url": true, "dec": true, "result": true, "results": true, "bcryptHash": true,
	}
	for token, inputs := range examples {
		t.Run(token, func(t *testing.T) {
			p := start(t)
			state, err := p.TryPreview(token, inputs)
			require.NoError(t, err)
			created := p.Create(token, inputs)
			for name, v := range state.All() {
				if drawn[name] {
					require.True(t, v.Plain().IsUnknown(), name)
					require.Equal(t, v.IsSecret(), created.State.Get(name).IsSecret(), name)
				} else {
					require.True(t, v.Equal(created.State.Get(name)), name)
				}
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	secret := map[string][]string{
		randomBytes:    {"base64", "hex"},
		randomPassword: {"bcryptHash", "result"},
	}
	for token, inputs := range examples {
		r := start(t).Create(token, inputs)
		var got []string
		for _, name := range r.State.Keys() {
			if r.State.Get(name).IsSecret() {
				got = append(got, name)
			}
		}
		require.Equal(t, secret[token], got, token)
	}
}

// A state that Pulumi's own provider left, whose inputs have no defaults in them,
// changes nothing.
func TestPulumiStatesMoveOver(t *testing.T) {
	p := start(t)
	for _, test := range []struct {
		token         string
		program       pt.Object
		inputs, state pt.Object
	}{
		{
			token:   randomPassword,
			program: pt.Object{"length": 16, "special": true, "number": true, "minLower": 2},
			inputs:  pt.Object{"length": 16, "special": true, "number": true, "minLower": 2},
			state: pt.Object{"__meta": `{"schema_version":"3"}`, "id": "none", "length": 16, "lower": true, "minLower": 2, "number": true,
				"numeric": true, "special": true, "upper": true, "bcryptHash": property.Secret(pt.Of("$2a$")), "result": property.Secret(pt.Of("Qp7:#8odTqS)5#bS"))},
		},
		{
			token:   randomPet,
			program: pt.Object{"prefix": "my"},
			inputs:  pt.Object{"prefix": "my"},
			state:   pt.Object{"id": "my-good-cat", "length": 2, "prefix": "my", "separator": "-"},
		},
		{
			token:   randomString,
			program: pt.Object{"length": 4},
			inputs:  pt.Object{"length": 4},
			state: pt.Object{"id": "abcd", "length": 4, "lower": true, "minLower": 0, "minNumeric": 0, "minSpecial": 0, "minUpper": 0,
				"number": true, "numeric": true, "special": true, "upper": true, "result": "abcd"},
		},
	} {
		t.Run(test.token, func(t *testing.T) {
			r := pt.Resource{Token: test.token, ID: "x", Inputs: pt.MapOf(test.inputs), State: pt.MapOf(test.state)}
			require.Empty(t, p.Diff(r, test.program))
			refreshed, exists := p.Refresh(r)
			require.True(t, exists)
			require.Empty(t, p.Diff(refreshed, test.program))
		})
	}
}

func TestImport(t *testing.T) {
	p := start(t)
	for _, test := range []struct {
		token, id string
		wantID    string
		inputs    pt.Object // what the program must say
		state     map[string]string
	}{
		{randomBytes, "8/fu3q+2DcgSJ19i0jZ5Cw==", "none", pt.Object{"length": 16}, map[string]string{"hex": "f3f7eedeafb60dc812275f62d236790b"}},
		{randomID, "p-9hUg", "p-9hUg", pt.Object{"byteLength": 4}, map[string]string{"hex": "a7ef6152", "dec": "2817483090", "b64Std": "p+9hUg=="}},
		{randomID, "my,-pre-,p-9hUg", "p-9hUg", pt.Object{"byteLength": 4, "prefix": "my,-pre-"}, map[string]string{"hex": "my,-pre-a7ef6152", "b64Url": "my,-pre-p-9hUg"}},
		{randomInteger, "15390,1,50000", "15390", pt.Object{"min": 1, "max": 50000}, nil},
		{randomInteger, "-3,-5,0,se,ed", "-3", pt.Object{"min": -5, "max": 0, "seed": "se,ed"}, nil},
		{randomPassword, "päss", "none", pt.Object{"length": 4}, map[string]string{"result": "päss"}},
		{randomString, "test", "test", pt.Object{"length": 4}, map[string]string{"result": "test"}},
		{randomUUID, "AABBccdd-eeff-0011-2233-445566778899", "aabbccdd-eeff-0011-2233-445566778899", pt.Object{}, map[string]string{"result": "aabbccdd-eeff-0011-2233-445566778899"}},
	} {
		t.Run(test.token+" "+test.id, func(t *testing.T) {
			r, err := p.TryImport(test.token, test.id)
			require.NoError(t, err)
			require.Equal(t, test.wantID, r.ID)
			require.Empty(t, p.Diff(r, test.inputs))
			for name, want := range test.state {
				require.Equal(t, want, r.Text(name), name)
			}
		})
	}
	for token, ids := range map[string][]string{
		randomBytes:   {"", "%", "abc"},
		randomID:      {"", "a+b/", "prefix,", "abcd=="},
		randomInteger: {"7", "7,1", "a,1,10", "7,x,10", "11,1,10", "0,1,10"},
		randomUUID:    {"", "aabbccdd", "aabbccddeeff00112233445566778899", "gabbccdd-eeff-0011-2233-445566778899"},
	} {
		for _, id := range ids {
			_, err := p.TryImport(token, id)
			require.ErrorIs(t, err, abi.ErrInvalidArgument, "%s %q", token, id)
			require.ErrorContains(t, err, "the ID to import must be", "%s %q", token, id)
		}
	}
	for _, token := range []string{randomPet, randomShuffle} {
		_, err := p.TryImport(token, "x")
		require.ErrorIs(t, err, abi.ErrUnimplemented)
	}
}
