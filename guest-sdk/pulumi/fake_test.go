package pulumi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// The tests build with the newest version of the protocol, which has all fields that the package names.
func init() {
	unknownField = func(name protoreflect.FullName) {
		if !strings.HasPrefix(string(name), "google.protobuf.") {
			panic("the protocol has no field " + string(name))
		}
	}
}

// schema is the package of the fake: notes with a title that replaces them, and a secret text.
const schema = `{
  "name": "notes", "version": "1.2.0",
  "config": {"variables": {"author": {"type": "string"}, "key": {"type": "string", "secret": true}}},
  "provider": {"inputProperties": {"author": {"type": "string"}, "key": {"type": "string", "secret": true}}},
  "resources": {
    "notes:index:Note": {
      "inputProperties": {
        "title": {"type": "string", "replaceOnChanges": true}, "text": {"type": "string"}
      },
      "requiredInputs": ["title"],
      "properties": {"title": {"type": "string"}, "text": {"type": "string"}, "length": {"type": "integer"}},
      "required": ["title", "length"]
    }
  },
  "functions": {
    "notes:index:count": {
      "inputs": {"properties": {"text": {"type": "string"}}},
      "outputs": {"properties": {"length": {"type": "integer"}}, "required": ["length"]}
    }
  }
}`

// fake is a server as its author writes it by hand. It keeps what it was last asked, and answers what a
// test sets, or else as a provider of notes.
type fake struct {
	pulumirpc.UnimplementedResourceProviderServer

	engine string
	// old is true for a server of the time before handshakes.
	old bool
	// failure is the answer to all calls, if there is one.
	failure error
	// configured is the answer to Configure.
	configured pulumirpc.ConfigureResponse
	construct  func(ctx context.Context, request *pulumirpc.ConstructRequest, monitor pulumirpc.ResourceMonitorClient) (*pulumirpc.ConstructResponse, error)
	answers    map[string]proto.Message
	waits      chan struct{}

	mu    sync.Mutex
	asked proto.Message
	notes map[string]*structpb.Struct
	// made counts the notes.
	made int
}

// ask notes a request, and returns the answer that the test has set.
func ask[R proto.Message](f *fake, request proto.Message) (set R, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = request
	if f.failure != nil {
		return set, true, f.failure
	}
	if q, typed := request.(interface{ GetType() string }); typed {
		if t := q.GetType(); strings.HasPrefix(t, "notes:") && t != "notes:index:Note" && t != "notes:index:Binder" {
			return set, true, status.Errorf(codes.NotFound, "there is no type %s", t)
		}
	}
	set, ok = f.answers[string(request.ProtoReflect().Descriptor().Name())].(R)
	return set, ok, nil
}

func (f *fake) last() proto.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *fake) Handshake(_ context.Context, q *pulumirpc.ProviderHandshakeRequest) (*pulumirpc.ProviderHandshakeResponse, error) {
	if f.old {
		return nil, status.Error(codes.Unimplemented, "unknown method Handshake")
	}
	if r, ok, err := ask[*pulumirpc.ProviderHandshakeResponse](f, q); ok {
		return r, err
	}
	return &pulumirpc.ProviderHandshakeResponse{
		AcceptSecrets: true, AcceptResources: true, AcceptOutputs: true, SupportsAutonamingConfiguration: true,
	}, nil
}

func (f *fake) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: "v1.2.0"}, nil
}

func (f *fake) GetSchema(_ context.Context, q *pulumirpc.GetSchemaRequest) (*pulumirpc.GetSchemaResponse, error) {
	if r, ok, err := ask[*pulumirpc.GetSchemaResponse](f, q); ok {
		return r, err
	}
	return &pulumirpc.GetSchemaResponse{Schema: schema}, nil
}

func (f *fake) Parameterize(_ context.Context, q *pulumirpc.ParameterizeRequest) (*pulumirpc.ParameterizeResponse, error) {
	r, _, err := ask[*pulumirpc.ParameterizeResponse](f, q)
	return r, err
}

func (f *fake) GetMapping(_ context.Context, q *pulumirpc.GetMappingRequest) (*pulumirpc.GetMappingResponse, error) {
	r, _, err := ask[*pulumirpc.GetMappingResponse](f, q)
	return r, err
}

func (f *fake) GetMappings(_ context.Context, q *pulumirpc.GetMappingsRequest) (*pulumirpc.GetMappingsResponse, error) {
	r, _, err := ask[*pulumirpc.GetMappingsResponse](f, q)
	return r, err
}

func (f *fake) CheckConfig(_ context.Context, q *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	if r, ok, err := ask[*pulumirpc.CheckResponse](f, q); ok {
		return r, err
	}
	return checked(q.News, "author", "key"), nil
}

func (f *fake) DiffConfig(_ context.Context, q *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	if r, ok, err := ask[*pulumirpc.DiffResponse](f, q); ok {
		return r, err
	}
	return compare(q), nil
}

func (f *fake) Configure(_ context.Context, q *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	if r, ok, err := ask[*pulumirpc.ConfigureResponse](f, q); ok {
		return r, err
	}
	return &pulumirpc.ConfigureResponse{AcceptSecrets: true, SupportsPreview: true, AcceptResources: true, AcceptOutputs: true}, nil
}

func (f *fake) Check(_ context.Context, q *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	if r, ok, err := ask[*pulumirpc.CheckResponse](f, q); ok {
		return r, err
	}
	r := checked(q.News, "title", "text")
	if q.News.GetFields()["title"] == nil {
		r.Failures = append(r.Failures, &pulumirpc.CheckFailure{Property: "title", Reason: "it is missing"})
	}
	return r, nil
}

// checked accepts properties that are texts.
func checked(news *structpb.Struct, names ...string) *pulumirpc.CheckResponse {
	r := &pulumirpc.CheckResponse{Inputs: news}
	for name, v := range news.GetFields() {
		if s := v.GetStructValue().GetFields(); s[signatureKey].GetStringValue() == secretSignature {
			v = s["value"]
		}
		_, isText := v.GetKind().(*structpb.Value_StringValue)
		switch {
		case !slices.Contains(names, name):
			r.Failures = append(r.Failures, &pulumirpc.CheckFailure{Property: name, Reason: "there is no such property"})
		case !isText:
			r.Failures = append(r.Failures, &pulumirpc.CheckFailure{Property: name, Reason: "it is not text"})
		}
	}
	return r
}

// compare is a diff of the inputs.
func compare(q *pulumirpc.DiffRequest) *pulumirpc.DiffResponse {
	r := &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_NONE, HasDetailedDiff: true, DetailedDiff: map[string]*pulumirpc.PropertyDiff{}}
	for _, name := range []string{"title", "text", "author", "key"} {
		before, after := q.OldInputs.GetFields()[name], q.News.GetFields()[name]
		if proto.Equal(before, after) || slices.Contains(q.IgnoreChanges, name) {
			continue
		}
		kind := pulumirpc.PropertyDiff_UPDATE
		switch {
		case before == nil:
			kind = pulumirpc.PropertyDiff_ADD
		case after == nil:
			kind = pulumirpc.PropertyDiff_DELETE
		}
		if name == "title" {
			kind++ // which is the kind with a replacement
			r.Replaces = append(r.Replaces, name)
		}
		r.Changes = pulumirpc.DiffResponse_DIFF_SOME
		r.Diffs = append(r.Diffs, name)
		r.DetailedDiff[name] = &pulumirpc.PropertyDiff{Kind: kind, InputDiff: true}
	}
	return r
}

func (f *fake) Diff(_ context.Context, q *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	if r, ok, err := ask[*pulumirpc.DiffResponse](f, q); ok {
		return r, err
	}
	return compare(q), nil
}

// written returns the state of a note.
func written(inputs *structpb.Struct) *structpb.Struct {
	state := &structpb.Struct{Fields: maps.Clone(inputs.GetFields())}
	if state.Fields == nil {
		state.Fields = map[string]*structpb.Value{}
	}
	state.Fields["length"] = structpb.NewNumberValue(float64(len(state.Fields["title"].GetStringValue())))
	return state
}

func (f *fake) Create(ctx context.Context, q *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	if f.waits != nil {
		close(f.waits)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if r, ok, err := ask[*pulumirpc.CreateResponse](f, q); ok {
		return r, err
	}
	state := written(q.Properties)
	if q.Preview {
		return &pulumirpc.CreateResponse{Properties: state}, nil
	}
	f.made++
	id := fmt.Sprintf("note-%d", f.made)
	f.keep(id, state)
	return &pulumirpc.CreateResponse{Id: id, Properties: state}, nil
}

func (f *fake) keep(id string, state *structpb.Struct) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.notes == nil {
		f.notes = map[string]*structpb.Struct{}
	}
	if state == nil {
		delete(f.notes, id)
	} else {
		f.notes[id] = state
	}
}

func (f *fake) Read(_ context.Context, q *pulumirpc.ReadRequest) (*pulumirpc.ReadResponse, error) {
	if r, ok, err := ask[*pulumirpc.ReadResponse](f, q); ok {
		return r, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.notes[q.Id]
	if state == nil {
		return &pulumirpc.ReadResponse{}, nil
	}
	inputs := proto.CloneOf(state)
	delete(inputs.Fields, "length")
	return &pulumirpc.ReadResponse{Id: q.Id, Properties: state, Inputs: inputs}, nil
}

func (f *fake) Update(_ context.Context, q *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	if r, ok, err := ask[*pulumirpc.UpdateResponse](f, q); ok {
		return r, err
	}
	state := written(q.News)
	if !q.Preview {
		f.keep(q.Id, state)
	}
	return &pulumirpc.UpdateResponse{Properties: state}, nil
}

func (f *fake) Delete(_ context.Context, q *pulumirpc.DeleteRequest) (*emptypb.Empty, error) {
	if r, ok, err := ask[*emptypb.Empty](f, q); ok {
		return r, err
	}
	f.keep(q.Id, nil)
	return &emptypb.Empty{}, nil
}

func (f *fake) Invoke(_ context.Context, q *pulumirpc.InvokeRequest) (*pulumirpc.InvokeResponse, error) {
	if r, ok, err := ask[*pulumirpc.InvokeResponse](f, q); ok {
		return r, err
	}
	if q.Tok != "notes:index:count" {
		return nil, status.Errorf(codes.NotFound, "there is no function %s", q.Tok)
	}
	if r := checked(q.Args, "text"); len(r.Failures) > 0 {
		return &pulumirpc.InvokeResponse{Failures: r.Failures}, nil
	}
	text := q.Args.GetFields()["text"]
	return &pulumirpc.InvokeResponse{Return: &structpb.Struct{Fields: map[string]*structpb.Value{
		"length": structpb.NewNumberValue(float64(len(text.GetStringValue()))),
	}}}, nil
}

func (f *fake) List(q *pulumirpc.ListRequest, s grpc.ServerStreamingServer[pulumirpc.ListResponse]) error {
	if _, ok, err := ask[*pulumirpc.ListResponse](f, q); ok {
		return err
	}
	for _, id := range []string{"a", "b"} {
		if err := s.Send(&pulumirpc.ListResponse{Response: &pulumirpc.ListResponse_Result_{Result: &pulumirpc.ListResponse_Result{Id: id, Name: "note " + id}}}); err != nil {
			return err
		}
	}
	return s.Send(&pulumirpc.ListResponse{Response: &pulumirpc.ListResponse_Continuation_{
		Continuation: &pulumirpc.ListResponse_Continuation{ContinuationToken: "after-b"},
	}})
}

func (f *fake) Construct(ctx context.Context, q *pulumirpc.ConstructRequest) (*pulumirpc.ConstructResponse, error) {
	if _, ok, err := ask[*pulumirpc.ConstructResponse](f, q); ok {
		return nil, err
	}
	connection, err := dial(q.MonitorEndpoint)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return f.construct(ctx, q, pulumirpc.NewResourceMonitorClient(connection))
}

func (f *fake) Call(_ context.Context, q *pulumirpc.CallRequest) (*pulumirpc.CallResponse, error) {
	r, _, err := ask[*pulumirpc.CallResponse](f, q)
	return r, err
}

func (f *fake) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, f.failure
}

func dial(address string) (*grpc.ClientConn, error) {
	if address == "" {
		return nil, errors.New("there is no address")
	}
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// failed returns the status of a failed call with a detail.
func failed(code codes.Code, text string, detail proto.Message) error {
	s, err := status.New(code, text).WithDetails(protoadapt.MessageV1Of(detail))
	if err != nil {
		return err
	}
	return s.Err()
}
