package nativewire_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guesttest"
	"github.com/husk-dev/husk/host/kvstore"
	"github.com/husk-dev/husk/internal/build/nativewire"
)

// provider uses each import, and keeps what it was configured with.
type provider struct {
	abi.Unimplemented
	region  string
	entered chan struct{}
	left    chan struct{}
}

type importsKey struct{}

func (p *provider) Configure(_ context.Context, r abi.ConfigureRequest) error {
	p.region, _ = r.Inputs.Get("region").AsString()
	return nil
}

func (p *provider) Invoke(ctx context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	if r.Token == "wait" {
		close(p.entered)
		<-ctx.Done()
		close(p.left)
		return abi.InvokeResponse{}, ctx.Err()
	}
	i := ctx.Value(importsKey{}).(nativewire.Imports)
	i.Log.Write(ctx, abi.LogEntry{Message: "hello from " + p.region})
	stored := []byte(p.region)
	if _, err := i.KV.Put(ctx, "region", &stored, 0); err != nil {
		return abi.InvokeResponse{}, err
	}
	return abi.InvokeResponse{Result: r.Args.With("region", property.String(p.region))}, nil
}

func (p *provider) Construct(ctx context.Context, r abi.ConstructRequest) (abi.ConstructResponse, error) {
	i := ctx.Value(importsKey{}).(nativewire.Imports)
	made, err := i.Monitor.RegisterResource(ctx, abi.RegisterResourceRequest{Type: "a:b:C", Name: r.Name + "-child", Inputs: r.Inputs, Custom: true})
	return abi.ConstructResponse{URN: made.URN, State: made.State}, err
}

type monitor struct{ abi.Monitor }

func (monitor) RegisterResource(_ context.Context, r abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	if r.Name == "bad-child" {
		return abi.RegisterResourceResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "it is bad")
	}
	return abi.RegisterResourceResponse{URN: "urn:pulumi:s::p::a:b:C::" + "x", State: r.Inputs}, nil
}

type log struct{ lines chan string }

func (l log) Write(_ context.Context, e abi.LogEntry) { l.lines <- e.Message }

// connect serves providers at the other end of two pipes.
func connect(t *testing.T, open func() (abi.Provider, error)) (client *nativewire.Client, end func()) {
	callsOut, callsIn := io.Pipe()
	answersOut, answersIn := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		nativewire.Serve(callsOut, answersIn, open, func(ctx context.Context, i nativewire.Imports) context.Context {
			return context.WithValue(ctx, importsKey{}, i)
		})
		answersIn.Close()
	}()
	end = func() {
		callsIn.Close()
		<-served
	}
	t.Cleanup(end)
	return nativewire.NewClient(answersOut, callsIn), end
}

func TestCallsAndImportsCross(t *testing.T) {
	client, end := connect(t, func() (abi.Provider, error) { return &provider{}, nil })
	logs, store := log{make(chan string, 2)}, kvstore.New()
	here, there := client.Open(logs, store), client.Open(logs, nil)
	for p, region := range map[abi.Provider]string{here: "here", there: "there"} {
		config := property.NewMap().With("region", property.String(region))
		if err := p.Configure(t.Context(), abi.ConfigureRequest{Inputs: config}); err != nil {
			t.Fatal(err)
		}
	}
	result := guesttest.Of(t, here).Invoke("echo", guesttest.Props{"list": []any{1, nil, "ü", guesttest.Props{"secret": property.Secret(property.String("s"))}}})
	if got := result.String(); !strings.Contains(got, "here") || !result.ContainsSecrets() {
		t.Fatal(got)
	}
	if got := <-logs.lines; got != "hello from here" {
		t.Fatal(got)
	}
	if got, err := store.Get(t.Context(), "region"); err != nil || string(*got.Value) != "here" {
		t.Fatal(got, err)
	}
	if _, err := there.Invoke(t.Context(), abi.InvokeRequest{Token: "echo"}); !errors.Is(err, abi.ErrDenied) {
		t.Fatal(err)
	}

	ctx := abi.WithMonitor(t.Context(), monitor{})
	made, err := here.Construct(ctx, abi.ConstructRequest{Type: "a:b:D", Name: "one", Inputs: property.NewMap().With("n", property.Number(7))})
	if n, _ := made.State.Get("n").AsNumber(); err != nil || n != 7 || made.URN == "" {
		t.Fatal(made, err)
	}
	if _, err := here.Construct(ctx, abi.ConstructRequest{Name: "bad"}); !errors.Is(err, abi.ErrInvalidArgument) || !strings.Contains(err.Error(), "it is bad") {
		t.Fatal(err)
	}
	if _, err := here.Read(t.Context(), abi.ReadRequest{}); !errors.Is(err, abi.ErrUnimplemented) {
		t.Fatal(err)
	}

	end()
	<-client.Ended()
	if _, err := here.Invoke(t.Context(), abi.InvokeRequest{Token: "echo"}); !errors.Is(err, nativewire.ErrEnded) {
		t.Fatal(err)
	}
}

// A call that is cancelled returns at once, and the provider learns of it.
func TestCancel(t *testing.T) {
	served := &provider{entered: make(chan struct{}), left: make(chan struct{})}
	client, _ := connect(t, func() (abi.Provider, error) { return served, nil })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-served.entered
		cancel()
	}()
	if _, err := client.Open(nil, nil).Invoke(ctx, abi.InvokeRequest{Token: "wait"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	<-served.left
}

func TestAProviderThatCannotBeOpened(t *testing.T) {
	client, _ := connect(t, func() (abi.Provider, error) { return nil, errors.New("the type has no tag") })
	if _, err := client.Open(nil, nil).Handshake(t.Context(), abi.HandshakeRequest{}); err == nil || !strings.Contains(err.Error(), "the type has no tag") {
		t.Fatal(err)
	}
}
