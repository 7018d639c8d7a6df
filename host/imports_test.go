package host

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/printable"
)

type someMonitor struct{ abi.Monitor }

func TestTheMonitorIsForComponentsOnly(t *testing.T) {
	ctx := abi.WithMonitor(t.Context(), someMonitor{})
	for method, granted := range map[string]bool{
		"construct": true, "call": true, "create": false, "invoke": false, "configure": false, "start": false,
	} {
		i := &instance{sandbox: &sandbox{}, call: begin(ctx, abi.Method(method), callLimits{timeout: time.Hour}, time.Second)}
		m, ok := i.grantedImports().Monitor.(*guestMonitor)
		require.Equal(t, granted, ok, method)
		if granted {
			require.Equal(t, someMonitor{}, m.Monitor)
		}
		i.call.finish()
	}
	i := &instance{sandbox: &sandbox{}, call: begin(t.Context(), "construct", callLimits{timeout: time.Hour}, time.Second)}
	defer i.call.finish()
	_, err := i.grantedImports().Monitor.Wait(t.Context())
	require.ErrorIs(t, err, abi.ErrDenied)
}

// Every function of a capability that was not granted says so, as the host.
func TestWhatIsNotGrantedIsDenied(t *testing.T) {
	for _, capability := range []any{guestKV{}, deniedMonitor{}} {
		all := reflect.ValueOf(capability)
		for n := range all.NumMethod() {
			name, method := all.Type().Method(n).Name, all.Method(n)
			args := []reflect.Value{reflect.ValueOf(context.Background())}
			for p := 1; p < method.Type().NumIn(); p++ {
				args = append(args, reflect.Zero(method.Type().In(p)))
			}
			results := method.Call(args)
			if name == "Close" {
				continue
			}
			err, ok := results[len(results)-1].Interface().(*abi.Error)
			require.True(t, ok, name)
			require.Equal(t, abi.ErrorKindDenied, err.Kind, name)
			require.Equal(t, abi.ErrorOriginHost, err.Origin, name)
			require.NotEmpty(t, err.Message, name)
		}
	}
}

func TestPrintable(t *testing.T) {
	for given, want := range map[string]string{
		"plain ünïcode ✓\tand\nlines": "plain ünïcode ✓\tand\nlines",
		"\x1b[2J\x1b]52;c;aGk=\a":     `\x1b[2J\x1b]52;c;aGk=\a`,
		"over\rwritten":               `over\rwritten`,
		"dos\r\nline":                 "dos\nline",
		"c1 \u009b31m":                `c1 \u009b31m`,
		"bidi \u202egnp.exe":          `bidi \u202egnp.exe`,
		"separators \u2028\u2029":     `separators \u2028\u2029`,
		"nul \x00":                    `nul \x00`,
		"broken \xff":                 "broken \uFFFD",
	} {
		require.Equal(t, want, printable.Text(given))
	}
}
