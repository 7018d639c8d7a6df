package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

func server() *schema.Resource {
	disk := &schema.Object{Token: "cloud:index/disk:Disk", Properties: []schema.Property{
		{Name: "mount", Type: typ(schema.KindString)},
		{Name: "size", Type: typ(schema.KindInteger), Default: val(10), Replace: true},
	}}
	disks := listOf(&schema.Type{Kind: schema.KindObject, Object: disk})
	inputs := []schema.Property{
		{Name: "disks", Type: disks},
		{Name: "image", Type: typ(schema.KindString), Replace: true},
		{Name: "mode", Type: typ(schema.KindString), Default: val("auto")},
		{Name: "size", Type: typ(schema.KindInteger)},
		{Name: "tags", Type: mapOf(typ(schema.KindString))},
		{Name: "token", Type: typ(schema.KindString)},
	}
	outputs := []schema.Property{
		{Name: "address", Type: typ(schema.KindString), Stable: true},
		{Name: "disks", Type: disks},
		{Name: "image", Type: typ(schema.KindString)},
		{Name: "mode", Type: typ(schema.KindString)},
		{Name: "size", Type: typ(schema.KindString)}, // not what the input is
		{Name: "tags", Type: mapOf(typ(schema.KindString))},
	}
	return &schema.Resource{
		Token: "cloud:index:Server", DeleteBeforeReplace: true,
		Inputs: schema.Object{Properties: inputs}, Outputs: schema.Object{Properties: outputs},
	}
}

func change(path string, kind abi.DiffKind, inputDiff bool) abi.PropertyDiff {
	return abi.PropertyDiff{Path: path, Kind: kind, InputDiff: inputDiff}
}

func TestDiff(t *testing.T) {
	const input, state = true, false
	for _, test := range []struct {
		name             string
		olds, oldIn, new property.Map
		ignore           []string
		want             []abi.PropertyDiff
		replaces         []string
	}{
		{name: "nothing", olds: obj("image", "a", "address", "x"), oldIn: obj("image", "a"), new: obj("image", "a")},
		{name: "update and replacement",
			olds: obj("image", "a", "mode", "auto"), oldIn: obj("image", "a", "mode", "auto"), new: obj("image", "b", "mode", "manual"),
			want:     []abi.PropertyDiff{change("image", abi.DiffKindUpdateReplace, state), change("mode", abi.DiffKindUpdate, state)},
			replaces: []string{"image"}},
		{name: "an input that the state lacks", oldIn: obj("token", "a"), new: obj("token", "b"),
			want: []abi.PropertyDiff{change("token", abi.DiffKindUpdate, input)}},
		{name: "an output of another type is no old value", olds: obj("size", "large"), oldIn: obj("size", 1), new: obj("size", 1)},
		{name: "given for the first time", new: obj("image", "a", "tags", obj("a", "1")),
			want:     []abi.PropertyDiff{change("image", abi.DiffKindAddReplace, input), change("tags", abi.DiffKindAdd, input)},
			replaces: []string{"image"}},
		{name: "no longer given", olds: obj("image", "a"), oldIn: obj("image", "a", "tags", obj("a", "1")), new: obj(),
			want:     []abi.PropertyDiff{change("image", abi.DiffKindDeleteReplace, input), change("tags", abi.DiffKindDelete, input)},
			replaces: []string{"image"}},
		{name: "never given, but chosen by the provider", olds: obj("image", "chosen"), new: obj()},
		{name: "null is absent", olds: obj("image", nil), oldIn: obj("image", nil), new: obj("image", nil)},
		{name: "what a refresh found", olds: obj("tags", obj("a", "2")), oldIn: obj("tags", obj("a", "1")), new: obj("tags", obj("a", "1")),
			want: []abi.PropertyDiff{change("tags.a", abi.DiffKindUpdate, state)}},
		{name: "a key that a refresh did not find", olds: obj("tags", obj()), oldIn: obj("tags", obj("a", "1")), new: obj("tags", obj("a", "1")),
			want: []abi.PropertyDiff{change("tags.a", abi.DiffKindAdd, input)}},
		{name: "keys of maps", olds: obj("tags", obj("a", "1", "b c", "1")), oldIn: obj("tags", obj("a", "1", "b c", "1")), new: obj("tags", obj("a", "2", "d", "1")),
			want: []abi.PropertyDiff{change("tags.a", abi.DiffKindUpdate, state), change(`tags["b c"]`, abi.DiffKindDelete, input), change("tags.d", abi.DiffKindAdd, input)}},
		{name: "elements of arrays",
			olds:  obj("disks", []any{obj("size", 10, "mount", "/a"), obj("size", 20)}),
			oldIn: obj("disks", []any{obj("size", 10, "mount", "/a"), obj("size", 20)}),
			new:   obj("disks", []any{obj("size", 15, "mount", "/b"), obj("size", 20), obj("size", 30)}),
			want: []abi.PropertyDiff{
				change("disks[0].mount", abi.DiffKindUpdate, state), change("disks[0].size", abi.DiffKindUpdateReplace, state), change("disks[2]", abi.DiffKindAdd, input)},
			replaces: []string{"disks"}},
		{name: "fewer elements",
			olds: obj("disks", []any{obj("size", 1), obj("size", 2)}), oldIn: obj("disks", []any{obj("size", 1), obj("size", 2)}), new: obj("disks", []any{obj("size", 1)}),
			want: []abi.PropertyDiff{change("disks[1]", abi.DiffKindDelete, state)}},
		{name: "a default that is new", olds: obj("image", "a"), oldIn: obj("image", "a"), new: obj("image", "a", "mode", "auto")},
		{name: "a nested default that is new", olds: obj("disks", []any{obj("mount", "/")}), oldIn: obj("disks", []any{obj("mount", "/")}),
			new: obj("disks", []any{obj("mount", "/", "size", 10)})},
		{name: "another value than the default", olds: obj("image", "a"), oldIn: obj("image", "a"), new: obj("image", "a", "mode", "manual"),
			want: []abi.PropertyDiff{change("mode", abi.DiffKindAdd, input)}},
		{name: "secrets compare by contents", olds: obj("image", property.Secret(val("a"))), oldIn: obj("image", "a"), new: obj("image", property.Secret(val("a")))},
		{name: "an unknown is a change", olds: obj("image", "a"), oldIn: obj("image", "a"), new: obj("image", property.Unknown),
			want: []abi.PropertyDiff{change("image", abi.DiffKindUpdateReplace, state)}, replaces: []string{"image"}},
		{name: "ignored", olds: obj("image", "a", "tags", obj("a", "1", "b", "1")), oldIn: obj("image", "a", "tags", obj("a", "1", "b", "1")),
			new:    obj("image", "b", "tags", obj("a", "2", "b", "2")),
			ignore: []string{"image", "tags.a"},
			want:   []abi.PropertyDiff{change("tags.b", abi.DiffKindUpdate, state)}},
		{name: "ignored by a wildcard", olds: obj("tags", obj("a", "1", "b", "1")), oldIn: obj("tags", obj("a", "1", "b", "1")),
			new: obj("tags", obj("a", "2", "b", "2")), ignore: []string{"tags.*"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, err := server().Diff(abi.DiffRequest{
				Olds: test.olds, OldInputs: test.oldIn, News: test.new, IgnoreChanges: test.ignore})
			require.NoError(t, err)
			require.Equal(t, test.want, response.DetailedDiff)
			require.Equal(t, test.replaces, response.ReplaceKeys)
			require.True(t, response.HasDetailedDiff)
			require.True(t, response.DeleteBeforeReplace)
			if len(test.want) == 0 {
				require.Equal(t, abi.DiffChangesNone, response.Changes)
				require.Empty(t, response.ChangedKeys)
			} else {
				require.Equal(t, abi.DiffChangesSome, response.Changes)
				require.NotEmpty(t, response.ChangedKeys)
			}
		})
	}
}

func TestDiffStableKeys(t *testing.T) {
	olds := obj("image", "a", "mode", "auto", "address", "x")
	response, err := server().Diff(abi.DiffRequest{
		Olds: olds, OldInputs: obj("image", "a", "mode", "auto"), News: obj("image", "a", "mode", "manual")})
	require.NoError(t, err)
	require.Equal(t, []string{"image", "address"}, response.StableKeys)

	response, err = server().Diff(abi.DiffRequest{
		Olds: olds, OldInputs: obj("image", "a", "mode", "auto"), News: obj("image", "b", "mode", "auto")})
	require.NoError(t, err)
	require.Empty(t, response.StableKeys, "a replacement has nothing of the old resource")
}

func TestDiffRefusesPaths(t *testing.T) {
	_, err := server().Diff(abi.DiffRequest{IgnoreChanges: []string{"a["}})
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.ErrorContains(t, err, "ignoreChanges")
}

// What a diff answers is bounded, however often a long key leads to what has changed.
func TestDiffBoundsItsPaths(t *testing.T) {
	leaves := make([]any, 2_000)
	for i := range leaves {
		leaves[i] = i
	}
	request := func(key string) abi.DiffRequest {
		return abi.DiffRequest{Olds: obj("tags", obj(key, []any{})), News: obj("tags", obj(key, leaves))}
	}
	response, err := server().Diff(request("short"))
	require.NoError(t, err)
	require.Len(t, response.DetailedDiff, len(leaves))
	_, err = server().Diff(request(strings.Repeat("x", 10_000)))
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.ErrorContains(t, err, "too many changes")
}

// A replacement deletes the old object first if its identity stays as it is.
func TestIdentityDeletesFirst(t *testing.T) {
	r := server()
	r.DeleteBeforeReplace, r.Identity = false, []string{"image", "mode"}
	for _, test := range []struct {
		name             string
		olds, oldIn, new property.Map
		want             bool
	}{
		{"unchanged", obj(), obj("image", "a", "mode", "auto"), obj("image", "a", "mode", "auto"), true},
		{"something else changed", obj(), obj("image", "a", "mode", "auto", "token", "a"), obj("image", "a", "mode", "auto", "token", "b"), true},
		{"secret by now", obj(), obj("image", "a", "mode", "auto"), obj("image", property.Secret(val("a")), "mode", "auto"), true},
		{"a part changed", obj(), obj("image", "a", "mode", "auto"), obj("image", "a", "mode", "manual"), false},
		{"not known yet", obj(), obj("image", "a", "mode", "auto"), obj("image", property.Unknown, "mode", "auto"), false},
		{"chosen by the provider", obj("image", "a", "mode", "auto"), obj("mode", "auto"), obj("image", "a", "mode", "auto"), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, err := r.Diff(abi.DiffRequest{Olds: test.olds, OldInputs: test.oldIn, News: test.new})
			require.NoError(t, err)
			require.Equal(t, test.want, response.DeleteBeforeReplace)
		})
	}
}
