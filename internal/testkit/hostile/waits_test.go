package hostile_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
)

// stuck is everything that a host calls for a guest and that its operator has made: a store, a
// log, an audit, a clock, random numbers, assets, a monitor. None of it ever answers, nor heeds its
// context, until it is released.
type stuck struct {
	abi.Monitor
	host.Clock
	released chan struct{}
	// called has an element once it was called, so that the call can be ended then.
	called chan struct{}
}

func newStuck() *stuck {
	return &stuck{Clock: host.SystemClock(), released: make(chan struct{}), called: make(chan struct{}, 100)}
}

func (s *stuck) hang() {
	s.called <- struct{}{}
	<-s.released
}

func (s *stuck) Get(context.Context, string) (abi.KVItem, error) {
	s.hang()
	return abi.KVItem{}, nil
}

func (s *stuck) Put(context.Context, string, *[]byte, uint64) (uint64, error) {
	s.hang()
	return 0, nil
}

func (s *stuck) Keys(context.Context, string, string, uint32) ([]string, error) {
	s.hang()
	return nil, nil
}

func (s *stuck) Wait(context.Context) (abi.Completed, error) {
	s.hang()
	return abi.Completed{}, errors.New("released")
}

func (s *stuck) Sleep(context.Context, time.Duration) error {
	s.hang()
	return nil
}

func (s *stuck) Enabled(context.Context, slog.Level) bool  { return true }
func (s *stuck) WithAttrs([]slog.Attr) slog.Handler        { return s }
func (s *stuck) WithGroup(string) slog.Handler             { return s }
func (s *stuck) Handle(context.Context, slog.Record) error { s.hang(); return nil }

// Read hangs for random numbers and for the contents of assets.
func (s *stuck) Read([]byte) (int, error) {
	s.hang()
	return 0, io.EOF
}

func (s *stuck) Close() error {
	s.hang()
	return nil
}

// assets opens what hangs when it is read or closed, and hangs for what is called hang.
type assets struct{ *stuck }

func (a assets) OpenAsset(_ context.Context, hash string, _ abi.AssetsForm) (io.ReadCloser, error) {
	if hash == "hang" {
		a.hang()
	}
	return a.stuck, nil
}

// TestNoCallOfTheHostOutlivesItsCall has modules call what never answers. The call ends all the
// same, and so do the provider and the host; others are served meanwhile. What was abandoned is
// freed once it ends.
func TestNoCallOfTheHostOutlivesItsCall(t *testing.T) {
	const key = "(i32.const 2048) (i32.const 4)"
	asset := func(rest string) string {
		return "(call $asset " + key + " (i32.const 0) (i32.const 4096))" + rest
	}
	for _, c := range []struct {
		// name is the function that the error names.
		name, once string
		method     string // get-mapping unless it is another one
	}{
		{"kv.get", "(call $get " + key + " (i32.const 4096))", ""},
		{"kv.put", "(call $put " + key + " (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 4096))", ""},
		{"kv.keys", "(call $keys " + key + " " + key + " (i32.const 1) (i32.const 4096))", ""},
		{"log.write", "(call $log (i32.const 0) " + key + " (i32.const 0) (i32.const 0) (i32.const 0))", ""},
		{"fd_write", "(drop (call $write (i32.const 1) (i32.const 2120) (i32.const 1) (i32.const 4096)))", ""},
		{"the log", "(drop (call $write (i32.const 1) (i32.const 2128) (i32.const 1) (i32.const 4096)))", ""},
		{"random_get", "(drop (call $random (i32.const 4096) (i32.const 8)))", ""},
		{"poll_oneoff", "(drop (call $poll (i32.const 2200) (i32.const 4096) (i32.const 1) (i32.const 8192)))", ""},
		{"path_open", "(drop (call $path-open (i32.const 3) (i32.const 0) " + key + " (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 4096)))", ""},
		{"files.set-mode", "(call $set-mode " + key + " (i32.const 0) (i32.const 4096))", ""},
		{"http.send", "(call $send (i32.const 2096) (i32.const 3) (i32.const 2056) (i32.const 19) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 4096))", ""},
		{"http.open", "(call $open (i32.const 2096) (i32.const 3) (i32.const 2056) (i32.const 19) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 4096))", ""},
		{"tcp.connect", "(call $connect (i32.const 2080) (i32.const 9) (i32.const 1) (i64.const 0) (i32.const 4096))", ""},
		{"assets.open", `(call $asset (i32.const 2300) (i32.const 4) (i32.const 0) (i32.const 4096))`, ""},
		{"assets.read", asset("(call $contents (i64.const 1) (i32.const 10) (i32.const 8192))"), ""},
		{"assets.close", asset("(call $give-up (i64.const 1))"), ""},
		{"monitor.wait", "(call $wait (i32.const 4096))", "call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStuck()
			config := host.NewConfig().WithCancelGrace(time.Millisecond).WithClock(s).WithRandom(s).
				WithAudit(func(u host.AuditEvent) {
					if u.Capability != "kv" {
						s.hang()
					}
				})
			h, err := host.New(t.Context(), config)
			require.NoError(t, err)
			http, err := grant.ParseHTTP("http://127.0.0.1:1")
			require.NoError(t, err)
			grants := host.Grants{KV: s, HTTP: []host.HTTPGrant{http}, TCP: []host.TCPGrant{{Host: "127.0.0.1", Port: 1}}}
			once := `(data (i32.const 2300) "hang") (func $once ` + c.once + ")"
			p := provide(t, h, assemble(t, "inputs/wait.wat", once), host.ProviderOptions{Grants: grants, Logger: slog.New(s)})

			ctx, cancel := context.WithCancelCause(abi.WithMonitor(abi.WithAssets(t.Context(), assets{s}), s))
			go func() {
				<-s.called
				cancel(errInTime)
			}()
			ended := make(chan error, 1)
			go func() {
				var err error
				if c.method == "call" {
					_, err = p.Call(ctx, abi.CallRequest{Token: "hostile:index:Thing/do", Args: property.Map{}})
				} else {
					_, err = p.GetMapping(ctx, abi.GetMappingRequest{})
				}
				ended <- err
			}()
			t.Parallel() // each call is waited for a second, and all wait side by side
			err = <-ended
			if c.name == "the log" { // whose last line is told once the call has its answer
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, abi.ErrCancelled)
				require.True(t, strings.HasSuffix(err.Error(), "the call was stopped: "+errInTime.Error()+
					"; it was waiting for "+c.name+" of the host, which did not end and was abandoned"), err)
			}
			require.EqualValues(t, 1, h.Stats().Abandoned)
			require.NoError(t, newNeighbour(t, h).answers())
			require.Equal(t, 1, p.Stats().Instances)
			require.NoError(t, p.Close())
			require.NoError(t, h.Close(context.Background()))
			close(s.released)
			for h.Stats().Instances > 0 {
				runtime.Gosched()
			}
			require.Zero(t, h.Stats().Memory)
		})
	}
}
