// Code generated from wit/ by witgen. DO NOT EDIT.

package canontest

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

func (e EchoProvider) Handshake(ctx context.Context, request abi.HandshakeRequest) (v abi.HandshakeResponse, err error) {
	err = e.answer(ctx, "provider.handshake", &v, request)
	return v, err
}

func (e EchoProvider) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (v abi.ParameterizeResponse, err error) {
	err = e.answer(ctx, "provider.parameterize", &v, request)
	return v, err
}

func (e EchoProvider) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (v abi.GetSchemaResponse, err error) {
	err = e.answer(ctx, "provider.get-schema", &v, request)
	return v, err
}

func (e EchoProvider) GetMapping(ctx context.Context, request abi.GetMappingRequest) (v abi.GetMappingResponse, err error) {
	err = e.answer(ctx, "provider.get-mapping", &v, request)
	return v, err
}

func (e EchoProvider) GetMappings(ctx context.Context, request abi.GetMappingsRequest) (v abi.GetMappingsResponse, err error) {
	err = e.answer(ctx, "provider.get-mappings", &v, request)
	return v, err
}

func (e EchoProvider) CheckConfig(ctx context.Context, request abi.CheckRequest) (v abi.CheckResponse, err error) {
	err = e.answer(ctx, "provider.check-config", &v, request)
	return v, err
}

func (e EchoProvider) DiffConfig(ctx context.Context, request abi.DiffRequest) (v abi.DiffResponse, err error) {
	err = e.answer(ctx, "provider.diff-config", &v, request)
	return v, err
}

func (e EchoProvider) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	return e.answer(ctx, "provider.configure", nil, request)
}

func (e EchoProvider) Check(ctx context.Context, request abi.CheckRequest) (v abi.CheckResponse, err error) {
	err = e.answer(ctx, "provider.check", &v, request)
	return v, err
}

func (e EchoProvider) Diff(ctx context.Context, request abi.DiffRequest) (v abi.DiffResponse, err error) {
	err = e.answer(ctx, "provider.diff", &v, request)
	return v, err
}

func (e EchoProvider) Create(ctx context.Context, request abi.CreateRequest) (v abi.CreateResponse, err error) {
	err = e.answer(ctx, "provider.create", &v, request)
	return v, err
}

func (e EchoProvider) Read(ctx context.Context, request abi.ReadRequest) (v abi.ReadResponse, err error) {
	err = e.answer(ctx, "provider.read", &v, request)
	return v, err
}

func (e EchoProvider) Update(ctx context.Context, request abi.UpdateRequest) (v abi.UpdateResponse, err error) {
	err = e.answer(ctx, "provider.update", &v, request)
	return v, err
}

func (e EchoProvider) Delete(ctx context.Context, request abi.DeleteRequest) error {
	return e.answer(ctx, "provider.delete", nil, request)
}

func (e EchoProvider) List(ctx context.Context, request abi.ListRequest) (v abi.ListResponse, err error) {
	err = e.answer(ctx, "provider.list", &v, request)
	return v, err
}

func (e EchoProvider) Invoke(ctx context.Context, request abi.InvokeRequest) (v abi.InvokeResponse, err error) {
	err = e.answer(ctx, "provider.invoke", &v, request)
	return v, err
}

func (e EchoProvider) StreamInvoke(ctx context.Context, request abi.InvokeRequest) (v abi.StreamHandle, err error) {
	err = e.answer(ctx, "provider.stream-invoke", &v, request)
	return v, err
}

func (e EchoProvider) StreamNext(ctx context.Context, stream abi.StreamHandle) (v abi.StreamItem, err error) {
	err = e.answer(ctx, "provider.stream-next", &v, stream)
	return v, err
}

func (e EchoProvider) StreamClose(ctx context.Context, stream abi.StreamHandle) error {
	return e.answer(ctx, "provider.stream-close", nil, stream)
}

func (e EchoProvider) OpenEphemeral(ctx context.Context, request abi.OpenEphemeralRequest) (v abi.OpenEphemeralResponse, err error) {
	err = e.answer(ctx, "provider.open-ephemeral", &v, request)
	return v, err
}

func (e EchoProvider) RenewEphemeral(ctx context.Context, request abi.RenewEphemeralRequest) (v abi.RenewEphemeralResponse, err error) {
	err = e.answer(ctx, "provider.renew-ephemeral", &v, request)
	return v, err
}

func (e EchoProvider) CloseEphemeral(ctx context.Context, request abi.CloseEphemeralRequest) error {
	return e.answer(ctx, "provider.close-ephemeral", nil, request)
}

func (e EchoProvider) RunAction(ctx context.Context, request abi.RunActionRequest) (v abi.RunActionResponse, err error) {
	err = e.answer(ctx, "provider.run-action", &v, request)
	return v, err
}

func (e EchoProvider) Exists(ctx context.Context, request abi.ExistsRequest) (v abi.ExistsResponse, err error) {
	err = e.answer(ctx, "provider.exists", &v, request)
	return v, err
}

func (e EchoProvider) Call(ctx context.Context, request abi.CallRequest) (v abi.CallResponse, err error) {
	err = e.answer(ctx, "provider.call", &v, request)
	return v, err
}

func (e EchoProvider) Construct(ctx context.Context, request abi.ConstructRequest) (v abi.ConstructResponse, err error) {
	err = e.answer(ctx, "provider.construct", &v, request)
	return v, err
}

func (e EchoProvider) Cancel(ctx context.Context) error {
	return e.answer(ctx, "provider.cancel", nil)
}

func (e EchoPolicy) Handshake(ctx context.Context, request abi.PolicyHandshakeRequest) (v abi.PolicyHandshakeResponse, err error) {
	err = e.answer(ctx, "policy.handshake", &v, request)
	return v, err
}

func (e EchoPolicy) Configure(ctx context.Context, request abi.PolicyConfigureRequest) error {
	return e.answer(ctx, "policy.configure", nil, request)
}

func (e EchoPolicy) Remediate(ctx context.Context, request abi.PolicyRemediateRequest) (v abi.PolicyRemediateResponse, err error) {
	err = e.answer(ctx, "policy.remediate", &v, request)
	return v, err
}

func (e EchoPolicy) Analyze(ctx context.Context, request abi.PolicyAnalyzeRequest) (v abi.PolicyAnalyzeResponse, err error) {
	err = e.answer(ctx, "policy.analyze", &v, request)
	return v, err
}

func (e EchoPolicy) AnalyzeStack(ctx context.Context, request abi.PolicyAnalyzeStackRequest) (v abi.PolicyAnalyzeResponse, err error) {
	err = e.answer(ctx, "policy.analyze-stack", &v, request)
	return v, err
}

func (e EchoPolicy) Cancel(ctx context.Context) error {
	return e.answer(ctx, "policy.cancel", nil)
}

func (e EchoProgram) Run(ctx context.Context, request abi.ProgramRunRequest) (v abi.ProgramRunResponse, err error) {
	err = e.answer(ctx, "program.run", &v, request)
	return v, err
}

// EchoLog is the log of a host that echoes.
type EchoLog struct{ echo }

func (e EchoLog) Write(ctx context.Context, entry abi.LogEntry) {
	e.tell("log.write", nil, entry)
}

// EchoControl is the control of a host that echoes.
type EchoControl struct{ echo }

func (e EchoControl) Cancelled(ctx context.Context) (v bool) {
	e.tell("control.cancelled", &v)
	return v
}

// EchoHTTP is the http of a host that echoes.
type EchoHTTP struct{ echo }

func (e EchoHTTP) Send(ctx context.Context, request abi.HTTPRequest) (v abi.HTTPResponse, err error) {
	err = e.answer("http.send", &v, request)
	return v, err
}

func (e EchoHTTP) Open(ctx context.Context, request abi.HTTPRequest) (v abi.HTTPExchange, err error) {
	err = e.answer("http.open", &v, request)
	return v, err
}

func (e EchoHTTP) Write(ctx context.Context, exchange abi.HTTPExchange, data []byte) error {
	return e.answer("http.write", nil, exchange, data)
}

func (e EchoHTTP) Finish(ctx context.Context, exchange abi.HTTPExchange) (v abi.HTTPResponseHead, err error) {
	err = e.answer("http.finish", &v, exchange)
	return v, err
}

func (e EchoHTTP) Read(ctx context.Context, exchange abi.HTTPExchange, max uint32) (v abi.HTTPChunk, err error) {
	err = e.answer("http.read", &v, exchange, max)
	return v, err
}

func (e EchoHTTP) Close(ctx context.Context, exchange abi.HTTPExchange) {
	e.tell("http.close", nil, exchange)
}

func (e EchoHTTP) Begin(ctx context.Context, request abi.HTTPRequest, whole bool) (v abi.HTTPExchange, err error) {
	err = e.answer("http.begin", &v, request, whole)
	return v, err
}

func (e EchoHTTP) Status(ctx context.Context, exchange abi.HTTPExchange) error {
	return e.answer("http.status", nil, exchange)
}

// EchoTCP is the tcp of a host that echoes.
type EchoTCP struct{ echo }

func (e EchoTCP) Connect(ctx context.Context, request abi.TCPConnectRequest) (v abi.TCPConnection, err error) {
	err = e.answer("tcp.connect", &v, request)
	return v, err
}

func (e EchoTCP) Read(ctx context.Context, connection abi.TCPConnection, max uint32, wait bool) (v []byte, err error) {
	err = e.answer("tcp.read", &v, connection, max, wait)
	return v, err
}

func (e EchoTCP) Write(ctx context.Context, connection abi.TCPConnection, data []byte) (v uint32, err error) {
	err = e.answer("tcp.write", &v, connection, data)
	return v, err
}

func (e EchoTCP) CloseWrite(ctx context.Context, connection abi.TCPConnection) error {
	return e.answer("tcp.close-write", nil, connection)
}

func (e EchoTCP) Close(ctx context.Context, connection abi.TCPConnection) {
	e.tell("tcp.close", nil, connection)
}

func (e EchoTCP) Begin(ctx context.Context, request abi.TCPConnectRequest) (v abi.TCPConnection, err error) {
	err = e.answer("tcp.begin", &v, request)
	return v, err
}

func (e EchoTCP) Resolve(ctx context.Context, name string, port uint16) (v abi.TCPConnection, err error) {
	err = e.answer("tcp.resolve", &v, name, port)
	return v, err
}

func (e EchoTCP) Status(ctx context.Context, connection abi.TCPConnection) error {
	return e.answer("tcp.status", nil, connection)
}

// EchoFiles is the files of a host that echoes.
type EchoFiles struct{ echo }

func (e EchoFiles) SetMode(ctx context.Context, path string, mode uint32) error {
	return e.answer("files.set-mode", nil, path, mode)
}

func (e EchoFiles) GetMode(ctx context.Context, path string) (v uint32, err error) {
	err = e.answer("files.get-mode", &v, path)
	return v, err
}

// EchoAssets is the assets of a host that echoes.
type EchoAssets struct{ echo }

func (e EchoAssets) Open(ctx context.Context, hash string, form abi.AssetsForm) (v abi.AssetsContents, err error) {
	err = e.answer("assets.open", &v, hash, form)
	return v, err
}

func (e EchoAssets) Read(ctx context.Context, contents abi.AssetsContents, max uint32) (v []byte, err error) {
	err = e.answer("assets.read", &v, contents, max)
	return v, err
}

func (e EchoAssets) Close(ctx context.Context, contents abi.AssetsContents) {
	e.tell("assets.close", nil, contents)
}

// EchoKV is the kv of a host that echoes.
type EchoKV struct{ echo }

func (e EchoKV) Get(ctx context.Context, key string) (v abi.KVItem, err error) {
	err = e.answer("kv.get", &v, key)
	return v, err
}

func (e EchoKV) Put(ctx context.Context, key string, value *[]byte, revision uint64) (v uint64, err error) {
	err = e.answer("kv.put", &v, key, value, revision)
	return v, err
}

func (e EchoKV) Keys(ctx context.Context, prefix string, after string, limit uint32) (v []string, err error) {
	err = e.answer("kv.keys", &v, prefix, after, limit)
	return v, err
}

// EchoMonitor is the monitor of a host that echoes.
type EchoMonitor struct{ echo }

func (e EchoMonitor) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (v abi.RegisterResourceResponse, err error) {
	err = e.answer("monitor.register-resource", &v, request)
	return v, err
}

func (e EchoMonitor) RegisterOutputs(ctx context.Context, request abi.RegisterOutputsRequest) error {
	return e.answer("monitor.register-outputs", nil, request)
}

func (e EchoMonitor) ReadResource(ctx context.Context, request abi.ReadResourceRequest) (v abi.ReadResourceResponse, err error) {
	err = e.answer("monitor.read-resource", &v, request)
	return v, err
}

func (e EchoMonitor) Invoke(ctx context.Context, request abi.MonitorInvokeRequest) (v abi.MonitorInvokeResponse, err error) {
	err = e.answer("monitor.invoke", &v, request)
	return v, err
}

func (e EchoMonitor) Call(ctx context.Context, request abi.MonitorCallRequest) (v abi.MonitorCallResponse, err error) {
	err = e.answer("monitor.call", &v, request)
	return v, err
}

func (e EchoMonitor) RegisterPackage(ctx context.Context, request abi.RegisterPackageRequest) (v abi.RegisterPackageResponse, err error) {
	err = e.answer("monitor.register-package", &v, request)
	return v, err
}

func (e EchoMonitor) Start(ctx context.Context, operation abi.Operation) (v abi.OperationHandle, err error) {
	err = e.answer("monitor.start", &v, operation)
	return v, err
}

func (e EchoMonitor) Wait(ctx context.Context) (v abi.Completed, err error) {
	err = e.answer("monitor.wait", &v)
	return v, err
}

// callHost calls the functions of a host with drawn parameters and shows the results.
var callHost = [...]func(context.Context, Host, Draw) string{
	func(ctx context.Context, host Host, draw Draw) string {
		var entry abi.LogEntry
		Fill(draw, &entry)
		host.Log.Write(ctx, entry)
		return ""
	},
	func(ctx context.Context, host Host, draw Draw) string {
		return Dump(host.Control.Cancelled(ctx))
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.HTTPRequest
		Fill(draw, &request)
		v, err := host.HTTP.Send(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.HTTPRequest
		Fill(draw, &request)
		v, err := host.HTTP.Open(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var exchange abi.HTTPExchange
		Fill(draw, &exchange)
		var data []byte
		Fill(draw, &data)
		return Dump(host.HTTP.Write(ctx, exchange, data))
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var exchange abi.HTTPExchange
		Fill(draw, &exchange)
		v, err := host.HTTP.Finish(ctx, exchange)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var exchange abi.HTTPExchange
		Fill(draw, &exchange)
		var max uint32
		Fill(draw, &max)
		v, err := host.HTTP.Read(ctx, exchange, max)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var exchange abi.HTTPExchange
		Fill(draw, &exchange)
		host.HTTP.Close(ctx, exchange)
		return ""
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.HTTPRequest
		Fill(draw, &request)
		var whole bool
		Fill(draw, &whole)
		v, err := host.HTTP.Begin(ctx, request, whole)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var exchange abi.HTTPExchange
		Fill(draw, &exchange)
		return Dump(host.HTTP.Status(ctx, exchange))
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.TCPConnectRequest
		Fill(draw, &request)
		v, err := host.TCP.Connect(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var connection abi.TCPConnection
		Fill(draw, &connection)
		var max uint32
		Fill(draw, &max)
		var wait bool
		Fill(draw, &wait)
		v, err := host.TCP.Read(ctx, connection, max, wait)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var connection abi.TCPConnection
		Fill(draw, &connection)
		var data []byte
		Fill(draw, &data)
		v, err := host.TCP.Write(ctx, connection, data)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var connection abi.TCPConnection
		Fill(draw, &connection)
		return Dump(host.TCP.CloseWrite(ctx, connection))
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var connection abi.TCPConnection
		Fill(draw, &connection)
		host.TCP.Close(ctx, connection)
		return ""
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.TCPConnectRequest
		Fill(draw, &request)
		v, err := host.TCP.Begin(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var name string
		Fill(draw, &name)
		var port uint16
		Fill(draw, &port)
		v, err := host.TCP.Resolve(ctx, name, port)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var connection abi.TCPConnection
		Fill(draw, &connection)
		return Dump(host.TCP.Status(ctx, connection))
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var path string
		Fill(draw, &path)
		var mode uint32
		Fill(draw, &mode)
		return Dump(host.Files.SetMode(ctx, path, mode))
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var path string
		Fill(draw, &path)
		v, err := host.Files.GetMode(ctx, path)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var hash string
		Fill(draw, &hash)
		var form abi.AssetsForm
		Fill(draw, &form)
		v, err := host.Assets.Open(ctx, hash, form)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var contents abi.AssetsContents
		Fill(draw, &contents)
		var max uint32
		Fill(draw, &max)
		v, err := host.Assets.Read(ctx, contents, max)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var contents abi.AssetsContents
		Fill(draw, &contents)
		host.Assets.Close(ctx, contents)
		return ""
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var key string
		Fill(draw, &key)
		v, err := host.KV.Get(ctx, key)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var key string
		Fill(draw, &key)
		var value *[]byte
		Fill(draw, &value)
		var revision uint64
		Fill(draw, &revision)
		v, err := host.KV.Put(ctx, key, value, revision)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var prefix string
		Fill(draw, &prefix)
		var after string
		Fill(draw, &after)
		var limit uint32
		Fill(draw, &limit)
		v, err := host.KV.Keys(ctx, prefix, after, limit)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.RegisterResourceRequest
		Fill(draw, &request)
		v, err := host.Monitor.RegisterResource(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.RegisterOutputsRequest
		Fill(draw, &request)
		return Dump(host.Monitor.RegisterOutputs(ctx, request))
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.ReadResourceRequest
		Fill(draw, &request)
		v, err := host.Monitor.ReadResource(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.MonitorInvokeRequest
		Fill(draw, &request)
		v, err := host.Monitor.Invoke(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.MonitorCallRequest
		Fill(draw, &request)
		v, err := host.Monitor.Call(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var request abi.RegisterPackageRequest
		Fill(draw, &request)
		v, err := host.Monitor.RegisterPackage(ctx, request)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		var operation abi.Operation
		Fill(draw, &operation)
		v, err := host.Monitor.Start(ctx, operation)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
	func(ctx context.Context, host Host, draw Draw) string {
		v, err := host.Monitor.Wait(ctx)
		if err != nil {
			return Dump(err)
		}
		return Dump(v)
	},
}
