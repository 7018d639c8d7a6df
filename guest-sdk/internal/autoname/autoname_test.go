package autoname_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/autoname"
)

func TestWhatLooksMadeUp(t *testing.T) {
	request := &abi.CheckRequest{URN: urn.New("dev", "proj", "", "p:index:Crate", "logs"), RandomSeed: bytes.Repeat([]byte{0xa7}, 32)}
	for _, separator := range []string{"-", "_", ""} {
		name, refused := autoname.For(request, separator, 0)
		require.Empty(t, refused)
		require.Equal(t, "logs"+separator+"7777777", name)
		require.True(t, autoname.LooksMadeUp(request, separator, name))
		name, _ = autoname.For(request, separator, autoname.Shortest(separator))
		require.Equal(t, "l"+separator+"7777777", name)
		require.True(t, autoname.LooksMadeUp(request, separator, name), "it was cut")
	}
	for _, name := range []string{"", "logs", "7777777", "-7777777", "logs-777777", "logs-777777g", "logs_7777777", "blogs-7777777", "logs2-7777777"} {
		require.False(t, autoname.LooksMadeUp(request, "-", name), name)
	}
}
