package hostile_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// again is a function for inputs/wait.wat that makes a call of the host until it fails. The error,
// which begins behind the result's first offset bytes, is its answer.
func again(call string, offset int) string {
	return fmt.Sprintf(`(func $once (loop $next
		(call %s (i32.const 4096))
		(br_if $next (i32.eqz (i32.load8_u (i32.const 4096)))))
		(i32.store8 (i32.const 16384) (i32.const 1))
		(memory.copy (i32.const 16388) (i32.const %d) (i32.const 128)))`, call, 4096+offset)
}

// zeros are the contents of every asset.
type zeros struct{}

func (zeros) OpenAsset(context.Context, string, abi.AssetsForm) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(make([]byte, 100))), nil
}

// TestWhatTheHostHoldsIsCharged has modules open what makes the host hold something for them, again
// and again and without an end. It counts as memory and files of theirs, and is given back.
func TestWhatTheHostHoldsIsCharged(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	const mebibyte = 1 << 20
	const url = "(i32.const 2096) (i32.const 3) (i32.const 2056) (i32.const 19) (i32.const 0) (i32.const 0)"
	body := func(bytes int) string { return fmt.Sprintf("(i32.const 65536) (i32.const %d) (i64.const 0)", bytes) }
	asset := func(form int) string {
		return fmt.Sprintf("$asset (i32.const 2048) (i32.const 4) (i32.const %d)", form)
	}
	for name, c := range map[string]struct {
		config host.Config
		once   string
		want   string
		most   uint64 // of memory, in MiB
	}{
		"bodies of requests that are never finished": {
			host.NewConfig().WithLimit(limit.Memory, 64*mebibyte), again("$open "+url+" "+body(8*mebibyte), 8),
			"it needs more memory than its limit of 64 MiB", 64,
		},
		"and that are part of what all instances have": {
			host.NewConfig().WithLimit(limit.Memory, 256*mebibyte).WithLimit(limit.TotalMemory, 96*mebibyte), again("$open "+url+" "+body(8*mebibyte), 8),
			"would need more than the 96 MiB of memory that they may have together", 96,
		},
		"as many exchanges as one call may have": {
			host.NewConfig(), again("$open "+url+" "+body(0), 8), "64 HTTP exchanges of the call are open already", 32,
		},
		"exchanges count as files": {
			host.NewConfig().WithLimit(limit.OpenFiles, 7), again("$open "+url+" "+body(0), 8), "too many files and connections are open: close some\nit was refused more than the 7 files and connections that it may have open", 32,
		},
		"connections count as files": {
			host.NewConfig().WithLimit(limit.OpenFiles, 7), again(fmt.Sprintf("$connect (i32.const 2080) (i32.const 9) (i32.const %d) (i64.const 0)", port), 8),
			"too many files and connections are open: close some\nit was refused more than the 7 files and connections that it may have open", 32,
		},
		"also as those of all instances": {
			host.NewConfig().WithLimit(limit.TotalFiles, 7), again(fmt.Sprintf("$connect (i32.const 2080) (i32.const 9) (i32.const %d) (i64.const 0)", port), 8),
			"too many files and connections are open: close some\nthe instances of all providers would have more than the 7 files and connections open that they may have together", 32,
		},
		"assets count as files": {
			host.NewConfig().WithLimit(limit.OpenFiles, 7), again(asset(0), 8), "opening an asset: too many files and connections are open: close some\nit was refused more than the 7 files", 32,
		},
		"archives take memory": {
			host.NewConfig().WithLimit(limit.Memory, 48*mebibyte), again(asset(1), 8), "opening an asset: the host holds no more memory for it\nit needs more memory than its limit of 48 MiB", 48,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, c.config)
			http, err := grant.ParseHTTP("http://127.0.0.1:1")
			require.NoError(t, err)
			grants := host.Grants{HTTP: []host.HTTPGrant{http}, TCP: []host.TCPGrant{{Host: "127.0.0.1", Port: port}}}
			p := provide(t, h, assemble(t, "inputs/wait.wat", c.once), host.ProviderOptions{Grants: grants, Instances: 1})
			for range 3 { // nothing of it stays, but for connections
				_, err = p.GetMapping(abi.WithAssets(t.Context(), zeros{}), abi.GetMappingRequest{})
				require.ErrorContains(t, err, c.want)
				require.ErrorIs(t, err, abi.ErrUnavailable)
				require.LessOrEqual(t, h.Stats().Memory, c.most*mebibyte)
			}
			require.NoError(t, p.Close())
			require.Zero(t, h.Stats().Memory)
		})
	}
}

// Files count with connections, and those of one instance are not there for another one.
func TestFilesOfAllInstancesAreBounded(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "name"), nil, 0o600))
	h := newHost(t, host.NewConfig().WithLimit(limit.TotalFiles, 10))
	// It opens a file again and again, and answers how often it could not within twenty times.
	const once = `(global $failed (mut i32) (i32.const 0))
		(data (i32.const 16500) "0123456789abcdefghijkl")
		(func $once (local $n i32)
			(loop $next
				(if (call $path-open (i32.const 4) (i32.const 0) (i32.const 2048) (i32.const 4) (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 4096))
					(then (global.set $failed (i32.add (global.get $failed) (i32.const 1)))))
				(br_if $next (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 20))))
			(i32.store (i32.const 16388) (i32.add (i32.const 16500) (global.get $failed)))
			(i32.store (i32.const 16392) (i32.const 1)))`
	grants := host.Grants{FS: []host.FSGrant{{HostPath: dir, GuestPath: "/dir"}}}
	wasm := assemble(t, "inputs/wait.wat", once)
	first, second := provide(t, h, wasm, host.ProviderOptions{Grants: grants}), provide(t, h, wasm, host.ProviderOptions{Grants: grants})
	failed := func(p *host.Provider) string {
		r, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
		require.NoError(t, err)
		return r.Provider
	}
	require.Equal(t, "a", failed(first), "ten were open")
	require.Equal(t, "k", failed(second), "none is left")
}

// operations is a monitor whose operations end when they are waited for.
type operations struct {
	abi.Monitor
	started, ended abi.OperationHandle
}

func (o *operations) Start(context.Context, abi.Operation) (abi.OperationHandle, error) {
	o.started++
	return o.started, nil
}

func (o *operations) Wait(context.Context) (abi.Completed, error) {
	o.ended++
	return abi.Completed{Handle: o.ended, Outcome: abi.Outcome{Case: abi.OutcomeCaseOutputsRegistered}}, nil
}

// What a component passes to operations is held until it has waited for them, or its call ends.
func TestOperationsThatAreUnderWayAreCharged(t *testing.T) {
	// The operations register outputs: one text of 8 MiB, and none.
	const operation = `(data (i32.const 3072) "\01") (data (i32.const 3080) "\00\08\00\00\04\00\00\00\00\00\80\00\08\00\80\00")
		(data (i32.const 8388608) "\a1\61\61\7a\00\80\00\00")
		(data (i32.const 3104) "\01") (data (i32.const 3112) "\00\08\00\00\04\00\00\00\40\0c\00\00\01\00\00\00") (data (i32.const 3136) "\a0") `
	const tooMuch = "the host holds no more memory for it\nit needs more memory than its limit of %d MiB"
	for name, c := range map[string]struct {
		once, want string
		least      abi.OperationHandle
		memory     uint64 // in MiB
	}{
		"not waited for": {again("$start (i32.const 3072)", 8), fmt.Sprintf(tooMuch, 64), 4, 64},
		"very many":      {again("$start (i32.const 3104)", 8), "starting an operation: " + fmt.Sprintf(tooMuch, 24), 500, 24},
		"waited for": {`(func $once (local $n i32) (loop $next
			(call $start (i32.const 3072) (i32.const 4096))
			(if (i32.load8_u (i32.const 4096)) (then unreachable))
			(call $wait (i32.const 4096))
			(br_if $next (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 50)))))`, "", 50, 64},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, host.NewConfig().WithLimit(limit.Memory, c.memory<<20))
			p := provide(t, h, assemble(t, "inputs/wait.wat", operation+c.once), host.ProviderOptions{Instances: 1})
			var o operations
			for range 3 {
				o = operations{}
				_, err := p.Call(abi.WithMonitor(t.Context(), &o), abi.CallRequest{Token: "hostile:index:Thing/do"})
				require.ErrorContains(t, err, c.want)
				require.GreaterOrEqual(t, o.started, c.least)
				require.LessOrEqual(t, h.Stats().Memory, c.memory<<20)
			}
			require.NoError(t, p.Close())
			require.Zero(t, h.Stats().Memory)
		})
	}
}
