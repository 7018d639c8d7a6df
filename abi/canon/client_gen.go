// Code generated from wit/ by witgen. DO NOT EDIT.

package canon

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

type providerClient struct{ caller Caller }

// NewProvider returns the provider on the other side.
func NewProvider(caller Caller) abi.Provider { return providerClient{caller} }

func (c providerClient) Handshake(ctx context.Context, request abi.HandshakeRequest) (v abi.HandshakeResponse, err error) {
	err = call(ctx, c.caller, &providerHandshake,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerHandshakeRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftHandshakeResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (v abi.ParameterizeResponse, err error) {
	err = call(ctx, c.caller, &providerParameterize,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerParameterizeRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftParameterizeResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (v abi.GetSchemaResponse, err error) {
	err = call(ctx, c.caller, &providerGetSchema,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerGetSchemaRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftGetSchemaResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) GetMapping(ctx context.Context, request abi.GetMappingRequest) (v abi.GetMappingResponse, err error) {
	err = call(ctx, c.caller, &providerGetMapping,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerGetMappingRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftGetMappingResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) GetMappings(ctx context.Context, request abi.GetMappingsRequest) (v abi.GetMappingsResponse, err error) {
	err = call(ctx, c.caller, &providerGetMappings,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerGetMappingsRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftGetMappingsResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) CheckConfig(ctx context.Context, request abi.CheckRequest) (v abi.CheckResponse, err error) {
	err = call(ctx, c.caller, &providerCheckConfig,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerCheckRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftCheckResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) DiffConfig(ctx context.Context, request abi.DiffRequest) (v abi.DiffResponse, err error) {
	err = call(ctx, c.caller, &providerDiffConfig,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerDiffRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftDiffResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	return call(ctx, c.caller, &providerConfigure,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerConfigureRequest(w, b, &request)
			w.leave()
		},
		nil)
}

func (c providerClient) Check(ctx context.Context, request abi.CheckRequest) (v abi.CheckResponse, err error) {
	err = call(ctx, c.caller, &providerCheck,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerCheckRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftCheckResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Diff(ctx context.Context, request abi.DiffRequest) (v abi.DiffResponse, err error) {
	err = call(ctx, c.caller, &providerDiff,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerDiffRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftDiffResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Create(ctx context.Context, request abi.CreateRequest) (v abi.CreateResponse, err error) {
	err = call(ctx, c.caller, &providerCreate,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerCreateRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftCreateResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Read(ctx context.Context, request abi.ReadRequest) (v abi.ReadResponse, err error) {
	err = call(ctx, c.caller, &providerRead,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerReadRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftReadResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Update(ctx context.Context, request abi.UpdateRequest) (v abi.UpdateResponse, err error) {
	err = call(ctx, c.caller, &providerUpdate,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerUpdateRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftUpdateResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Delete(ctx context.Context, request abi.DeleteRequest) error {
	return call(ctx, c.caller, &providerDelete,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerDeleteRequest(w, b, &request)
			w.leave()
		},
		nil)
}

func (c providerClient) List(ctx context.Context, request abi.ListRequest) (v abi.ListResponse, err error) {
	err = call(ctx, c.caller, &providerList,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerListRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftListResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Invoke(ctx context.Context, request abi.InvokeRequest) (v abi.InvokeResponse, err error) {
	err = call(ctx, c.caller, &providerInvoke,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerInvokeRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftInvokeResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) StreamInvoke(ctx context.Context, request abi.InvokeRequest) (v abi.StreamHandle, err error) {
	err = call(ctx, c.caller, &providerStreamInvoke,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerInvokeRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			v = abi.StreamHandle(u64(b))
		})
	return v, err
}

func (c providerClient) StreamNext(ctx context.Context, stream abi.StreamHandle) (v abi.StreamItem, err error) {
	err = call(ctx, c.caller, &providerStreamNext,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(stream))
		},
		func(l *lifter, b []byte) {
			liftStreamItem(l, b, &v)
		})
	return v, err
}

func (c providerClient) StreamClose(ctx context.Context, stream abi.StreamHandle) error {
	return call(ctx, c.caller, &providerStreamClose,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(stream))
		},
		nil)
}

func (c providerClient) OpenEphemeral(ctx context.Context, request abi.OpenEphemeralRequest) (v abi.OpenEphemeralResponse, err error) {
	err = call(ctx, c.caller, &providerOpenEphemeral,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerOpenEphemeralRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftOpenEphemeralResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) RenewEphemeral(ctx context.Context, request abi.RenewEphemeralRequest) (v abi.RenewEphemeralResponse, err error) {
	err = call(ctx, c.caller, &providerRenewEphemeral,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerRenewEphemeralRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftRenewEphemeralResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) CloseEphemeral(ctx context.Context, request abi.CloseEphemeralRequest) error {
	return call(ctx, c.caller, &providerCloseEphemeral,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerCloseEphemeralRequest(w, b, &request)
			w.leave()
		},
		nil)
}

func (c providerClient) RunAction(ctx context.Context, request abi.RunActionRequest) (v abi.RunActionResponse, err error) {
	err = call(ctx, c.caller, &providerRunAction,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerRunActionRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftRunActionResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Exists(ctx context.Context, request abi.ExistsRequest) (v abi.ExistsResponse, err error) {
	err = call(ctx, c.caller, &providerExists,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerExistsRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftExistsResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Call(ctx context.Context, request abi.CallRequest) (v abi.CallResponse, err error) {
	err = call(ctx, c.caller, &providerCall,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerCallRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftCallResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Construct(ctx context.Context, request abi.ConstructRequest) (v abi.ConstructResponse, err error) {
	err = call(ctx, c.caller, &providerConstruct,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerConstructRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftConstructResponse(l, b, &v)
		})
	return v, err
}

func (c providerClient) Cancel(ctx context.Context) error {
	return call(ctx, c.caller, &providerCancel,
		nil,
		nil)
}

type policyClient struct{ caller Caller }

// NewPolicy returns the policy on the other side.
func NewPolicy(caller Caller) abi.Policy { return policyClient{caller} }

func (c policyClient) Handshake(ctx context.Context, request abi.PolicyHandshakeRequest) (v abi.PolicyHandshakeResponse, err error) {
	err = call(ctx, c.caller, &policyHandshake,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerPolicyHandshakeRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftPolicyHandshakeResponse(l, b, &v)
		})
	return v, err
}

func (c policyClient) Configure(ctx context.Context, request abi.PolicyConfigureRequest) error {
	return call(ctx, c.caller, &policyConfigure,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerPolicyConfigureRequest(w, b, &request)
			w.leave()
		},
		nil)
}

func (c policyClient) Remediate(ctx context.Context, request abi.PolicyRemediateRequest) (v abi.PolicyRemediateResponse, err error) {
	err = call(ctx, c.caller, &policyRemediate,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerPolicyRemediateRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftPolicyRemediateResponse(l, b, &v)
		})
	return v, err
}

func (c policyClient) Analyze(ctx context.Context, request abi.PolicyAnalyzeRequest) (v abi.PolicyAnalyzeResponse, err error) {
	err = call(ctx, c.caller, &policyAnalyze,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerPolicyAnalyzeRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftPolicyAnalyzeResponse(l, b, &v)
		})
	return v, err
}

func (c policyClient) AnalyzeStack(ctx context.Context, request abi.PolicyAnalyzeStackRequest) (v abi.PolicyAnalyzeResponse, err error) {
	err = call(ctx, c.caller, &policyAnalyzeStack,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerPolicyAnalyzeStackRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftPolicyAnalyzeResponse(l, b, &v)
		})
	return v, err
}

func (c policyClient) Cancel(ctx context.Context) error {
	return call(ctx, c.caller, &policyCancel,
		nil,
		nil)
}

type programClient struct{ caller Caller }

// NewProgram returns the program on the other side.
func NewProgram(caller Caller) abi.Program { return programClient{caller} }

func (c programClient) Run(ctx context.Context, request abi.ProgramRunRequest) (v abi.ProgramRunResponse, err error) {
	err = call(ctx, c.caller, &programRun,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerProgramRunRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftProgramRunResponse(l, b, &v)
		})
	return v, err
}

type logClient struct{ caller Caller }

// NewLog returns the log on the other side.
func NewLog(caller Caller) abi.Log { return logClient{caller} }

func (c logClient) Write(ctx context.Context, entry abi.LogEntry) {
	_ = call(ctx, c.caller, &logWrite,
		func(w *lowerer, b []byte) {
			w.enter("entry")
			lowerLogEntry(w, b, &entry)
			w.leave()
		},
		nil)
}

type controlClient struct{ caller Caller }

// NewControl returns the control on the other side.
func NewControl(caller Caller) abi.Control { return controlClient{caller} }

func (c controlClient) Cancelled(ctx context.Context) (v bool) {
	_ = call(ctx, c.caller, &controlCancelled,
		nil,
		func(l *lifter, b []byte) {
			v = l.bool(b, "")
		})
	return v
}

type httpClient struct{ caller Caller }

// NewHTTP returns the http on the other side.
func NewHTTP(caller Caller) abi.HTTP { return httpClient{caller} }

func (c httpClient) Send(ctx context.Context, request abi.HTTPRequest) (v abi.HTTPResponse, err error) {
	err = call(ctx, c.caller, &httpSend,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerHTTPRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftHTTPResponse(l, b, &v)
		})
	return v, err
}

func (c httpClient) Open(ctx context.Context, request abi.HTTPRequest) (v abi.HTTPExchange, err error) {
	err = call(ctx, c.caller, &httpOpen,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerHTTPRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			v = abi.HTTPExchange(u64(b))
		})
	return v, err
}

func (c httpClient) Write(ctx context.Context, exchange abi.HTTPExchange, data []byte) error {
	return call(ctx, c.caller, &httpWrite,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(exchange))
			w.bytes(b[8:], data, "data")
		},
		nil)
}

func (c httpClient) Finish(ctx context.Context, exchange abi.HTTPExchange) (v abi.HTTPResponseHead, err error) {
	err = call(ctx, c.caller, &httpFinish,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(exchange))
		},
		func(l *lifter, b []byte) {
			liftHTTPResponseHead(l, b, &v)
		})
	return v, err
}

func (c httpClient) Read(ctx context.Context, exchange abi.HTTPExchange, max uint32) (v abi.HTTPChunk, err error) {
	err = call(ctx, c.caller, &httpRead,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(exchange))
			putU32(b[8:], max)
		},
		func(l *lifter, b []byte) {
			liftHTTPChunk(l, b, &v)
		})
	return v, err
}

func (c httpClient) Close(ctx context.Context, exchange abi.HTTPExchange) {
	_ = call(ctx, c.caller, &httpClose,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(exchange))
		},
		nil)
}

func (c httpClient) Begin(ctx context.Context, request abi.HTTPRequest, whole bool) (v abi.HTTPExchange, err error) {
	err = call(ctx, c.caller, &httpBegin,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerHTTPRequest(w, b, &request)
			w.leave()
			w.bool(b[40:], whole)
		},
		func(l *lifter, b []byte) {
			v = abi.HTTPExchange(u64(b))
		})
	return v, err
}

func (c httpClient) Status(ctx context.Context, exchange abi.HTTPExchange) error {
	return call(ctx, c.caller, &httpStatus,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(exchange))
		},
		nil)
}

type tcpClient struct{ caller Caller }

// NewTCP returns the tcp on the other side.
func NewTCP(caller Caller) abi.TCP { return tcpClient{caller} }

func (c tcpClient) Connect(ctx context.Context, request abi.TCPConnectRequest) (v abi.TCPConnection, err error) {
	err = call(ctx, c.caller, &tcpConnect,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerTCPConnectRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			v = abi.TCPConnection(u64(b))
		})
	return v, err
}

func (c tcpClient) Read(ctx context.Context, connection abi.TCPConnection, max uint32, wait bool) (v []byte, err error) {
	err = call(ctx, c.caller, &tcpRead,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(connection))
			putU32(b[8:], max)
			w.bool(b[12:], wait)
		},
		func(l *lifter, b []byte) {
			v = l.bytes(b, "")
		})
	return v, err
}

func (c tcpClient) Write(ctx context.Context, connection abi.TCPConnection, data []byte) (v uint32, err error) {
	err = call(ctx, c.caller, &tcpWrite,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(connection))
			w.bytes(b[8:], data, "data")
		},
		func(l *lifter, b []byte) {
			v = u32(b)
		})
	return v, err
}

func (c tcpClient) CloseWrite(ctx context.Context, connection abi.TCPConnection) error {
	return call(ctx, c.caller, &tcpCloseWrite,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(connection))
		},
		nil)
}

func (c tcpClient) Close(ctx context.Context, connection abi.TCPConnection) {
	_ = call(ctx, c.caller, &tcpClose,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(connection))
		},
		nil)
}

func (c tcpClient) Begin(ctx context.Context, request abi.TCPConnectRequest) (v abi.TCPConnection, err error) {
	err = call(ctx, c.caller, &tcpBegin,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerTCPConnectRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			v = abi.TCPConnection(u64(b))
		})
	return v, err
}

func (c tcpClient) Resolve(ctx context.Context, name string, port uint16) (v abi.TCPConnection, err error) {
	err = call(ctx, c.caller, &tcpResolve,
		func(w *lowerer, b []byte) {
			w.string(b, name, "name")
			putU16(b[8:], port)
		},
		func(l *lifter, b []byte) {
			v = abi.TCPConnection(u64(b))
		})
	return v, err
}

func (c tcpClient) Status(ctx context.Context, connection abi.TCPConnection) error {
	return call(ctx, c.caller, &tcpStatus,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(connection))
		},
		nil)
}

type filesClient struct{ caller Caller }

// NewFiles returns the files on the other side.
func NewFiles(caller Caller) abi.Files { return filesClient{caller} }

func (c filesClient) SetMode(ctx context.Context, path string, mode uint32) error {
	return call(ctx, c.caller, &filesSetMode,
		func(w *lowerer, b []byte) {
			w.string(b, path, "path")
			putU32(b[8:], mode)
		},
		nil)
}

func (c filesClient) GetMode(ctx context.Context, path string) (v uint32, err error) {
	err = call(ctx, c.caller, &filesGetMode,
		func(w *lowerer, b []byte) {
			w.string(b, path, "path")
		},
		func(l *lifter, b []byte) {
			v = u32(b)
		})
	return v, err
}

type assetsClient struct{ caller Caller }

// NewAssets returns the assets on the other side.
func NewAssets(caller Caller) abi.Assets { return assetsClient{caller} }

func (c assetsClient) Open(ctx context.Context, hash string, form abi.AssetsForm) (v abi.AssetsContents, err error) {
	err = call(ctx, c.caller, &assetsOpen,
		func(w *lowerer, b []byte) {
			w.string(b, hash, "hash")
			w.enum(b[8:], uint8(form), 5, "form")
		},
		func(l *lifter, b []byte) {
			v = abi.AssetsContents(u64(b))
		})
	return v, err
}

func (c assetsClient) Read(ctx context.Context, contents abi.AssetsContents, max uint32) (v []byte, err error) {
	err = call(ctx, c.caller, &assetsRead,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(contents))
			putU32(b[8:], max)
		},
		func(l *lifter, b []byte) {
			v = l.bytes(b, "")
		})
	return v, err
}

func (c assetsClient) Close(ctx context.Context, contents abi.AssetsContents) {
	_ = call(ctx, c.caller, &assetsClose,
		func(w *lowerer, b []byte) {
			putU64(b, uint64(contents))
		},
		nil)
}

type kvClient struct{ caller Caller }

// NewKV returns the kv on the other side.
func NewKV(caller Caller) abi.KV { return kvClient{caller} }

func (c kvClient) Get(ctx context.Context, key string) (v abi.KVItem, err error) {
	err = call(ctx, c.caller, &kvGet,
		func(w *lowerer, b []byte) {
			w.string(b, key, "key")
		},
		func(l *lifter, b []byte) {
			liftKVItem(l, b, &v)
		})
	return v, err
}

func (c kvClient) Put(ctx context.Context, key string, value *[]byte, revision uint64) (v uint64, err error) {
	err = call(ctx, c.caller, &kvPut,
		func(w *lowerer, b []byte) {
			w.string(b, key, "key")
			if value != nil {
				b[8] = 1
				w.bytes(b[12:], *value, "value")
			}
			putU64(b[24:], revision)
		},
		func(l *lifter, b []byte) {
			v = u64(b)
		})
	return v, err
}

func (c kvClient) Keys(ctx context.Context, prefix string, after string, limit uint32) (v []string, err error) {
	err = call(ctx, c.caller, &kvKeys,
		func(w *lowerer, b []byte) {
			w.string(b, prefix, "prefix")
			w.string(b[8:], after, "after")
			putU32(b[16:], limit)
		},
		func(l *lifter, b []byte) {
			v = liftList(l, b, "", 8, 4, liftString[string])
		})
	return v, err
}

type monitorClient struct{ caller Caller }

// NewMonitor returns the monitor on the other side.
func NewMonitor(caller Caller) abi.Monitor { return monitorClient{caller} }

func (c monitorClient) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (v abi.RegisterResourceResponse, err error) {
	err = call(ctx, c.caller, &monitorRegisterResource,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerRegisterResourceRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftRegisterResourceResponse(l, b, &v)
		})
	return v, err
}

func (c monitorClient) RegisterOutputs(ctx context.Context, request abi.RegisterOutputsRequest) error {
	return call(ctx, c.caller, &monitorRegisterOutputs,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerRegisterOutputsRequest(w, b, &request)
			w.leave()
		},
		nil)
}

func (c monitorClient) ReadResource(ctx context.Context, request abi.ReadResourceRequest) (v abi.ReadResourceResponse, err error) {
	err = call(ctx, c.caller, &monitorReadResource,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerReadResourceRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftReadResourceResponse(l, b, &v)
		})
	return v, err
}

func (c monitorClient) Invoke(ctx context.Context, request abi.MonitorInvokeRequest) (v abi.MonitorInvokeResponse, err error) {
	err = call(ctx, c.caller, &monitorInvoke,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerMonitorInvokeRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftMonitorInvokeResponse(l, b, &v)
		})
	return v, err
}

func (c monitorClient) Call(ctx context.Context, request abi.MonitorCallRequest) (v abi.MonitorCallResponse, err error) {
	err = call(ctx, c.caller, &monitorCall,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerMonitorCallRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftMonitorCallResponse(l, b, &v)
		})
	return v, err
}

func (c monitorClient) RegisterPackage(ctx context.Context, request abi.RegisterPackageRequest) (v abi.RegisterPackageResponse, err error) {
	err = call(ctx, c.caller, &monitorRegisterPackage,
		func(w *lowerer, b []byte) {
			w.enter("request")
			lowerRegisterPackageRequest(w, b, &request)
			w.leave()
		},
		func(l *lifter, b []byte) {
			liftRegisterPackageResponse(l, b, &v)
		})
	return v, err
}

func (c monitorClient) Start(ctx context.Context, operation abi.Operation) (v abi.OperationHandle, err error) {
	err = call(ctx, c.caller, &monitorStart,
		func(w *lowerer, b []byte) {
			w.enter("operation")
			lowerOperation(w, b, &operation)
			w.leave()
		},
		func(l *lifter, b []byte) {
			v = abi.OperationHandle(u64(b))
		})
	return v, err
}

func (c monitorClient) Wait(ctx context.Context) (v abi.Completed, err error) {
	err = call(ctx, c.caller, &monitorWait,
		nil,
		func(l *lifter, b []byte) {
			liftCompleted(l, b, &v)
		})
	return v, err
}
