// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import (
	"context"

	"github.com/husk-dev/husk/abi/property"
)

// The methods of providers and policy packs.
const (
	MethodHandshake    Method = "handshake"
	MethodParameterize Method = "parameterize"
	MethodGetSchema    Method = "get-schema"
	MethodGetMapping   Method = "get-mapping"
	MethodGetMappings  Method = "get-mappings"
	MethodCheckConfig  Method = "check-config"
	MethodDiffConfig   Method = "diff-config"
	MethodConfigure    Method = "configure"
	MethodCheck        Method = "check"
	MethodDiff         Method = "diff"
	MethodCreate       Method = "create"
	MethodRead         Method = "read"
	MethodUpdate       Method = "update"
	MethodDelete       Method = "delete"
	MethodList         Method = "list"
	MethodInvoke       Method = "invoke"
	MethodStreamInvoke Method = "stream-invoke"
	MethodStreamNext   Method = "stream-next"
	MethodStreamClose  Method = "stream-close"
	MethodCall         Method = "call"
	MethodConstruct    Method = "construct"
	MethodCancel       Method = "cancel"
	MethodRemediate    Method = "remediate"
	MethodAnalyze      Method = "analyze"
	MethodAnalyzeStack Method = "analyze-stack"
)

// Methods has all methods of providers and policy packs.
var Methods = [...]Method{
	MethodHandshake,
	MethodParameterize,
	MethodGetSchema,
	MethodGetMapping,
	MethodGetMappings,
	MethodCheckConfig,
	MethodDiffConfig,
	MethodConfigure,
	MethodCheck,
	MethodDiff,
	MethodCreate,
	MethodRead,
	MethodUpdate,
	MethodDelete,
	MethodList,
	MethodInvoke,
	MethodStreamInvoke,
	MethodStreamNext,
	MethodStreamClose,
	MethodCall,
	MethodConstruct,
	MethodCancel,
	MethodRemediate,
	MethodAnalyze,
	MethodAnalyzeStack,
}

// facts returns what the contract says of a method.
func (m Method) facts() methodFacts {
	switch m {
	case MethodHandshake:
		return methodFacts{KindAsks, AboutPackage}
	case MethodParameterize:
		return methodFacts{KindSetsUp, AboutPackage}
	case MethodGetSchema:
		return methodFacts{KindAsks, AboutPackage}
	case MethodGetMapping:
		return methodFacts{KindAsks, AboutPackage}
	case MethodGetMappings:
		return methodFacts{KindAsks, AboutPackage}
	case MethodCheckConfig:
		return methodFacts{KindAsks, AboutConfiguration}
	case MethodDiffConfig:
		return methodFacts{KindAsks, AboutConfiguration}
	case MethodConfigure:
		return methodFacts{KindSetsUp, AboutConfiguration}
	case MethodCheck:
		return methodFacts{KindAsks, AboutResource}
	case MethodDiff:
		return methodFacts{KindAsks, AboutResource}
	case MethodCreate:
		return methodFacts{KindChanges, AboutResource}
	case MethodRead:
		return methodFacts{KindReads, AboutResource}
	case MethodUpdate:
		return methodFacts{KindChanges, AboutResource}
	case MethodDelete:
		return methodFacts{KindChanges, AboutResource}
	case MethodList:
		return methodFacts{KindReads, AboutResource}
	case MethodInvoke:
		return methodFacts{KindReads, AboutFunction}
	case MethodStreamInvoke:
		return methodFacts{KindReads, AboutFunction}
	case MethodStreamNext:
		return methodFacts{KindReads, AboutFunction}
	case MethodStreamClose:
		return methodFacts{KindAsks, AboutFunction}
	case MethodCall:
		return methodFacts{KindChanges, AboutComponent}
	case MethodConstruct:
		return methodFacts{KindChanges, AboutComponent}
	case MethodCancel:
		return methodFacts{KindAsks, AboutPackage}
	case MethodRemediate:
		return methodFacts{KindAsks, AboutResource}
	case MethodAnalyze:
		return methodFacts{KindAsks, AboutResource}
	case MethodAnalyzeStack:
		return methodFacts{KindAsks, AboutResource}
	}
	return methodFacts{}
}

// The roles of the property maps of requests, and then those of responses.
const (
	RoleNew Role = iota + 1
	RoleOldInputs
	RoleOldState
	RoleChecked
	RoleInputs
	RoleState
	RoleResult
)

func (r *CheckRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type} }

func (r *CheckRequest) transform(f func(Role, property.Map) property.Map) {
	r.Olds = transformOptional(r.Olds, RoleOldInputs, f)
	r.News = f(RoleNew, r.News)
}

func (r *CheckResponse) transform(f func(Role, property.Map) property.Map) {
	r.Inputs = f(RoleChecked, r.Inputs)
}

func (r *CheckResponse) checkFailures() *[]CheckFailure { return &r.Failures }

func (r *DiffRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *DiffRequest) transform(f func(Role, property.Map) property.Map) {
	r.Olds = f(RoleOldState, r.Olds)
	r.News = f(RoleNew, r.News)
	r.OldInputs = f(RoleOldInputs, r.OldInputs)
}

func (r *ConfigureRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *ConfigureRequest) transform(f func(Role, property.Map) property.Map) {
	r.Inputs = f(RoleNew, r.Inputs)
}

func (r *CreateRequest) subject() Subject {
	return Subject{URN: r.URN, Token: r.Type, Preview: r.Preview}
}

func (r *CreateRequest) transform(f func(Role, property.Map) property.Map) {
	r.Inputs = f(RoleNew, r.Inputs)
}

func (r *CreateResponse) transform(f func(Role, property.Map) property.Map) {
	r.State = f(RoleState, r.State)
}

func (r *ReadRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *ReadRequest) transform(f func(Role, property.Map) property.Map) {
	r.State = transformOptional(r.State, RoleOldState, f)
	r.Inputs = transformOptional(r.Inputs, RoleOldInputs, f)
}

func (r *ReadResponse) transform(f func(Role, property.Map) property.Map) {
	r.State = f(RoleState, r.State)
	r.Inputs = transformOptional(r.Inputs, RoleInputs, f)
}

func (r *UpdateRequest) subject() Subject {
	return Subject{URN: r.URN, Token: r.Type, ID: r.ID, Preview: r.Preview}
}

func (r *UpdateRequest) transform(f func(Role, property.Map) property.Map) {
	r.Olds = f(RoleOldState, r.Olds)
	r.News = f(RoleNew, r.News)
	r.OldInputs = f(RoleOldInputs, r.OldInputs)
}

func (r *UpdateResponse) transform(f func(Role, property.Map) property.Map) {
	r.State = f(RoleState, r.State)
}

func (r *DeleteRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *DeleteRequest) transform(f func(Role, property.Map) property.Map) {
	r.State = f(RoleOldState, r.State)
	r.OldInputs = f(RoleOldInputs, r.OldInputs)
}

func (r *ListRequest) subject() Subject { return Subject{Token: r.Token} }

func (r *ListRequest) transform(f func(Role, property.Map) property.Map) {
	r.Query = f(RoleNew, r.Query)
}

func (r *InvokeRequest) subject() Subject { return Subject{Token: r.Token, Preview: r.Preview} }

func (r *InvokeRequest) transform(f func(Role, property.Map) property.Map) {
	r.Args = f(RoleNew, r.Args)
}

func (r *InvokeResponse) transform(f func(Role, property.Map) property.Map) {
	r.Result = f(RoleResult, r.Result)
}

func (r *InvokeResponse) checkFailures() *[]CheckFailure { return &r.Failures }

func (r *StreamItem) transform(f func(Role, property.Map) property.Map) {
	r.Result = transformOptional(r.Result, RoleResult, f)
}

func (r *CallRequest) subject() Subject { return Subject{Token: r.Token, Preview: r.Context.DryRun} }

func (r *CallRequest) transform(f func(Role, property.Map) property.Map) {
	r.Args = f(RoleNew, r.Args)
}

func (r *CallResponse) transform(f func(Role, property.Map) property.Map) {
	r.Result = f(RoleResult, r.Result)
}

func (r *CallResponse) checkFailures() *[]CheckFailure { return &r.Failures }

func (r *ConstructRequest) subject() Subject {
	return Subject{Token: r.Type, Preview: r.Context.DryRun}
}

func (r *ConstructRequest) transform(f func(Role, property.Map) property.Map) {
	r.Inputs = f(RoleNew, r.Inputs)
}

func (r *ConstructResponse) transform(f func(Role, property.Map) property.Map) {
	r.State = f(RoleState, r.State)
}

func (r *InitFailure) transform(f func(Role, property.Map) property.Map) {
	r.State = f(RoleState, r.State)
	r.Inputs = transformOptional(r.Inputs, RoleInputs, f)
}

func (p *intercepted) Handshake(ctx context.Context, request HandshakeRequest) (HandshakeResponse, error) {
	return intercept(ctx, p, MethodHandshake, request, Provider.Handshake)
}

func (p *intercepted) Parameterize(ctx context.Context, request ParameterizeRequest) (ParameterizeResponse, error) {
	return intercept(ctx, p, MethodParameterize, request, Provider.Parameterize)
}

func (p *intercepted) GetSchema(ctx context.Context, request GetSchemaRequest) (GetSchemaResponse, error) {
	return intercept(ctx, p, MethodGetSchema, request, Provider.GetSchema)
}

func (p *intercepted) GetMapping(ctx context.Context, request GetMappingRequest) (GetMappingResponse, error) {
	return intercept(ctx, p, MethodGetMapping, request, Provider.GetMapping)
}

func (p *intercepted) GetMappings(ctx context.Context, request GetMappingsRequest) (GetMappingsResponse, error) {
	return intercept(ctx, p, MethodGetMappings, request, Provider.GetMappings)
}

func (p *intercepted) CheckConfig(ctx context.Context, request CheckRequest) (CheckResponse, error) {
	return intercept(ctx, p, MethodCheckConfig, request, Provider.CheckConfig)
}

func (p *intercepted) DiffConfig(ctx context.Context, request DiffRequest) (DiffResponse, error) {
	return intercept(ctx, p, MethodDiffConfig, request, Provider.DiffConfig)
}

func (p *intercepted) Configure(ctx context.Context, request ConfigureRequest) error {
	_, err := intercept(ctx, p, MethodConfigure, request, answerless(Provider.Configure))
	return err
}

func (p *intercepted) Check(ctx context.Context, request CheckRequest) (CheckResponse, error) {
	return intercept(ctx, p, MethodCheck, request, Provider.Check)
}

func (p *intercepted) Diff(ctx context.Context, request DiffRequest) (DiffResponse, error) {
	return intercept(ctx, p, MethodDiff, request, Provider.Diff)
}

func (p *intercepted) Create(ctx context.Context, request CreateRequest) (CreateResponse, error) {
	return intercept(ctx, p, MethodCreate, request, Provider.Create)
}

func (p *intercepted) Read(ctx context.Context, request ReadRequest) (ReadResponse, error) {
	return intercept(ctx, p, MethodRead, request, Provider.Read)
}

func (p *intercepted) Update(ctx context.Context, request UpdateRequest) (UpdateResponse, error) {
	return intercept(ctx, p, MethodUpdate, request, Provider.Update)
}

func (p *intercepted) Delete(ctx context.Context, request DeleteRequest) error {
	_, err := intercept(ctx, p, MethodDelete, request, answerless(Provider.Delete))
	return err
}

func (p *intercepted) List(ctx context.Context, request ListRequest) (ListResponse, error) {
	return intercept(ctx, p, MethodList, request, Provider.List)
}

func (p *intercepted) Invoke(ctx context.Context, request InvokeRequest) (InvokeResponse, error) {
	return intercept(ctx, p, MethodInvoke, request, Provider.Invoke)
}

func (p *intercepted) StreamInvoke(ctx context.Context, request InvokeRequest) (StreamHandle, error) {
	return intercept(ctx, p, MethodStreamInvoke, request, Provider.StreamInvoke)
}

func (p *intercepted) StreamNext(ctx context.Context, stream StreamHandle) (StreamItem, error) {
	return intercept(ctx, p, MethodStreamNext, stream, Provider.StreamNext)
}

func (p *intercepted) StreamClose(ctx context.Context, stream StreamHandle) error {
	_, err := intercept(ctx, p, MethodStreamClose, stream, answerless(Provider.StreamClose))
	return err
}

func (p *intercepted) Call(ctx context.Context, request CallRequest) (CallResponse, error) {
	return intercept(ctx, p, MethodCall, request, Provider.Call)
}

func (p *intercepted) Construct(ctx context.Context, request ConstructRequest) (ConstructResponse, error) {
	return intercept(ctx, p, MethodConstruct, request, Provider.Construct)
}

func (p *intercepted) Cancel(ctx context.Context) error {
	_, err := intercept(ctx, p, MethodCancel, struct{}{}, empty(Provider.Cancel))
	return err
}
