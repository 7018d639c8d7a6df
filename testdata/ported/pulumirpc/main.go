// Command slip is a provider of Pulumi's protocol without a library, on an SDK from the time when pkg/v3 had what serves.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/pkg/v3/resource/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

const schema = `{"name": "slip", "version": "0.1.0", "resources": {"slip:index:Slip": {
	"inputProperties": {"text": {"type": "string"}}, "requiredInputs": ["text"],
	"properties": {"text": {"type": "string"}, "length": {"type": "integer"}}, "required": ["text", "length"]}}}`

func main() {
	err := provider.Main("slip", func(host *provider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		return &server{}, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type server struct {
	pulumirpc.UnimplementedResourceProviderServer
}

func (*server) GetSchema(context.Context, *pulumirpc.GetSchemaRequest) (*pulumirpc.GetSchemaResponse, error) {
	return &pulumirpc.GetSchemaResponse{Schema: schema}, nil
}

func (*server) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: "0.1.0"}, nil
}

func (*server) CheckConfig(_ context.Context, r *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	return &pulumirpc.CheckResponse{Inputs: r.News}, nil
}

func (*server) Configure(context.Context, *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	return &pulumirpc.ConfigureResponse{}, nil
}

func (*server) Check(_ context.Context, r *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	return &pulumirpc.CheckResponse{Inputs: r.News}, nil
}

func (*server) Diff(_ context.Context, r *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	if r.News.Fields["text"].GetStringValue() == r.Olds.Fields["text"].GetStringValue() {
		return &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_NONE}, nil
	}
	return &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_SOME, Diffs: []string{"text"}}, nil
}

func (*server) Create(_ context.Context, r *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	return &pulumirpc.CreateResponse{Id: "slip", Properties: state(r.Properties)}, nil
}

func (*server) Update(_ context.Context, r *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	return &pulumirpc.UpdateResponse{Properties: state(r.News)}, nil
}

func (*server) Delete(context.Context, *pulumirpc.DeleteRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// state returns the inputs with the length of the text.
func state(inputs *structpb.Struct) *structpb.Struct {
	text := inputs.Fields["text"].GetStringValue()
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		"text": structpb.NewStringValue(text), "length": structpb.NewNumberValue(float64(len(text))),
	}}
}
