package pulumishim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
)

// Each method of the published protocol is served. Pulumi's client calls them in engine/internal/pulumitest.
func TestAllMethodsAreServed(t *testing.T) {
	s, err := Open(t.Context(), abi.Unimplemented{}, "", 0)
	require.NoError(t, err)
	defer s.Close()
	var published []string
	methods := pulumigrpc.NewMessage("pulumirpc.CheckRequest").Reflect.Descriptor().ParentFile().Services().ByName("ResourceProvider").Methods()
	for i := range methods.Len() {
		published = append(published, string(methods.Get(i).Name()))
	}
	require.Len(t, published, 21)
	require.ElementsMatch(t, published, append(slices.Collect(maps.Keys(s.methods())), "List"))
}

// A provider that implements nothing can still be asked: what Pulumi needs has an answer.
func TestWhatAProviderLeavesOut(t *testing.T) {
	s, err := Open(t.Context(), abi.Unimplemented{}, "", 0)
	require.NoError(t, err)
	defer s.Close()
	client := pulumigrpc.Dial(s.Address())
	defer client.Close()
	for _, method := range []string{"Handshake", "Attach", "GetPluginInfo", "CheckConfig", "Configure", "Check", "Cancel", "GetMapping"} {
		_, err := client.Call(t.Context(), pulumigrpc.ResourceProvider, method, pulumigrpc.Request(pulumigrpc.ResourceProvider, method))
		require.NoError(t, err, method)
	}
	for _, method := range []string{"GetSchema", "Create", "Update", "Read", "Delete", "Invoke", "Construct", "Call", "Parameterize"} {
		_, err := client.Call(t.Context(), pulumigrpc.ResourceProvider, method, pulumigrpc.Request(pulumigrpc.ResourceProvider, method))
		require.ErrorIs(t, err, abi.ErrUnimplemented, method)
	}
}

// slow is a provider whose configuration waits.
type slow struct {
	abi.Unimplemented
	began chan struct{}
	ends  chan error
}

func (s slow) Configure(context.Context, abi.ConfigureRequest) error {
	s.began <- struct{}{}
	return <-s.ends
}

// A second Pulumi that attaches while the first configures the provider waits: the provider cannot be used before.
func TestConfigurationsAtOnce(t *testing.T) {
	p := slow{began: make(chan struct{}), ends: make(chan error)}
	s, err := Open(t.Context(), p, "", 0)
	require.NoError(t, err)
	defer s.Close()
	client := pulumigrpc.Dial(s.Address())
	defer client.Close()
	configure := func(ctx context.Context, region string) error {
		in := pulumigrpc.Request(pulumigrpc.ResourceProvider, "Configure")
		in.SetProperties("args", property.NewMap(property.Entry{Key: "region", Value: property.String(region)}))
		_, err := client.Call(ctx, pulumigrpc.ResourceProvider, "Configure", in)
		return err
	}
	first := make(chan error)
	begin := func() {
		go func() { first <- configure(t.Context(), "eu") }()
		<-p.began
	}
	begin()
	impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, configure(impatient, "eu"), abi.ErrCancelled, "the provider is not configured yet")
	p.ends <- errors.New("it is not there")
	require.ErrorContains(t, <-first, "it is not there")

	begin()
	p.ends <- nil
	require.NoError(t, <-first)
	require.NoError(t, configure(t.Context(), "eu"))
	require.ErrorContains(t, configure(t.Context(), "us"), "has another configuration already")
}

// failing reads and deletes with an error.
type failing struct {
	abi.Unimplemented
	err error
}

func (f failing) Read(context.Context, abi.ReadRequest) (abi.ReadResponse, error) {
	return abi.ReadResponse{}, f.err
}

func (f failing) Delete(context.Context, abi.DeleteRequest) error { return f.err }

// Pulumi is told that an object is gone by an empty ID alone: it forgets what the provider only did not find.
func TestGone(t *testing.T) {
	for _, c := range []struct {
		err  error
		gone bool
	}{
		{nil, true},
		{abi.NewError(abi.ErrorKindNotFound, "no such project"), false},
		{abi.NewError(abi.ErrorKindUnimplemented, "x"), false},
		{abi.NewError(abi.ErrorKindInternal, "x"), false},
	} {
		s, err := Open(t.Context(), failing{err: c.err}, "", 0)
		require.NoError(t, err)
		client := pulumigrpc.Dial(s.Address())
		for _, method := range []string{"Read", "Delete"} {
			out, err := client.Call(t.Context(), pulumigrpc.ResourceProvider, method, pulumigrpc.Request(pulumigrpc.ResourceProvider, method))
			require.Equal(t, c.gone, err == nil, "%s: %v", method, c.err)
			if err == nil && method == "Read" {
				require.Empty(t, out.Text("id"))
			}
		}
		client.Close()
		s.Close()
	}
}
