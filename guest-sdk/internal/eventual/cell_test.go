package eventual_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/internal/eventual"
)

func TestCell(t *testing.T) {
	one := eventual.Pending()
	calls := 0
	inner := eventual.Pending()
	computed := eventual.Computed([]*eventual.Cell{one, nil}, func(values []property.Value) (*eventual.Cell, error) {
		calls++
		require.Equal(t, []property.Value{property.Number(1), property.Null}, values)
		return inner, nil
	})

	_, ok, err := computed.Get()
	require.NoError(t, err)
	require.False(t, ok, "its source has no value yet")
	one.Set(property.Number(1), nil)
	one.Set(property.Number(2), nil)
	_, ok, _ = computed.Get()
	require.False(t, ok, "what it was computed to has no value yet")
	inner.Set(property.String("x"), nil)
	for range 2 {
		v, ok, err := computed.Get()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, property.String("x"), v)
	}
	require.Equal(t, 1, calls)
}

func TestCellFails(t *testing.T) {
	failure := errors.New("no")
	never := func([]property.Value) (*eventual.Cell, error) { panic("called without its sources") }
	for name, c := range map[string]*eventual.Cell{
		"itself":             eventual.Failed(failure),
		"source":             eventual.Computed([]*eventual.Cell{eventual.Failed(failure)}, never),
		"one of two sources": eventual.Computed([]*eventual.Cell{eventual.Failed(failure), eventual.Pending()}, never),
		"computation": eventual.Computed(nil, func([]property.Value) (*eventual.Cell, error) {
			return nil, failure
		}),
		"what it was computed to": eventual.Computed(nil, func([]property.Value) (*eventual.Cell, error) {
			return eventual.Failed(failure), nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			_, ok, err := c.Get()
			require.True(t, ok)
			require.Equal(t, failure, err)
		})
	}
}
