package shape

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
)

// What has changed is not held, whichever field it is.
func TestHoldsNothingElse(t *testing.T) {
	s := outputs(t, everything{})
	rapid.Check(t, func(t *rapid.T) {
		was, other := anEverything().Draw(t, "was"), anEverything().Draw(t, "other")
		m, err := s.Store(unsafe.Pointer(&was))
		require.NoError(t, err)
		for i := range reflect.TypeFor[everything]().NumField() {
			now := was
			field := reflect.ValueOf(&now).Elem().Field(i)
			if field.CanSet() {
				field.Set(reflect.ValueOf(other).Field(i))
			}
			after, err := s.Store(unsafe.Pointer(&now))
			require.NoError(t, err)
			if !after.EqualContents(m) {
				require.False(t, s.Holds(m, unsafe.Pointer(&now)), "field %d", i)
			}
		}
	})
}

// What was loaded is held, also where a property is missing, unknown, or a secret.
func TestHoldsWhatWasLoaded(t *testing.T) {
	type machine struct {
		Name  string            `husk:"name"`
		Cores *int              `husk:"cores"`
		Tags  map[string]string `husk:"tags"`
		Disks []inner           `husk:"disks"`
		Spare *inner            `husk:"spare"`
		Rest  property.Map      `husk:"rest"`
		Any   property.Value    `husk:"any"`
	}
	inputs, err := (&Builder{Package: "p"}).Inputs(reflect.TypeFor[machine]())
	require.NoError(t, err)
	object := func(key string, v property.Value) property.Value {
		return property.Object(property.NewMap(property.Entry{Key: key, Value: v}))
	}
	disk := object("name", property.String("a"))
	given := property.NewMap(
		property.Entry{Key: "name", Value: property.Secret(property.String("x"))},
		property.Entry{Key: "cores", Value: property.Number(4)},
		property.Entry{Key: "tags", Value: object("k", property.String("v"))},
		property.Entry{Key: "disks", Value: property.Array(disk, disk)},
		property.Entry{Key: "spare", Value: disk},
		property.Entry{Key: "rest", Value: object("k", property.Unknown)},
		property.Entry{Key: "any", Value: property.Unknown},
		property.Entry{Key: "other", Value: property.Null},
	)
	for _, m := range []property.Map{given, {}, given.Without("tags", "spare"), given.With("cores", property.Unknown), given.With("disks", property.Null)} {
		var loaded machine
		require.NoError(t, inputs.Load(m, unsafe.Pointer(&loaded)))
		require.True(t, inputs.Holds(m, unsafe.Pointer(&loaded)), "%v", m)
		loaded.Name = "changed"
		require.False(t, inputs.Holds(m, unsafe.Pointer(&loaded)), "%v", m)
	}
}

// What a copy of a struct shares with it, an author's code could change in both.
func TestCopiesHaveNothingInCommon(t *testing.T) {
	type size struct {
		Cores int `husk:"cores"`
	}
	type plain struct {
		Name    string         `husk:"name"`
		Size    size           `husk:"size"`
		Content property.Map   `husk:"content"`
		Any     property.Value `husk:"any"`
	}
	require.True(t, outputs(t, plain{}).Copies())
	require.False(t, outputs(t, struct {
		Tags map[string]string `husk:"tags"`
	}{}).Copies())
	require.False(t, outputs(t, struct {
		Names []string `husk:"names"`
	}{}).Copies())
	require.False(t, outputs(t, struct {
		Size *size `husk:"size"`
	}{}).Copies())
	require.False(t, outputs(t, everything{}).Copies())
}
