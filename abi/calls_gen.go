// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import "context"

// The methods of providers, policy packs, and programs.
const (
	MethodHandshake      Method = "handshake"
	MethodParameterize   Method = "parameterize"
	MethodGetSchema      Method = "get-schema"
	MethodGetMapping     Method = "get-mapping"
	MethodGetMappings    Method = "get-mappings"
	MethodCheckConfig    Method = "check-config"
	MethodDiffConfig     Method = "diff-config"
	MethodConfigure      Method = "configure"
	MethodCheck          Method = "check"
	MethodDiff           Method = "diff"
	MethodCreate         Method = "create"
	MethodRead           Method = "read"
	MethodUpdate         Method = "update"
	MethodDelete         Method = "delete"
	MethodList           Method = "list"
	MethodInvoke         Method = "invoke"
	MethodStreamInvoke   Method = "stream-invoke"
	MethodStreamNext     Method = "stream-next"
	MethodStreamClose    Method = "stream-close"
	MethodOpenEphemeral  Method = "open-ephemeral"
	MethodRenewEphemeral Method = "renew-ephemeral"
	MethodCloseEphemeral Method = "close-ephemeral"
	MethodRunAction      Method = "run-action"
	MethodExists         Method = "exists"
	MethodCall           Method = "call"
	MethodConstruct      Method = "construct"
	MethodCancel         Method = "cancel"
	MethodRemediate      Method = "remediate"
	MethodAnalyze        Method = "analyze"
	MethodAnalyzeStack   Method = "analyze-stack"
	MethodRun            Method = "run"
)

// Methods has all methods of providers, policy packs, and programs.
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
	MethodOpenEphemeral,
	MethodRenewEphemeral,
	MethodCloseEphemeral,
	MethodRunAction,
	MethodExists,
	MethodCall,
	MethodConstruct,
	MethodCancel,
	MethodRemediate,
	MethodAnalyze,
	MethodAnalyzeStack,
	MethodRun,
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
	case MethodOpenEphemeral:
		return methodFacts{KindReads, AboutFunction}
	case MethodRenewEphemeral:
		return methodFacts{KindReads, AboutFunction}
	case MethodCloseEphemeral:
		return methodFacts{KindReads, AboutFunction}
	case MethodRunAction:
		return methodFacts{KindChanges, AboutFunction}
	case MethodExists:
		return methodFacts{KindReads, AboutResource}
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
	case MethodRun:
		return methodFacts{KindChanges, AboutComponent}
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

func (r *CheckRequest) properties(list []Properties) []Properties {
	list = appendOptional(list, RoleOldInputs, &r.Olds)
	list = append(list, Properties{Role: RoleNew, required: &r.News})
	return list
}

func (r *CheckResponse) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleChecked, required: &r.Inputs})
	return list
}

func (r *CheckResponse) checkFailures() *[]CheckFailure { return &r.Failures }

func (r *DiffRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *DiffRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleOldState, required: &r.Olds})
	list = append(list, Properties{Role: RoleNew, required: &r.News})
	list = append(list, Properties{Role: RoleOldInputs, required: &r.OldInputs})
	return list
}

func (r *ConfigureRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *ConfigureRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleNew, required: &r.Inputs})
	return list
}

func (r *CreateRequest) subject() Subject {
	return Subject{URN: r.URN, Token: r.Type, Preview: r.Preview}
}

func (r *CreateRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleNew, required: &r.Inputs})
	return list
}

func (r *CreateResponse) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleState, required: &r.State})
	return list
}

func (r *ReadRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *ReadRequest) properties(list []Properties) []Properties {
	list = appendOptional(list, RoleOldState, &r.State)
	list = appendOptional(list, RoleOldInputs, &r.Inputs)
	return list
}

func (r *ReadResponse) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleState, required: &r.State})
	list = appendOptional(list, RoleInputs, &r.Inputs)
	return list
}

func (r *UpdateRequest) subject() Subject {
	return Subject{URN: r.URN, Token: r.Type, ID: r.ID, Preview: r.Preview}
}

func (r *UpdateRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleOldState, required: &r.Olds})
	list = append(list, Properties{Role: RoleNew, required: &r.News})
	list = append(list, Properties{Role: RoleOldInputs, required: &r.OldInputs})
	return list
}

func (r *UpdateResponse) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleState, required: &r.State})
	return list
}

func (r *DeleteRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *DeleteRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleOldState, required: &r.State})
	list = append(list, Properties{Role: RoleOldInputs, required: &r.OldInputs})
	return list
}

func (r *ListRequest) subject() Subject { return Subject{Token: r.Token} }

func (r *ListRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleNew, required: &r.Query})
	return list
}

func (r *InvokeRequest) subject() Subject { return Subject{Token: r.Token, Preview: r.Preview} }

func (r *InvokeRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleNew, required: &r.Args})
	return list
}

func (r *InvokeResponse) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleResult, required: &r.Result})
	return list
}

func (r *InvokeResponse) checkFailures() *[]CheckFailure { return &r.Failures }

func (r *StreamItem) properties(list []Properties) []Properties {
	list = appendOptional(list, RoleResult, &r.Result)
	return list
}

func (r *OpenEphemeralRequest) subject() Subject { return Subject{Token: r.Token, Preview: r.Preview} }

func (r *OpenEphemeralRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleNew, required: &r.Args})
	return list
}

func (r *OpenEphemeralResponse) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleResult, required: &r.Result})
	return list
}

func (r *OpenEphemeralResponse) checkFailures() *[]CheckFailure { return &r.Failures }

func (r *RenewEphemeralRequest) subject() Subject { return Subject{Token: r.Token} }

func (r *CloseEphemeralRequest) subject() Subject { return Subject{Token: r.Token} }

func (r *RunActionRequest) subject() Subject { return Subject{Token: r.Token, Preview: r.Preview} }

func (r *RunActionRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleNew, required: &r.Args})
	return list
}

func (r *RunActionResponse) checkFailures() *[]CheckFailure { return &r.Failures }

func (r *ExistsRequest) subject() Subject { return Subject{URN: r.URN, Token: r.Type, ID: r.ID} }

func (r *ExistsRequest) properties(list []Properties) []Properties {
	list = appendOptional(list, RoleOldState, &r.State)
	return list
}

func (r *CallRequest) dependencies() *[]PropertyDependency { return &r.ArgDependencies }

func (r *CallRequest) subject() Subject { return Subject{Token: r.Token, Preview: r.Context.DryRun} }

func (r *CallRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleNew, required: &r.Args})
	return list
}

func (r *CallResponse) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleResult, required: &r.Result})
	return list
}

func (r *CallResponse) checkFailures() *[]CheckFailure { return &r.Failures }

func (r *ConstructRequest) dependencies() *[]PropertyDependency { return &r.InputDependencies }

func (r *ConstructRequest) subject() Subject {
	return Subject{Token: r.Type, Preview: r.Context.DryRun}
}

func (r *ConstructRequest) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleNew, required: &r.Inputs})
	return list
}

func (r *ConstructResponse) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleState, required: &r.State})
	return list
}

func (r *InitFailure) properties(list []Properties) []Properties {
	list = append(list, Properties{Role: RoleState, required: &r.State})
	list = appendOptional(list, RoleInputs, &r.Inputs)
	return list
}

func (p *callProvider) Handshake(ctx context.Context, request HandshakeRequest) (HandshakeResponse, error) {
	return serveCall(ctx, p, MethodHandshake, request, Provider.Handshake)
}

func (p *callProvider) Parameterize(ctx context.Context, request ParameterizeRequest) (ParameterizeResponse, error) {
	return serveCall(ctx, p, MethodParameterize, request, Provider.Parameterize)
}

func (p *callProvider) GetSchema(ctx context.Context, request GetSchemaRequest) (GetSchemaResponse, error) {
	return serveCall(ctx, p, MethodGetSchema, request, Provider.GetSchema)
}

func (p *callProvider) GetMapping(ctx context.Context, request GetMappingRequest) (GetMappingResponse, error) {
	return serveCall(ctx, p, MethodGetMapping, request, Provider.GetMapping)
}

func (p *callProvider) GetMappings(ctx context.Context, request GetMappingsRequest) (GetMappingsResponse, error) {
	return serveCall(ctx, p, MethodGetMappings, request, Provider.GetMappings)
}

func (p *callProvider) CheckConfig(ctx context.Context, request CheckRequest) (CheckResponse, error) {
	return serveCall(ctx, p, MethodCheckConfig, request, Provider.CheckConfig)
}

func (p *callProvider) DiffConfig(ctx context.Context, request DiffRequest) (DiffResponse, error) {
	return serveCall(ctx, p, MethodDiffConfig, request, Provider.DiffConfig)
}

func (p *callProvider) Configure(ctx context.Context, request ConfigureRequest) error {
	_, err := serveCall(ctx, p, MethodConfigure, request, answerless(Provider.Configure))
	return err
}

func (p *callProvider) Check(ctx context.Context, request CheckRequest) (CheckResponse, error) {
	return serveCall(ctx, p, MethodCheck, request, Provider.Check)
}

func (p *callProvider) Diff(ctx context.Context, request DiffRequest) (DiffResponse, error) {
	return serveCall(ctx, p, MethodDiff, request, Provider.Diff)
}

func (p *callProvider) Create(ctx context.Context, request CreateRequest) (CreateResponse, error) {
	return serveCall(ctx, p, MethodCreate, request, Provider.Create)
}

func (p *callProvider) Read(ctx context.Context, request ReadRequest) (ReadResponse, error) {
	return serveCall(ctx, p, MethodRead, request, Provider.Read)
}

func (p *callProvider) Update(ctx context.Context, request UpdateRequest) (UpdateResponse, error) {
	return serveCall(ctx, p, MethodUpdate, request, Provider.Update)
}

func (p *callProvider) Delete(ctx context.Context, request DeleteRequest) error {
	_, err := serveCall(ctx, p, MethodDelete, request, answerless(Provider.Delete))
	return err
}

func (p *callProvider) List(ctx context.Context, request ListRequest) (ListResponse, error) {
	return serveCall(ctx, p, MethodList, request, Provider.List)
}

func (p *callProvider) Invoke(ctx context.Context, request InvokeRequest) (InvokeResponse, error) {
	return serveCall(ctx, p, MethodInvoke, request, Provider.Invoke)
}

func (p *callProvider) StreamInvoke(ctx context.Context, request InvokeRequest) (StreamHandle, error) {
	return serveCall(ctx, p, MethodStreamInvoke, request, Provider.StreamInvoke)
}

func (p *callProvider) StreamNext(ctx context.Context, stream StreamHandle) (StreamItem, error) {
	return serveCall(ctx, p, MethodStreamNext, stream, Provider.StreamNext)
}

func (p *callProvider) StreamClose(ctx context.Context, stream StreamHandle) error {
	_, err := serveCall(ctx, p, MethodStreamClose, stream, answerless(Provider.StreamClose))
	return err
}

func (p *callProvider) OpenEphemeral(ctx context.Context, request OpenEphemeralRequest) (OpenEphemeralResponse, error) {
	return serveCall(ctx, p, MethodOpenEphemeral, request, Provider.OpenEphemeral)
}

func (p *callProvider) RenewEphemeral(ctx context.Context, request RenewEphemeralRequest) (RenewEphemeralResponse, error) {
	return serveCall(ctx, p, MethodRenewEphemeral, request, Provider.RenewEphemeral)
}

func (p *callProvider) CloseEphemeral(ctx context.Context, request CloseEphemeralRequest) error {
	_, err := serveCall(ctx, p, MethodCloseEphemeral, request, answerless(Provider.CloseEphemeral))
	return err
}

func (p *callProvider) RunAction(ctx context.Context, request RunActionRequest) (RunActionResponse, error) {
	return serveCall(ctx, p, MethodRunAction, request, Provider.RunAction)
}

func (p *callProvider) Exists(ctx context.Context, request ExistsRequest) (ExistsResponse, error) {
	return serveCall(ctx, p, MethodExists, request, Provider.Exists)
}

func (p *callProvider) Call(ctx context.Context, request CallRequest) (CallResponse, error) {
	return serveCall(ctx, p, MethodCall, request, Provider.Call)
}

func (p *callProvider) Construct(ctx context.Context, request ConstructRequest) (ConstructResponse, error) {
	return serveCall(ctx, p, MethodConstruct, request, Provider.Construct)
}

func (p *callProvider) Cancel(ctx context.Context) error {
	_, err := serveCall(ctx, p, MethodCancel, struct{}{}, empty(Provider.Cancel))
	return err
}
