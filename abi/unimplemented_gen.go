// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import "context"

// Unimplemented returns an error of kind unimplemented from every method of [Provider].
// Providers embed it and override what they do.
type Unimplemented struct{}

var _ Provider = Unimplemented{}

func (Unimplemented) Handshake(context.Context, HandshakeRequest) (HandshakeResponse, error) {
	return HandshakeResponse{}, unimplemented("handshake")
}

func (Unimplemented) Parameterize(context.Context, ParameterizeRequest) (ParameterizeResponse, error) {
	return ParameterizeResponse{}, unimplemented("parameterize")
}

func (Unimplemented) GetSchema(context.Context, GetSchemaRequest) (GetSchemaResponse, error) {
	return GetSchemaResponse{}, unimplemented("get-schema")
}

func (Unimplemented) GetMapping(context.Context, GetMappingRequest) (GetMappingResponse, error) {
	return GetMappingResponse{}, unimplemented("get-mapping")
}

func (Unimplemented) GetMappings(context.Context, GetMappingsRequest) (GetMappingsResponse, error) {
	return GetMappingsResponse{}, unimplemented("get-mappings")
}

func (Unimplemented) CheckConfig(context.Context, CheckRequest) (CheckResponse, error) {
	return CheckResponse{}, unimplemented("check-config")
}

func (Unimplemented) DiffConfig(context.Context, DiffRequest) (DiffResponse, error) {
	return DiffResponse{}, unimplemented("diff-config")
}

func (Unimplemented) Configure(context.Context, ConfigureRequest) error {
	return unimplemented("configure")
}

func (Unimplemented) Check(context.Context, CheckRequest) (CheckResponse, error) {
	return CheckResponse{}, unimplemented("check")
}

func (Unimplemented) Diff(context.Context, DiffRequest) (DiffResponse, error) {
	return DiffResponse{}, unimplemented("diff")
}

func (Unimplemented) Create(context.Context, CreateRequest) (CreateResponse, error) {
	return CreateResponse{}, unimplemented("create")
}

func (Unimplemented) Read(context.Context, ReadRequest) (ReadResponse, error) {
	return ReadResponse{}, unimplemented("read")
}

func (Unimplemented) Update(context.Context, UpdateRequest) (UpdateResponse, error) {
	return UpdateResponse{}, unimplemented("update")
}

func (Unimplemented) Delete(context.Context, DeleteRequest) error {
	return unimplemented("delete")
}

func (Unimplemented) List(context.Context, ListRequest) (ListResponse, error) {
	return ListResponse{}, unimplemented("list")
}

func (Unimplemented) Invoke(context.Context, InvokeRequest) (InvokeResponse, error) {
	return InvokeResponse{}, unimplemented("invoke")
}

func (Unimplemented) StreamInvoke(context.Context, InvokeRequest) (StreamHandle, error) {
	return 0, unimplemented("stream-invoke")
}

func (Unimplemented) StreamNext(context.Context, StreamHandle) (StreamItem, error) {
	return StreamItem{}, unimplemented("stream-next")
}

func (Unimplemented) StreamClose(context.Context, StreamHandle) error {
	return unimplemented("stream-close")
}

func (Unimplemented) OpenEphemeral(context.Context, OpenEphemeralRequest) (OpenEphemeralResponse, error) {
	return OpenEphemeralResponse{}, unimplemented("open-ephemeral")
}

func (Unimplemented) RenewEphemeral(context.Context, RenewEphemeralRequest) (RenewEphemeralResponse, error) {
	return RenewEphemeralResponse{}, unimplemented("renew-ephemeral")
}

func (Unimplemented) CloseEphemeral(context.Context, CloseEphemeralRequest) error {
	return unimplemented("close-ephemeral")
}

func (Unimplemented) RunAction(context.Context, RunActionRequest) (RunActionResponse, error) {
	return RunActionResponse{}, unimplemented("run-action")
}

func (Unimplemented) Exists(context.Context, ExistsRequest) (ExistsResponse, error) {
	return ExistsResponse{}, unimplemented("exists")
}

func (Unimplemented) Call(context.Context, CallRequest) (CallResponse, error) {
	return CallResponse{}, unimplemented("call")
}

func (Unimplemented) Construct(context.Context, ConstructRequest) (ConstructResponse, error) {
	return ConstructResponse{}, unimplemented("construct")
}

func (Unimplemented) Cancel(context.Context) error {
	return unimplemented("cancel")
}
