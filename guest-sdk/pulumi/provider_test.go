package pulumi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/guest-sdk/pulumi/internal/settings"
)

const (
	note    = "notes:index:Note"
	noteURN = "urn:pulumi:dev::p::" + note + "::n"
)

// all are the features that the engine has.
const all = abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs | abi.FeaturesAutonaming | abi.FeaturesPreview

func serve(t *testing.T, f *fake) abi.Provider {
	t.Helper()
	p, err := Provider(t.Context(), "notes", func(engine string) (pulumirpc.ResourceProviderServer, error) {
		f.engine = engine
		return f, nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.(io.Closer).Close()) })
	return p
}

// shaken returns a provider after its handshake and configuration.
func shaken(t *testing.T, f *fake) abi.Provider {
	t.Helper()
	p := serve(t, f)
	_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Features: all})
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Type: "pulumi:providers:notes"}))
	return p
}

func properties(pairs ...any) property.Map {
	var entries []property.Entry
	for i := 0; i < len(pairs); i += 2 {
		v, ok := pairs[i+1].(property.Value)
		if text, isText := pairs[i+1].(string); isText {
			v, ok = property.String(text), true
		}
		if !ok {
			panic("a value is a property or a text")
		}
		entries = append(entries, property.Entry{Key: pairs[i].(string), Value: v})
	}
	return property.NewMap(entries...)
}

// fields returns properties of the protocol.
func fields(pairs ...any) *structpb.Struct { return toStruct(properties(pairs...)) }

func equal(t *testing.T, want, got proto.Message) {
	t.Helper()
	require.True(t, proto.Equal(want, got), "want %v\ngot  %v", want, got)
}

func TestHandshake(t *testing.T) {
	f := &fake{}
	p := serve(t, f)
	response, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "husk", Features: all})
	require.NoError(t, err)
	require.Equal(t, "notes", response.Name)
	require.Equal(t, "1.2.0", response.Version)
	require.Equal(t, all, response.Features)
	equal(t, &pulumirpc.ProviderHandshakeRequest{
		EngineAddress: f.engine, ConfigureWithUrn: true, SupportsRefreshBeforeUpdate: true, InvokeWithPreview: true,
	}, f.last())

	t.Run("a server of the time before has the same features but names", func(t *testing.T) {
		response, err := serve(t, &fake{old: true}).Handshake(t.Context(), abi.HandshakeRequest{Features: all})
		require.NoError(t, err)
		require.Equal(t, all&^abi.FeaturesAutonaming, response.Features)
	})
	t.Run("no more than the engine has", func(t *testing.T) {
		response, err := serve(t, &fake{}).Handshake(t.Context(), abi.HandshakeRequest{Features: abi.FeaturesSecrets})
		require.NoError(t, err)
		require.Equal(t, abi.FeaturesSecrets, response.Features)
	})
	t.Run("a port chooses the version", func(t *testing.T) {
		defer func() { settings.JSON = "" }()
		settings.JSON = `{"name":"other","version":"3.0.0"}`
		response, err := serve(t, &fake{}).Handshake(t.Context(), abi.HandshakeRequest{})
		require.NoError(t, err)
		require.Equal(t, "3.0.0", response.Version)
		require.Equal(t, "notes", response.Name, "tokens begin with it")

		settings.JSON = `{"version":"3.0.0","mapping":{}}`
		_, err = serve(t, &fake{}).Handshake(t.Context(), abi.HandshakeRequest{})
		require.ErrorContains(t, err, "port it without --map")
	})
	t.Run("a server that fails", func(t *testing.T) {
		_, err := serve(t, &fake{failure: errors.New("no licence")}).Handshake(t.Context(), abi.HandshakeRequest{})
		require.ErrorContains(t, err, "no licence")
	})
}

func TestAProviderThatCannotBeMade(t *testing.T) {
	_, err := Provider(t.Context(), "notes", func(string) (pulumirpc.ResourceProviderServer, error) {
		return nil, errors.New("no paper")
	})
	require.ErrorContains(t, err, "no paper")
}

// Each request reaches the server as Pulumi's engine sends it.
func TestRequests(t *testing.T) {
	text, secret := property.String("x"), property.Secret(property.String("s"))
	in, out := properties("title", text, "text", secret), fields("title", text, "text", secret)
	old, wasOld := properties("title", property.String("o")), fields("title", property.String("o"))
	ignore := []string{"text"}
	for name, c := range map[string]struct {
		call func(ctx context.Context, p abi.Provider) error
		want proto.Message
	}{
		"check-config": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.CheckConfig(ctx, abi.CheckRequest{URN: noteURN, Name: "n", Type: "t", News: in})
			return err
		}, &pulumirpc.CheckRequest{Urn: noteURN, Name: "n", Type: "t", Olds: fields(), News: out}},
		"diff-config": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.DiffConfig(ctx, abi.DiffRequest{URN: noteURN, ID: "i", News: in, Olds: old, OldInputs: old})
			return err
		}, &pulumirpc.DiffRequest{Urn: noteURN, Id: "i", News: out, Olds: wasOld, OldInputs: wasOld}},
		"configure": {func(ctx context.Context, p abi.Provider) error {
			return p.Configure(ctx, abi.ConfigureRequest{URN: noteURN, Name: "n", Type: "t", ID: "i", Inputs: properties(
				"key", secret, "version", "1.0.0", "list", property.Array(text, property.Secret(property.Number(1))), "on", property.Bool(true))})
		}, &pulumirpc.ConfigureRequest{
			Urn: proto.String(noteURN), Name: proto.String("n"), Type: proto.String("t"), Id: proto.String("i"),
			AcceptSecrets: true, AcceptResources: true, SendsOldInputs: true, SendsOldInputsToDelete: true,
			Variables: map[string]string{"notes:config:key": "s", "notes:config:list": `["x",1]`, "notes:config:on": "true"},
			Args: fields("key", secret, "version", "1.0.0", "list", property.Array(text, property.Secret(property.Number(1))),
				"on", property.Bool(true)),
		}},
		"check": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Check(ctx, abi.CheckRequest{URN: noteURN, Name: "n", Type: note, Olds: &old, News: in, RandomSeed: []byte("seed"),
				Autonaming: &abi.Autonaming{ProposedName: "proposed", Mode: abi.AutonamingModeEnforce}})
			return err
		}, &pulumirpc.CheckRequest{Urn: noteURN, Name: "n", Type: note, Olds: wasOld, News: out, RandomSeed: []byte("seed"),
			Autonaming: &pulumirpc.CheckRequest_AutonamingOptions{ProposedName: "proposed", Mode: pulumirpc.CheckRequest_AutonamingOptions_ENFORCE}}},
		"diff": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Diff(ctx, abi.DiffRequest{URN: noteURN, Name: "n", Type: note, ID: "i", News: in, Olds: old, OldInputs: old, IgnoreChanges: ignore})
			return err
		}, &pulumirpc.DiffRequest{Urn: noteURN, Name: "n", Type: note, Id: "i", News: out, Olds: wasOld, OldInputs: wasOld, IgnoreChanges: ignore}},
		"create": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Create(ctx, abi.CreateRequest{URN: noteURN, Name: "n", Type: note, Inputs: in, Timeout: 1.5, Preview: true})
			return err
		}, &pulumirpc.CreateRequest{Urn: noteURN, Name: "n", Type: note, Properties: out, Timeout: 1.5, Preview: true}},
		"read of an import": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Read(ctx, abi.ReadRequest{URN: noteURN, Name: "n", Type: note, ID: "i", Timeout: 2})
			return err
		}, &pulumirpc.ReadRequest{Urn: noteURN, Name: "n", Type: note, Id: "i", Properties: fields(), Timeout: 2}},
		"read of what a program knows": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Read(ctx, abi.ReadRequest{URN: noteURN, Name: "n", Type: note, ID: "i", State: &in})
			return err
		}, &pulumirpc.ReadRequest{Urn: noteURN, Name: "n", Type: note, Id: "i", Properties: out, Inputs: out}},
		"read of a refresh": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Read(ctx, abi.ReadRequest{URN: noteURN, Name: "n", Type: note, ID: "i", State: &in, Inputs: &old})
			return err
		}, &pulumirpc.ReadRequest{Urn: noteURN, Name: "n", Type: note, Id: "i", Properties: out, Inputs: wasOld}},
		"update": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Update(ctx, abi.UpdateRequest{URN: noteURN, Name: "n", Type: note, ID: "i", News: in, Olds: old, OldInputs: old,
				IgnoreChanges: ignore, Timeout: 3, Preview: true})
			return err
		}, &pulumirpc.UpdateRequest{Urn: noteURN, Name: "n", Type: note, Id: "i", News: out, Olds: wasOld, OldInputs: wasOld,
			IgnoreChanges: ignore, Timeout: 3, Preview: true}},
		"delete": {func(ctx context.Context, p abi.Provider) error {
			return p.Delete(ctx, abi.DeleteRequest{URN: noteURN, Name: "n", Type: note, ID: "i", State: in, OldInputs: old, Timeout: 4})
		}, &pulumirpc.DeleteRequest{Urn: noteURN, Name: "n", Type: note, Id: "i", Properties: out, OldInputs: wasOld, Timeout: 4}},
		"list": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.List(ctx, abi.ListRequest{Token: note, Query: in, Limit: 5, PageSize: 2, ContinuationToken: "c"})
			return err
		}, &pulumirpc.ListRequest{Token: note, Query: out, Limit: 5, PageSize: 2, ContinuationToken: "c"}},
		"invoke": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Invoke(ctx, abi.InvokeRequest{Token: "notes:index:count", Args: properties("text", secret), Preview: true})
			return err
		}, &pulumirpc.InvokeRequest{Tok: "notes:index:count", Args: fields("text", secret), Preview: true}},
		"parameterize": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.Parameterize(ctx, abi.ParameterizeRequest{Parameters: abi.Parameters{Case: abi.ParametersCaseValue,
				Value: abi.ParameterValue{Name: "sub", Version: "1.0.0", Value: []byte("v")}}})
			return err
		}, &pulumirpc.ParameterizeRequest{Parameters: &pulumirpc.ParameterizeRequest_Value{
			Value: &pulumirpc.ParameterizeRequest_ParametersValue{Name: "sub", Version: "1.0.0", Value: []byte("v")}}}},
		"get-schema": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.GetSchema(ctx, abi.GetSchemaRequest{SubpackageName: "sub", SubpackageVersion: "1.0.0"})
			return err
		}, &pulumirpc.GetSchemaRequest{SubpackageName: "sub", SubpackageVersion: "1.0.0"}},
		"get-mapping": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform", Provider: "n"})
			return err
		}, &pulumirpc.GetMappingRequest{Key: "terraform", Provider: "n"}},
		"get-mappings": {func(ctx context.Context, p abi.Provider) error {
			_, err := p.GetMappings(ctx, abi.GetMappingsRequest{Key: "terraform"})
			return err
		}, &pulumirpc.GetMappingsRequest{Key: "terraform"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answers: map[string]proto.Message{
				"ParameterizeRequest": &pulumirpc.ParameterizeResponse{Name: "sub", Version: "1.0.0"},
				"GetMappingRequest":   &pulumirpc.GetMappingResponse{}, "GetMappingsRequest": &pulumirpc.GetMappingsResponse{},
				"ReadRequest": &pulumirpc.ReadResponse{},
			}}
			p := shaken(t, f)
			require.NoError(t, c.call(t.Context(), p))
			equal(t, c.want, f.last())
		})
	}
}

func TestAnswers(t *testing.T) {
	f := &fake{answers: map[string]proto.Message{
		"CheckRequest": &pulumirpc.CheckResponse{Inputs: fields("a", "b"), Failures: []*pulumirpc.CheckFailure{
			{Property: "a.b[0]", Reason: "r"}, {Property: "a..b", Reason: "no path"}, {Reason: "of all"},
		}},
		"DiffRequest": &pulumirpc.DiffResponse{
			Changes: pulumirpc.DiffResponse_DIFF_SOME, Replaces: []string{"a.b", "a", "c"}, Stables: []string{"s"}, Diffs: []string{"a", "c"},
			DeleteBeforeReplace: true, HasDetailedDiff: true, DetailedDiff: map[string]*pulumirpc.PropertyDiff{
				"c": {Kind: pulumirpc.PropertyDiff_DELETE_REPLACE}, "a.b": {Kind: pulumirpc.PropertyDiff_ADD, InputDiff: true},
			}},
		"CreateRequest": &pulumirpc.CreateResponse{Id: "i", Properties: fields("a", property.Secret(property.Number(1))), RefreshBeforeUpdate: true},
		"ReadRequest":   &pulumirpc.ReadResponse{Id: "i", Properties: fields("a", "b"), Inputs: fields("a", "c"), RefreshBeforeUpdate: true},
		"UpdateRequest": &pulumirpc.UpdateResponse{Properties: fields("a", "b"), RefreshBeforeUpdate: true},
		"InvokeRequest": &pulumirpc.InvokeResponse{Return: fields("a", "b"), Failures: []*pulumirpc.CheckFailure{{Property: "x", Reason: "r"}}},
		"CallRequest": &pulumirpc.CallResponse{Return: fields("a", "b"), Failures: []*pulumirpc.CheckFailure{{Property: "x", Reason: "r"}},
			ReturnDependencies: map[string]*pulumirpc.CallResponse_ReturnDependencies{"a": {Urns: []string{noteURN}}}},
		"GetMappingRequest":   &pulumirpc.GetMappingResponse{Provider: "n", Data: []byte("d")},
		"GetMappingsRequest":  &pulumirpc.GetMappingsResponse{Providers: []string{"n", "m"}},
		"ParameterizeRequest": &pulumirpc.ParameterizeResponse{Name: "sub", Version: "2.0.0"},
		"GetSchemaRequest":    &pulumirpc.GetSchemaResponse{Schema: `{"name":"sub","version":"2.0.0","parameterization":{"parameter":"dmFsdWU="}}`},
	}}
	p := shaken(t, f)
	ctx := abi.WithMonitor(t.Context(), &engine{})

	checked, err := p.Check(ctx, abi.CheckRequest{})
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "a.b[0]", Reason: "r"}, {Path: `["a..b"]`, Reason: "no path"}, {Reason: "of all"}}, checked.Failures)
	require.True(t, checked.Inputs.Equal(properties("a", "b")))

	diff, err := p.Diff(ctx, abi.DiffRequest{})
	require.NoError(t, err)
	require.Equal(t, abi.DiffResponse{
		Changes: abi.DiffChangesSome, HasDetailedDiff: true, DeleteBeforeReplace: true,
		ReplaceKeys: []string{"a", "c"}, StableKeys: []string{"s"}, ChangedKeys: []string{"a", "c"},
		DetailedDiff: []abi.PropertyDiff{{Path: "a.b", Kind: abi.DiffKindAdd, InputDiff: true}, {Path: "c", Kind: abi.DiffKindDeleteReplace}},
	}, diff)

	created, err := p.Create(ctx, abi.CreateRequest{})
	require.NoError(t, err)
	require.Equal(t, "i", created.ID)
	require.True(t, created.RefreshBeforeUpdate)
	require.True(t, created.State.Equal(properties("a", property.Secret(property.Number(1)))))

	read, err := p.Read(ctx, abi.ReadRequest{})
	require.NoError(t, err)
	require.Equal(t, "i", read.ID)
	require.True(t, read.RefreshBeforeUpdate)
	require.True(t, read.State.Equal(properties("a", "b")))
	require.True(t, read.Inputs.Equal(properties("a", "c")))

	updated, err := p.Update(ctx, abi.UpdateRequest{})
	require.NoError(t, err)
	require.True(t, updated.RefreshBeforeUpdate)
	require.True(t, updated.State.Equal(properties("a", "b")))

	invoked, err := p.Invoke(ctx, abi.InvokeRequest{})
	require.NoError(t, err)
	require.True(t, invoked.Result.Equal(properties("a", "b")))
	require.Equal(t, []abi.CheckFailure{{Path: "x", Reason: "r"}}, invoked.Failures)

	called, err := p.Call(ctx, abi.CallRequest{Token: "m", Args: properties("a", property.OutputOf(property.Output{Value: property.Unknown}))})
	require.NoError(t, err)
	require.True(t, called.Result.Equal(properties("a", "b")))
	require.Equal(t, []abi.CheckFailure{{Path: "x", Reason: "r"}}, called.Failures)
	require.Equal(t, []abi.PropertyDependency{{Key: "a", URNs: urnsOf([]string{noteURN})}}, called.ResultDependencies)

	mapping, err := p.GetMapping(ctx, abi.GetMappingRequest{})
	require.NoError(t, err)
	require.Equal(t, abi.GetMappingResponse{Provider: "n", Data: []byte("d")}, mapping)
	mappings, err := p.GetMappings(ctx, abi.GetMappingsRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{"n", "m"}, mappings.Providers)

	parameterized, err := p.Parameterize(ctx, abi.ParameterizeRequest{Parameters: abi.Parameters{Args: []string{"sub"}}})
	require.NoError(t, err)
	require.Equal(t, abi.ParameterizeResponse{Name: "sub", Version: "2.0.0", Value: []byte("value")}, parameterized)
}

// What a value is on the other side, it is here again.
func TestValues(t *testing.T) {
	text := property.String("t")
	members := properties("f", property.AssetOf(property.Asset{Hash: "h", Source: property.SourceText, Text: "x"}))
	for name, v := range map[string]property.Value{
		"null": property.Null, "bool": property.Bool(true), "number": property.Number(1.5), "string": text,
		"array":   property.Array(text, property.Null, property.Unknown),
		"object":  property.Object(properties("a", property.Secret(text))),
		"unknown": property.Unknown, "secret": property.Secret(property.Object(properties("a", text))),
		"secret unknown":         property.Secret(property.Unknown),
		"reference":              property.Reference(property.ResourceReference{URN: noteURN, HasID: true, ID: "i", PackageVersion: "1.0.0"}),
		"reference to component": property.Reference(property.ResourceReference{URN: noteURN}),
		"reference to unknown":   property.Reference(property.ResourceReference{URN: noteURN, HasID: true}),
		"asset file":             property.AssetOf(property.Asset{Hash: "h", Source: property.SourcePath, Path: "p"}),
		"asset URI":              property.AssetOf(property.Asset{Hash: "h", Source: property.SourceURI, URI: "u"}),
		"asset without contents": property.AssetOf(property.Asset{Hash: "h"}),
		"archive":                property.ArchiveOf(property.Archive{Hash: "h", Source: property.SourceAssets, Assets: members}),
		"archive file":           property.ArchiveOf(property.Archive{Hash: "h", Source: property.SourcePath, Path: "p"}),
	} {
		t.Run(name, func(t *testing.T) {
			p := shaken(t, &fake{})
			given := properties("v", v)
			response, err := p.CheckConfig(t.Context(), abi.CheckRequest{News: given})
			require.NoError(t, err)
			require.True(t, response.Inputs.Equal(given), "got %s", property.Display(property.Object(response.Inputs)))
		})
	}
	t.Run("resources get no outputs", func(t *testing.T) {
		p := shaken(t, &fake{})
		output := property.OutputOf(property.Output{Value: text, Secret: true, Dependencies: []string{noteURN}})
		response, err := p.CheckConfig(t.Context(), abi.CheckRequest{News: properties("v", output)})
		require.NoError(t, err)
		require.True(t, response.Inputs.Equal(properties("v", property.Secret(text))))
	})
	t.Run("what Husk does not have is refused", func(t *testing.T) {
		for signature, words := range map[string]string{bytesSignature: "not UTF-8", "beef": `the signature "beef"`} {
			p := shaken(t, &fake{answers: map[string]proto.Message{
				"CheckRequest": &pulumirpc.CheckResponse{Inputs: &structpb.Struct{Fields: map[string]*structpb.Value{"v": signed(signature, map[string]*structpb.Value{})}}},
			}})
			_, err := p.Check(t.Context(), abi.CheckRequest{})
			require.ErrorContains(t, err, "the provider's answer to Check cannot be read: v: ")
			require.ErrorContains(t, err, words)
		}
	})
}

// A server of the time before handshakes says in its answer to Configure what it understands.
func TestAServerThatUnderstandsLittle(t *testing.T) {
	f := &fake{old: true, answers: map[string]proto.Message{"ConfigureRequest": &pulumirpc.ConfigureResponse{}}}
	p := shaken(t, f)
	ctx := t.Context()
	secret, plain := property.Secret(property.String("s")), property.String("s")
	inputs := properties("title", "t", "text", secret)

	checked, err := p.Check(ctx, abi.CheckRequest{Type: note, News: inputs})
	require.NoError(t, err)
	equal(t, fields("title", "t", "text", plain), f.last().(*pulumirpc.CheckRequest).News)
	require.True(t, checked.Inputs.Equal(inputs), "the secret is marked again")

	created, err := p.Create(ctx, abi.CreateRequest{Name: "n", Inputs: inputs})
	require.NoError(t, err)
	require.Equal(t, secret, created.State.Get("text"))
	reference := property.Reference(property.ResourceReference{URN: noteURN, HasID: true, ID: "i"})
	_, err = p.Create(ctx, abi.CreateRequest{Name: "m", Inputs: properties("title", reference)})
	require.NoError(t, err)
	equal(t, fields("title", "i"), f.last().(*pulumirpc.CreateRequest).Properties)

	before := f.last()
	preview, err := p.Create(ctx, abi.CreateRequest{Inputs: inputs, Preview: true})
	require.NoError(t, err)
	require.Equal(t, abi.CreateResponse{}, preview, "outputs are not known")
	updated, err := p.Update(ctx, abi.UpdateRequest{News: inputs, Preview: true})
	require.NoError(t, err)
	require.Equal(t, abi.UpdateResponse{}, updated)
	require.Same(t, before, f.last(), "the server is not asked")

	f.answers["InvokeRequest"] = &pulumirpc.InvokeResponse{Return: fields("out", "s")}
	invoked, err := p.Invoke(ctx, abi.InvokeRequest{Args: properties("in", secret)})
	require.NoError(t, err)
	require.True(t, invoked.Result.Equal(properties("out", secret)))

	f.failure = failed(codes.Unknown, "half", &pulumirpc.ErrorResourceInitFailed{Id: "i", Properties: fields("text", plain)})
	_, err = p.Create(ctx, abi.CreateRequest{Inputs: inputs})
	require.ErrorIs(t, err, abi.ErrInitFailed)
	require.True(t, abi.AsError(err).InitFailure.State.Equal(properties("text", secret)))
}

func TestErrors(t *testing.T) {
	inputs := properties("a", "b")
	for name, c := range map[string]struct {
		failure error
		want    abi.Error
	}{
		"plain":             {errors.New("x"), abi.Error{Kind: abi.ErrorKindInternal, Message: "x"}},
		"invalid argument":  {status.Error(codes.InvalidArgument, "x"), abi.Error{Kind: abi.ErrorKindInvalidArgument, Message: "x"}},
		"not found":         {status.Error(codes.NotFound, "x"), abi.Error{Kind: abi.ErrorKindNotFound, Message: "x"}},
		"unimplemented":     {status.Error(codes.Unimplemented, "x"), abi.Error{Kind: abi.ErrorKindUnimplemented, Message: "x"}},
		"unavailable":       {status.Error(codes.Unavailable, "x"), abi.Error{Kind: abi.ErrorKindUnavailable, Message: "x"}},
		"cancelled":         {status.Error(codes.Canceled, "x"), abi.Error{Kind: abi.ErrorKindCancelled, Message: "x"}},
		"cancelled context": {context.Canceled, abi.Error{Kind: abi.ErrorKindCancelled, Message: "context canceled"}},
		"too late":          {fmt.Errorf("waiting: %w", context.DeadlineExceeded), abi.Error{Kind: abi.ErrorKindCancelled, Message: "waiting: context deadline exceeded"}},
		"wrapped":           {fmt.Errorf("writing: %w", status.Error(codes.Unknown, "no paper")), abi.Error{Kind: abi.ErrorKindInternal, Message: "writing: no paper"}},
		"refused elsewhere": {status.Error(codes.PermissionDenied, "x"), abi.Error{Kind: abi.ErrorKindInternal, Message: "x"}},
		"partial failure": {
			failed(codes.Unknown, "half", &pulumirpc.ErrorResourceInitFailed{
				Id: "i", Properties: fields("s", "t"), Inputs: fields("a", "b"), Reasons: []string{"r1", "r2"}, RefreshBeforeUpdate: true,
			}),
			abi.Error{Kind: abi.ErrorKindInitFailed, Message: "half", InitFailure: &abi.InitFailure{
				ID: "i", State: properties("s", "t"), Inputs: &inputs, Reasons: []string{"r1", "r2"}, RefreshBeforeUpdate: true,
			}},
		},
		"missing configuration": {
			failed(codes.InvalidArgument, "incomplete", &pulumirpc.ConfigureErrorMissingKeys{MissingKeys: []*pulumirpc.ConfigureErrorMissingKeys_MissingKey{
				{Name: "key", Description: "the key"}}}),
			abi.Error{Kind: abi.ErrorKindInvalidArgument, Message: "incomplete", MissingKeys: []abi.MissingKey{{Name: "key", Description: "the key"}}},
		},
		"a wrong property": {
			failed(codes.InvalidArgument, "bad", &pulumirpc.InputPropertiesError{Errors: []*pulumirpc.InputPropertiesError_PropertyError{
				{PropertyPath: "a.b", Reason: "r"}}}),
			abi.Error{Kind: abi.ErrorKindInvalidArgument, Message: "bad: r", Path: "a.b"},
		},
		"wrong properties": {
			failed(codes.InvalidArgument, "bad", &pulumirpc.InputPropertiesError{Errors: []*pulumirpc.InputPropertiesError_PropertyError{
				{PropertyPath: "a.b", Reason: "r"}, {PropertyPath: "c", Reason: "q"}}}),
			abi.Error{Kind: abi.ErrorKindInvalidArgument, Message: "bad\na.b: r\nc: q"},
		},
		"cause": {
			failed(codes.Unknown, "creating", &pulumirpc.ErrorCause{Message: "no paper"}),
			abi.Error{Kind: abi.ErrorKindInternal, Message: "creating: no paper"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			p := shaken(t, f)
			f.failure = c.failure
			_, err := p.Create(t.Context(), abi.CreateRequest{})
			require.Equal(t, &c.want, err)
			require.Equal(t, &c.want, p.Configure(t.Context(), abi.ConfigureRequest{}))
			if name != "partial failure" {
				_, err = p.List(t.Context(), abi.ListRequest{})
				require.Equal(t, &c.want, err)
			}
		})
	}
}

// A preview may have a configuration that depends on a resource which does not exist yet.
func TestAConfigurationThatIsNotKnown(t *testing.T) {
	f := &fake{}
	p := shaken(t, f)
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: properties("author", property.Unknown)}))
	f.failure = errors.New("nobody asks the server")
	inputs := properties("title", "t")
	checked, err := p.Check(t.Context(), abi.CheckRequest{News: inputs})
	require.NoError(t, err)
	require.Equal(t, inputs, checked.Inputs)
	diff, err := p.Diff(t.Context(), abi.DiffRequest{News: inputs})
	require.NoError(t, err)
	require.Equal(t, abi.DiffChangesUnknown, diff.Changes)
	created, err := p.Create(t.Context(), abi.CreateRequest{Inputs: inputs, Preview: true})
	require.NoError(t, err)
	require.Equal(t, abi.CreateResponse{}, created)
	_, err = p.Invoke(t.Context(), abi.InvokeRequest{})
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.ErrorContains(t, err, "the configuration of notes is not known in this preview")

	f.failure = nil
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Inputs: properties("author", "a")}))
	_, err = p.Invoke(t.Context(), abi.InvokeRequest{Token: "notes:index:count"})
	require.NoError(t, err)
}

func TestList(t *testing.T) {
	page, err := shaken(t, &fake{}).List(t.Context(), abi.ListRequest{Token: note})
	require.NoError(t, err)
	require.Equal(t, abi.ListResponse{
		Resources: []abi.ListedResource{{ID: "a", Name: "note a"}, {ID: "b", Name: "note b"}}, ContinuationToken: "after-b",
	}, page)
}

// Versions of the protocol before 3.161 have functions with several results.
func TestStreamInvoke(t *testing.T) {
	d := pulumirpc.ResourceProvider_ServiceDesc
	ended := make(chan error, 1)
	d.Streams = append(d.Streams[:len(d.Streams):len(d.Streams)], grpc.StreamDesc{StreamName: "StreamInvoke", Handler: func(_ any, s grpc.ServerStream) (err error) {
		defer func() { ended <- err }()
		q := &pulumirpc.InvokeRequest{}
		if err := s.RecvMsg(q); err != nil {
			return err
		}
		for _, word := range q.Args.GetFields()["words"].GetListValue().GetValues() {
			if word.GetStringValue() == "fail" {
				return status.Error(codes.NotFound, "no such word")
			}
			if err := s.SendMsg(&pulumirpc.InvokeResponse{Return: &structpb.Struct{Fields: map[string]*structpb.Value{"word": word}}}); err != nil {
				return err
			}
		}
		return nil
	}})
	p := newProvider("notes", &d, &fake{}, nil)
	begin := func(words ...property.Value) abi.StreamHandle {
		handle, err := p.StreamInvoke(t.Context(), abi.InvokeRequest{Args: properties("words", property.Array(words...))})
		require.NoError(t, err)
		return handle
	}
	next := func(handle abi.StreamHandle) (property.Map, bool) {
		item, err := p.StreamNext(t.Context(), handle)
		require.NoError(t, err)
		if item.Result == nil {
			return property.Map{}, false
		}
		return *item.Result, true
	}
	a, b := property.String("a"), property.String("b")

	stream := begin(a, b)
	for _, want := range []property.Value{a, b} {
		got, more := next(stream)
		require.True(t, more)
		require.True(t, got.Equal(properties("word", want)))
	}
	_, more := next(stream)
	require.False(t, more)
	require.NoError(t, <-ended)
	_, err := p.StreamNext(t.Context(), stream)
	require.ErrorContains(t, err, "the stream is closed")

	stream = begin(property.String("fail"))
	_, err = p.StreamNext(t.Context(), stream)
	require.ErrorIs(t, err, abi.ErrNotFound)
	require.Error(t, <-ended)

	stream = begin(a, b, a)
	_, more = next(stream)
	require.True(t, more)
	require.NoError(t, p.StreamClose(t.Context(), stream))
	require.ErrorIs(t, <-ended, context.Canceled, "the function learns that nobody reads on")

	_, err = shaken(t, &fake{}).StreamInvoke(t.Context(), abi.InvokeRequest{})
	require.ErrorIs(t, err, abi.ErrUnimplemented)
}

func TestCancel(t *testing.T) {
	f := &fake{waits: make(chan struct{})}
	p := shaken(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := p.Create(ctx, abi.CreateRequest{})
		require.ErrorIs(t, err, abi.ErrCancelled)
	})
	<-f.waits
	cancel()
	calls.Wait()
	require.NoError(t, p.Cancel(t.Context()))
}

// The provider keeps to the contract as far as its server does.
func TestConformance(t *testing.T) {
	world := &fake{}
	report, err := conformance.Run(t.Context(), func(ctx context.Context) (abi.Provider, error) {
		return Provider(ctx, "notes", func(string) (pulumirpc.ResourceProviderServer, error) { return world, nil })
	}, conformance.Options{Seed: 1})
	require.NoError(t, err)
	for _, f := range report.Failures() {
		t.Errorf("%s %s: %s", f.Subject, f.Check, f.Message)
	}
	require.Greater(t, report.Count(conformance.OK), 20)
}
