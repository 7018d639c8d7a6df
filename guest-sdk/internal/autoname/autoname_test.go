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
		form := autoname.Form{Separator: separator}
		name, refused := autoname.For(request, form)
		require.Empty(t, refused)
		require.Equal(t, "logs"+separator+"7777777", name)
		require.True(t, autoname.LooksMadeUp(request, form, name))
		form.Longest = autoname.Shortest(separator)
		name, _ = autoname.For(request, form)
		require.Equal(t, "l"+separator+"7777777", name)
		require.True(t, autoname.LooksMadeUp(request, form, name), "it was cut")
	}
	for _, name := range []string{"", "logs", "7777777", "-7777777", "logs-777777", "logs-777777g", "logs_7777777", "blogs-7777777", "logs2-7777777"} {
		require.False(t, autoname.LooksMadeUp(request, autoname.Form{Separator: "-"}, name), name)
	}
}

func TestNamesWithoutCapitalLetters(t *testing.T) {
	form := autoname.Form{Separator: "-", Lower: true}
	request := &abi.CheckRequest{Name: "DevLogs", RandomSeed: bytes.Repeat([]byte{0xa7}, 32)}
	name, _ := autoname.For(request, form)
	require.Equal(t, "devlogs-7777777", name)
	require.True(t, autoname.LooksMadeUp(request, form, name))
	require.False(t, autoname.LooksMadeUp(request, autoname.Form{Separator: "-"}, name))
	for mode, want := range map[abi.AutonamingMode]string{abi.AutonamingModePropose: "logs", abi.AutonamingModeEnforce: "Logs"} {
		request.Autonaming = &abi.Autonaming{ProposedName: "Logs", Mode: mode}
		name, refused := autoname.For(request, form)
		require.Empty(t, refused)
		require.Equal(t, want, name)
	}
}
