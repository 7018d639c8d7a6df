package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// vault is a resource with write-only inputs at every kind of place.
func vault() *schema.Resource {
	str := &schema.Type{Kind: schema.KindString}
	user := &schema.Object{Token: "v:index:User"}
	user.Properties = []schema.Property{
		{Name: "deputies", Type: &schema.Type{Kind: schema.KindArray, Element: &schema.Type{Kind: schema.KindObject, Object: user}}},
		{Name: "name", Type: str},
		{Name: "password", Type: str, WriteOnly: true},
	}
	users := &schema.Type{Kind: schema.KindObject, Object: user}
	return &schema.Resource{Token: "v:index:Vault", Inputs: schema.Object{Properties: []schema.Property{
		{Name: "any", Type: &schema.Type{}},
		{Name: "key", Type: str, WriteOnly: true, Required: true, Replace: true},
		{Name: "keyVersion", Type: &schema.Type{Kind: schema.KindInteger}},
		{Name: "owner", Type: &schema.Type{Kind: schema.KindUnion, OneOf: []*schema.Type{str, users}}},
		{Name: "teams", Type: &schema.Type{Kind: schema.KindMap, Element: users}},
	}}}
}

func user(name, password string, deputies ...property.Value) property.Value {
	return property.Object(property.NewMap(
		property.Entry{Key: "name", Value: property.String(name)}, property.Entry{Key: "password", Value: property.String(password)},
		property.Entry{Key: "deputies", Value: property.Secret(property.Array(deputies...))}))
}

func TestWriteOnlyPlaces(t *testing.T) {
	r := vault()
	require.True(t, r.Inputs.HasWriteOnly())
	require.False(t, (&schema.Object{Properties: r.Inputs.Properties[2:3]}).HasWriteOnly())
	require.True(t, (&schema.Object{Properties: r.Inputs.Properties[3:4]}).HasWriteOnly())
	m := property.NewMap(
		property.Entry{Key: "any", Value: user("a", "p")},
		property.Entry{Key: "key", Value: property.Secret(property.String("k"))},
		property.Entry{Key: "keyVersion", Value: property.Number(1)},
		property.Entry{Key: "owner", Value: user("o", "p")},
		property.Entry{Key: "teams", Value: property.Object(property.NewMap(property.Entry{Key: "x", Value: user("t", "p", user("d", "p"))}))},
		property.Entry{Key: "other", Value: user("u", "p")},
	)
	var got []string
	for _, path := range r.Inputs.WriteOnly(m) {
		got = append(got, path.String())
	}
	require.ElementsMatch(t, []string{"key", "owner.password", "teams.x.password", "teams.x.deputies[0].password"}, got)
}

// Nothing is recorded of a write-only input, so it is no difference: another input says that it changed.
func TestWriteOnlyInputsDoNotDiffer(t *testing.T) {
	r := vault()
	olds := property.NewMap(property.Entry{Key: "keyVersion", Value: property.Number(1)}, property.Entry{Key: "owner", Value: user("o", "")})
	owner, ok := property.Path{property.Key("password")}.Delete(user("o", ""))
	require.True(t, ok)
	olds = olds.With("owner", owner)
	request := abi.DiffRequest{Olds: olds, OldInputs: olds, News: olds.With("key", property.String("new")).With("owner", user("o", "new"))}
	got, err := r.Diff(request)
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesNone, got.Changes)

	request.News = request.News.With("keyVersion", property.Number(2))
	got, err = r.Diff(request)
	require.NoError(t, err)
	require.Equal(t, []string{"keyVersion"}, got.ChangedKeys)
	require.Empty(t, got.ReplaceKeys)
}
