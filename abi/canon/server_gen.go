// Code generated from wit/ by witgen. DO NOT EDIT.

package canon

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

func serveProviderHandshake(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.HandshakeRequest
	l.enter("request")
	liftHandshakeRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Handshake(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerHandshakeResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderParameterize(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.ParameterizeRequest
	l.enter("request")
	liftParameterizeRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Parameterize(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerParameterizeResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderGetSchema(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.GetSchemaRequest
	l.enter("request")
	liftGetSchemaRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.GetSchema(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerGetSchemaResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderGetMapping(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.GetMappingRequest
	l.enter("request")
	liftGetMappingRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.GetMapping(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerGetMappingResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderGetMappings(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.GetMappingsRequest
	l.enter("request")
	liftGetMappingsRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.GetMappings(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerGetMappingsResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderCheckConfig(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.CheckRequest
	l.enter("request")
	liftCheckRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.CheckConfig(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerCheckResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderDiffConfig(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.DiffRequest
	l.enter("request")
	liftDiffRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.DiffConfig(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerDiffResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderConfigure(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.ConfigureRequest
	l.enter("request")
	liftConfigureRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	s.returned(p.Configure(ctx, request))
}

func serveProviderCheck(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.CheckRequest
	l.enter("request")
	liftCheckRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Check(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerCheckResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderDiff(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.DiffRequest
	l.enter("request")
	liftDiffRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Diff(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerDiffResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderCreate(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.CreateRequest
	l.enter("request")
	liftCreateRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Create(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerCreateResponse(w, b, &v)
		s.created(w, v.ID)
	}
}

func serveProviderRead(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.ReadRequest
	l.enter("request")
	liftReadRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Read(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerReadResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderUpdate(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.UpdateRequest
	l.enter("request")
	liftUpdateRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Update(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerUpdateResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderDelete(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.DeleteRequest
	l.enter("request")
	liftDeleteRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	s.returned(p.Delete(ctx, request))
}

func serveProviderList(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.ListRequest
	l.enter("request")
	liftListRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.List(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerListResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderInvoke(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.InvokeRequest
	l.enter("request")
	liftInvokeRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Invoke(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerInvokeResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderStreamInvoke(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.InvokeRequest
	l.enter("request")
	liftInvokeRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.StreamInvoke(ctx, request)
	if w, b := s.returned(err); w != nil {
		putU64(b, uint64(v))
		s.lowered(w)
	}
}

func serveProviderStreamNext(ctx context.Context, p abi.Provider, s *server) {
	b := s.params
	var stream abi.StreamHandle
	stream = abi.StreamHandle(u64(b))
	if !s.beginCall() {
		return
	}
	v, err := p.StreamNext(ctx, stream)
	if w, b := s.returned(err); w != nil {
		lowerStreamItem(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderStreamClose(ctx context.Context, p abi.Provider, s *server) {
	b := s.params
	var stream abi.StreamHandle
	stream = abi.StreamHandle(u64(b))
	if !s.beginCall() {
		return
	}
	s.returned(p.StreamClose(ctx, stream))
}

func serveProviderOpenEphemeral(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.OpenEphemeralRequest
	l.enter("request")
	liftOpenEphemeralRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.OpenEphemeral(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerOpenEphemeralResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderRenewEphemeral(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.RenewEphemeralRequest
	l.enter("request")
	liftRenewEphemeralRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.RenewEphemeral(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerRenewEphemeralResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderCloseEphemeral(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.CloseEphemeralRequest
	l.enter("request")
	liftCloseEphemeralRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	s.returned(p.CloseEphemeral(ctx, request))
}

func serveProviderRunAction(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.RunActionRequest
	l.enter("request")
	liftRunActionRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.RunAction(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerRunActionResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderExists(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.ExistsRequest
	l.enter("request")
	liftExistsRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Exists(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerExistsResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderCall(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.CallRequest
	l.enter("request")
	liftCallRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Call(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerCallResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderConstruct(ctx context.Context, p abi.Provider, s *server) {
	l, b := &s.lifter, s.params
	var request abi.ConstructRequest
	l.enter("request")
	liftConstructRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Construct(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerConstructResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveProviderCancel(ctx context.Context, p abi.Provider, s *server) {
	if !s.beginCall() {
		return
	}
	s.returned(p.Cancel(ctx))
}

func servePolicyHandshake(ctx context.Context, p abi.Policy, s *server) {
	l, b := &s.lifter, s.params
	var request abi.PolicyHandshakeRequest
	l.enter("request")
	liftPolicyHandshakeRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Handshake(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerPolicyHandshakeResponse(w, b, &v)
		s.lowered(w)
	}
}

func servePolicyConfigure(ctx context.Context, p abi.Policy, s *server) {
	l, b := &s.lifter, s.params
	var request abi.PolicyConfigureRequest
	l.enter("request")
	liftPolicyConfigureRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	s.returned(p.Configure(ctx, request))
}

func servePolicyRemediate(ctx context.Context, p abi.Policy, s *server) {
	l, b := &s.lifter, s.params
	var request abi.PolicyRemediateRequest
	l.enter("request")
	liftPolicyRemediateRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Remediate(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerPolicyRemediateResponse(w, b, &v)
		s.lowered(w)
	}
}

func servePolicyAnalyze(ctx context.Context, p abi.Policy, s *server) {
	l, b := &s.lifter, s.params
	var request abi.PolicyAnalyzeRequest
	l.enter("request")
	liftPolicyAnalyzeRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Analyze(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerPolicyAnalyzeResponse(w, b, &v)
		s.lowered(w)
	}
}

func servePolicyAnalyzeStack(ctx context.Context, p abi.Policy, s *server) {
	l, b := &s.lifter, s.params
	var request abi.PolicyAnalyzeStackRequest
	l.enter("request")
	liftPolicyAnalyzeStackRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.AnalyzeStack(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerPolicyAnalyzeResponse(w, b, &v)
		s.lowered(w)
	}
}

func servePolicyCancel(ctx context.Context, p abi.Policy, s *server) {
	if !s.beginCall() {
		return
	}
	s.returned(p.Cancel(ctx))
}

func serveProgramRun(ctx context.Context, p abi.Program, s *server) {
	l, b := &s.lifter, s.params
	var request abi.ProgramRunRequest
	l.enter("request")
	liftProgramRunRequest(l, b, &request)
	l.leave()
	if !s.beginCall() {
		return
	}
	v, err := p.Run(ctx, request)
	if w, b := s.returned(err); w != nil {
		lowerProgramRunResponse(w, b, &v)
		s.lowered(w)
	}
}

func serveLogWrite(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var entry abi.LogEntry
	l.enter("entry")
	liftLogEntry(l, b, &entry)
	l.leave()
	s.do(func() (err error) {
		if imports.Log == nil {
			return nil
		}
		imports.Log.Write(ctx, entry)
		return nil
	}, nil)
}

func serveControlCancelled(ctx context.Context, imports *Imports, s *server) {
	var v bool
	s.do(func() (err error) {
		if imports.Control == nil {
			return nil
		}
		v = imports.Control.Cancelled(ctx)
		return nil
	}, func(w *lowerer, b []byte) {
		w.bool(b, v)
	})
}

func serveHTTPSend(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.HTTPRequest
	l.enter("request")
	liftHTTPRequest(l, b, &request)
	l.leave()
	var v abi.HTTPResponse
	s.do(func() (err error) {
		if imports.HTTP == nil {
			return denied("http")
		}
		v, err = imports.HTTP.Send(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		lowerHTTPResponse(w, b, &v)
	})
}

func serveHTTPOpen(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.HTTPRequest
	l.enter("request")
	liftHTTPRequest(l, b, &request)
	l.leave()
	var v abi.HTTPExchange
	s.do(func() (err error) {
		if imports.HTTP == nil {
			return denied("http")
		}
		v, err = imports.HTTP.Open(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		putU64(b, uint64(v))
	})
}

func serveHTTPWrite(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var exchange abi.HTTPExchange
	exchange = abi.HTTPExchange(u64(b))
	var data []byte
	data = l.bytes(b[8:], "data")
	s.do(func() (err error) {
		if imports.HTTP == nil {
			return denied("http")
		}
		return imports.HTTP.Write(ctx, exchange, data)
	}, nil)
}

func serveHTTPFinish(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var exchange abi.HTTPExchange
	exchange = abi.HTTPExchange(u64(b))
	var v abi.HTTPResponseHead
	s.do(func() (err error) {
		if imports.HTTP == nil {
			return denied("http")
		}
		v, err = imports.HTTP.Finish(ctx, exchange)
		return err
	}, func(w *lowerer, b []byte) {
		lowerHTTPResponseHead(w, b, &v)
	})
}

func serveHTTPRead(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var exchange abi.HTTPExchange
	exchange = abi.HTTPExchange(u64(b))
	var max uint32
	max = u32(b[8:])
	var v abi.HTTPChunk
	s.do(func() (err error) {
		if imports.HTTP == nil {
			return denied("http")
		}
		v, err = imports.HTTP.Read(ctx, exchange, max)
		return err
	}, func(w *lowerer, b []byte) {
		lowerHTTPChunk(w, b, &v)
	})
}

func serveHTTPClose(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var exchange abi.HTTPExchange
	exchange = abi.HTTPExchange(u64(b))
	s.do(func() (err error) {
		if imports.HTTP == nil {
			return nil
		}
		imports.HTTP.Close(ctx, exchange)
		return nil
	}, nil)
}

func serveHTTPBegin(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.HTTPRequest
	l.enter("request")
	liftHTTPRequest(l, b, &request)
	l.leave()
	var whole bool
	whole = l.bool(b[40:], "whole")
	var v abi.HTTPExchange
	s.do(func() (err error) {
		if imports.HTTP == nil {
			return denied("http")
		}
		v, err = imports.HTTP.Begin(ctx, request, whole)
		return err
	}, func(w *lowerer, b []byte) {
		putU64(b, uint64(v))
	})
}

func serveHTTPStatus(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var exchange abi.HTTPExchange
	exchange = abi.HTTPExchange(u64(b))
	s.do(func() (err error) {
		if imports.HTTP == nil {
			return denied("http")
		}
		return imports.HTTP.Status(ctx, exchange)
	}, nil)
}

func serveTCPConnect(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.TCPConnectRequest
	l.enter("request")
	liftTCPConnectRequest(l, b, &request)
	l.leave()
	var v abi.TCPConnection
	s.do(func() (err error) {
		if imports.TCP == nil {
			return denied("tcp")
		}
		v, err = imports.TCP.Connect(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		putU64(b, uint64(v))
	})
}

func serveTCPRead(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var connection abi.TCPConnection
	connection = abi.TCPConnection(u64(b))
	var max uint32
	max = u32(b[8:])
	var wait bool
	wait = l.bool(b[12:], "wait")
	var v []byte
	s.do(func() (err error) {
		if imports.TCP == nil {
			return denied("tcp")
		}
		v, err = imports.TCP.Read(ctx, connection, max, wait)
		return err
	}, func(w *lowerer, b []byte) {
		w.bytes(b, v, "")
	})
}

func serveTCPWrite(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var connection abi.TCPConnection
	connection = abi.TCPConnection(u64(b))
	var data []byte
	data = l.bytes(b[8:], "data")
	var v uint32
	s.do(func() (err error) {
		if imports.TCP == nil {
			return denied("tcp")
		}
		v, err = imports.TCP.Write(ctx, connection, data)
		return err
	}, func(w *lowerer, b []byte) {
		putU32(b, v)
	})
}

func serveTCPCloseWrite(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var connection abi.TCPConnection
	connection = abi.TCPConnection(u64(b))
	s.do(func() (err error) {
		if imports.TCP == nil {
			return denied("tcp")
		}
		return imports.TCP.CloseWrite(ctx, connection)
	}, nil)
}

func serveTCPClose(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var connection abi.TCPConnection
	connection = abi.TCPConnection(u64(b))
	s.do(func() (err error) {
		if imports.TCP == nil {
			return nil
		}
		imports.TCP.Close(ctx, connection)
		return nil
	}, nil)
}

func serveTCPBegin(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.TCPConnectRequest
	l.enter("request")
	liftTCPConnectRequest(l, b, &request)
	l.leave()
	var v abi.TCPConnection
	s.do(func() (err error) {
		if imports.TCP == nil {
			return denied("tcp")
		}
		v, err = imports.TCP.Begin(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		putU64(b, uint64(v))
	})
}

func serveTCPResolve(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var name string
	name = l.string(b, "name")
	var port uint16
	port = u16(b[8:])
	var v abi.TCPConnection
	s.do(func() (err error) {
		if imports.TCP == nil {
			return denied("tcp")
		}
		v, err = imports.TCP.Resolve(ctx, name, port)
		return err
	}, func(w *lowerer, b []byte) {
		putU64(b, uint64(v))
	})
}

func serveTCPStatus(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var connection abi.TCPConnection
	connection = abi.TCPConnection(u64(b))
	s.do(func() (err error) {
		if imports.TCP == nil {
			return denied("tcp")
		}
		return imports.TCP.Status(ctx, connection)
	}, nil)
}

func serveFilesSetMode(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var path string
	path = l.string(b, "path")
	var mode uint32
	mode = u32(b[8:])
	s.do(func() (err error) {
		if imports.Files == nil {
			return denied("files")
		}
		return imports.Files.SetMode(ctx, path, mode)
	}, nil)
}

func serveFilesGetMode(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var path string
	path = l.string(b, "path")
	var v uint32
	s.do(func() (err error) {
		if imports.Files == nil {
			return denied("files")
		}
		v, err = imports.Files.GetMode(ctx, path)
		return err
	}, func(w *lowerer, b []byte) {
		putU32(b, v)
	})
}

func serveAssetsOpen(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var hash string
	hash = l.string(b, "hash")
	var form abi.AssetsForm
	form = abi.AssetsForm(l.enum(b[8:], 5, "form"))
	var v abi.AssetsContents
	s.do(func() (err error) {
		if imports.Assets == nil {
			return denied("assets")
		}
		v, err = imports.Assets.Open(ctx, hash, form)
		return err
	}, func(w *lowerer, b []byte) {
		putU64(b, uint64(v))
	})
}

func serveAssetsRead(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var contents abi.AssetsContents
	contents = abi.AssetsContents(u64(b))
	var max uint32
	max = u32(b[8:])
	var v []byte
	s.do(func() (err error) {
		if imports.Assets == nil {
			return denied("assets")
		}
		v, err = imports.Assets.Read(ctx, contents, max)
		return err
	}, func(w *lowerer, b []byte) {
		w.bytes(b, v, "")
	})
}

func serveAssetsClose(ctx context.Context, imports *Imports, s *server) {
	b := s.params
	var contents abi.AssetsContents
	contents = abi.AssetsContents(u64(b))
	s.do(func() (err error) {
		if imports.Assets == nil {
			return nil
		}
		imports.Assets.Close(ctx, contents)
		return nil
	}, nil)
}

func serveKVGet(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var key string
	key = l.string(b, "key")
	var v abi.KVItem
	s.do(func() (err error) {
		if imports.KV == nil {
			return denied("kv")
		}
		v, err = imports.KV.Get(ctx, key)
		return err
	}, func(w *lowerer, b []byte) {
		lowerKVItem(w, b, &v)
	})
}

func serveKVPut(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var key string
	key = l.string(b, "key")
	var value *[]byte
	if l.some(b[8:], "value") {
		value = new(l.bytes(b[12:], "value"))
	}
	var revision uint64
	revision = u64(b[24:])
	var v uint64
	s.do(func() (err error) {
		if imports.KV == nil {
			return denied("kv")
		}
		v, err = imports.KV.Put(ctx, key, value, revision)
		return err
	}, func(w *lowerer, b []byte) {
		putU64(b, v)
	})
}

func serveKVKeys(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var prefix string
	prefix = l.string(b, "prefix")
	var after string
	after = l.string(b[8:], "after")
	var limit uint32
	limit = u32(b[16:])
	var v []string
	s.do(func() (err error) {
		if imports.KV == nil {
			return denied("kv")
		}
		v, err = imports.KV.Keys(ctx, prefix, after, limit)
		return err
	}, func(w *lowerer, b []byte) {
		lowerStrings(w, b, v, "")
	})
}

func serveMonitorRegisterResource(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.RegisterResourceRequest
	l.enter("request")
	liftRegisterResourceRequest(l, b, &request)
	l.leave()
	var v abi.RegisterResourceResponse
	s.do(func() (err error) {
		if imports.Monitor == nil {
			return denied("monitor")
		}
		v, err = imports.Monitor.RegisterResource(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		lowerRegisterResourceResponse(w, b, &v)
	})
}

func serveMonitorRegisterOutputs(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.RegisterOutputsRequest
	l.enter("request")
	liftRegisterOutputsRequest(l, b, &request)
	l.leave()
	s.do(func() (err error) {
		if imports.Monitor == nil {
			return denied("monitor")
		}
		return imports.Monitor.RegisterOutputs(ctx, request)
	}, nil)
}

func serveMonitorReadResource(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.ReadResourceRequest
	l.enter("request")
	liftReadResourceRequest(l, b, &request)
	l.leave()
	var v abi.ReadResourceResponse
	s.do(func() (err error) {
		if imports.Monitor == nil {
			return denied("monitor")
		}
		v, err = imports.Monitor.ReadResource(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		lowerReadResourceResponse(w, b, &v)
	})
}

func serveMonitorInvoke(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.MonitorInvokeRequest
	l.enter("request")
	liftMonitorInvokeRequest(l, b, &request)
	l.leave()
	var v abi.MonitorInvokeResponse
	s.do(func() (err error) {
		if imports.Monitor == nil {
			return denied("monitor")
		}
		v, err = imports.Monitor.Invoke(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		lowerMonitorInvokeResponse(w, b, &v)
	})
}

func serveMonitorCall(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.MonitorCallRequest
	l.enter("request")
	liftMonitorCallRequest(l, b, &request)
	l.leave()
	var v abi.MonitorCallResponse
	s.do(func() (err error) {
		if imports.Monitor == nil {
			return denied("monitor")
		}
		v, err = imports.Monitor.Call(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		lowerMonitorCallResponse(w, b, &v)
	})
}

func serveMonitorRegisterPackage(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var request abi.RegisterPackageRequest
	l.enter("request")
	liftRegisterPackageRequest(l, b, &request)
	l.leave()
	var v abi.RegisterPackageResponse
	s.do(func() (err error) {
		if imports.Monitor == nil {
			return denied("monitor")
		}
		v, err = imports.Monitor.RegisterPackage(ctx, request)
		return err
	}, func(w *lowerer, b []byte) {
		lowerRegisterPackageResponse(w, b, &v)
	})
}

func serveMonitorStart(ctx context.Context, imports *Imports, s *server) {
	l, b := &s.lifter, s.params
	var operation abi.Operation
	l.enter("operation")
	liftOperation(l, b, &operation)
	l.leave()
	var v abi.OperationHandle
	s.do(func() (err error) {
		if imports.Monitor == nil {
			return denied("monitor")
		}
		v, err = imports.Monitor.Start(ctx, operation)
		return err
	}, func(w *lowerer, b []byte) {
		putU64(b, uint64(v))
	})
}

func serveMonitorWait(ctx context.Context, imports *Imports, s *server) {
	var v abi.Completed
	s.do(func() (err error) {
		if imports.Monitor == nil {
			return denied("monitor")
		}
		v, err = imports.Monitor.Wait(ctx)
		return err
	}, func(w *lowerer, b []byte) {
		lowerCompleted(w, b, &v)
	})
}

// providerServers serves the functions of providerFunctions.
var providerServers = [...]func(context.Context, abi.Provider, *server){
	serveProviderHandshake,
	serveProviderParameterize,
	serveProviderGetSchema,
	serveProviderGetMapping,
	serveProviderGetMappings,
	serveProviderCheckConfig,
	serveProviderDiffConfig,
	serveProviderConfigure,
	serveProviderCheck,
	serveProviderDiff,
	serveProviderCreate,
	serveProviderRead,
	serveProviderUpdate,
	serveProviderDelete,
	serveProviderList,
	serveProviderInvoke,
	serveProviderStreamInvoke,
	serveProviderStreamNext,
	serveProviderStreamClose,
	serveProviderOpenEphemeral,
	serveProviderRenewEphemeral,
	serveProviderCloseEphemeral,
	serveProviderRunAction,
	serveProviderExists,
	serveProviderCall,
	serveProviderConstruct,
	serveProviderCancel,
}

// policyServers serves the functions of policyFunctions.
var policyServers = [...]func(context.Context, abi.Policy, *server){
	servePolicyHandshake,
	servePolicyConfigure,
	servePolicyRemediate,
	servePolicyAnalyze,
	servePolicyAnalyzeStack,
	servePolicyCancel,
}

// programServers serves the functions of programFunctions.
var programServers = [...]func(context.Context, abi.Program, *server){
	serveProgramRun,
}

// importServers serves what modules import.
var importServers = [...]importServer{
	{&logWrite, serveLogWrite},
	{&controlCancelled, serveControlCancelled},
	{&httpSend, serveHTTPSend},
	{&httpOpen, serveHTTPOpen},
	{&httpWrite, serveHTTPWrite},
	{&httpFinish, serveHTTPFinish},
	{&httpRead, serveHTTPRead},
	{&httpClose, serveHTTPClose},
	{&httpBegin, serveHTTPBegin},
	{&httpStatus, serveHTTPStatus},
	{&tcpConnect, serveTCPConnect},
	{&tcpRead, serveTCPRead},
	{&tcpWrite, serveTCPWrite},
	{&tcpCloseWrite, serveTCPCloseWrite},
	{&tcpClose, serveTCPClose},
	{&tcpBegin, serveTCPBegin},
	{&tcpResolve, serveTCPResolve},
	{&tcpStatus, serveTCPStatus},
	{&filesSetMode, serveFilesSetMode},
	{&filesGetMode, serveFilesGetMode},
	{&assetsOpen, serveAssetsOpen},
	{&assetsRead, serveAssetsRead},
	{&assetsClose, serveAssetsClose},
	{&kvGet, serveKVGet},
	{&kvPut, serveKVPut},
	{&kvKeys, serveKVKeys},
	{&monitorRegisterResource, serveMonitorRegisterResource},
	{&monitorRegisterOutputs, serveMonitorRegisterOutputs},
	{&monitorReadResource, serveMonitorReadResource},
	{&monitorInvoke, serveMonitorInvoke},
	{&monitorCall, serveMonitorCall},
	{&monitorRegisterPackage, serveMonitorRegisterPackage},
	{&monitorStart, serveMonitorStart},
	{&monitorWait, serveMonitorWait},
}
