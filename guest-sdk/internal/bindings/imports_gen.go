// Code generated from wit/ by witgen. DO NOT EDIT.

//go:build wasip1

package bindings

import (
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
)

//go:wasmimport husk:provider/log@0.2.0 write
func logWrite(p0, p1, p2, p3, p4, p5 uint32)

// Log returns the host's log.
func Log() abi.Log {
	return canon.NewLog(caller(func(function int, args []uint64) uint64 {
		switch function {
		case 0:
			logWrite(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]), uint32(args[5]))
		}
		return 0
	}))
}

//go:wasmimport husk:provider/control@0.2.0 cancelled
func controlCancelled() uint32

// Control returns the host's control.
func Control() abi.Control {
	return canon.NewControl(caller(func(function int, args []uint64) uint64 {
		switch function {
		case 0:
			return uint64(controlCancelled())
		}
		return 0
	}))
}

//go:wasmimport husk:provider/http@0.2.0 send
func httpSend(p0, p1, p2, p3, p4, p5, p6, p7 uint32, p8 uint64, p9 uint32)

//go:wasmimport husk:provider/http@0.2.0 open
func httpOpen(p0, p1, p2, p3, p4, p5, p6, p7 uint32, p8 uint64, p9 uint32)

//go:wasmimport husk:provider/http@0.2.0 write
func httpWrite(p0 uint64, p1, p2, p3 uint32)

//go:wasmimport husk:provider/http@0.2.0 finish
func httpFinish(p0 uint64, p1 uint32)

//go:wasmimport husk:provider/http@0.2.0 read
func httpRead(p0 uint64, p1, p2 uint32)

//go:wasmimport husk:provider/http@0.2.0 close
func httpClose(p0 uint64)

//go:wasmimport husk:provider/http@0.2.0 begin
func httpBegin(p0, p1, p2, p3, p4, p5, p6, p7 uint32, p8 uint64, p9, p10 uint32)

//go:wasmimport husk:provider/http@0.2.0 status
func httpStatus(p0 uint64, p1 uint32)

// HTTP returns the host's http.
func HTTP() abi.HTTP {
	return canon.NewHTTP(caller(func(function int, args []uint64) uint64 {
		switch function {
		case 0:
			httpSend(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]), uint32(args[5]), uint32(args[6]), uint32(args[7]), args[8], uint32(args[9]))
		case 1:
			httpOpen(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]), uint32(args[5]), uint32(args[6]), uint32(args[7]), args[8], uint32(args[9]))
		case 2:
			httpWrite(args[0], uint32(args[1]), uint32(args[2]), uint32(args[3]))
		case 3:
			httpFinish(args[0], uint32(args[1]))
		case 4:
			httpRead(args[0], uint32(args[1]), uint32(args[2]))
		case 5:
			httpClose(args[0])
		case 6:
			httpBegin(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]), uint32(args[5]), uint32(args[6]), uint32(args[7]), args[8], uint32(args[9]), uint32(args[10]))
		case 7:
			httpStatus(args[0], uint32(args[1]))
		}
		return 0
	}))
}

//go:wasmimport husk:provider/tcp@0.2.0 connect
func tcpConnect(p0, p1, p2 uint32, p3 uint64, p4 uint32)

//go:wasmimport husk:provider/tcp@0.2.0 read
func tcpRead(p0 uint64, p1, p2, p3 uint32)

//go:wasmimport husk:provider/tcp@0.2.0 write
func tcpWrite(p0 uint64, p1, p2, p3 uint32)

//go:wasmimport husk:provider/tcp@0.2.0 close-write
func tcpCloseWrite(p0 uint64, p1 uint32)

//go:wasmimport husk:provider/tcp@0.2.0 close
func tcpClose(p0 uint64)

//go:wasmimport husk:provider/tcp@0.2.0 begin
func tcpBegin(p0, p1, p2 uint32, p3 uint64, p4 uint32)

//go:wasmimport husk:provider/tcp@0.2.0 resolve
func tcpResolve(p0, p1, p2, p3 uint32)

//go:wasmimport husk:provider/tcp@0.2.0 status
func tcpStatus(p0 uint64, p1 uint32)

// TCP returns the host's tcp.
func TCP() abi.TCP {
	return canon.NewTCP(caller(func(function int, args []uint64) uint64 {
		switch function {
		case 0:
			tcpConnect(uint32(args[0]), uint32(args[1]), uint32(args[2]), args[3], uint32(args[4]))
		case 1:
			tcpRead(args[0], uint32(args[1]), uint32(args[2]), uint32(args[3]))
		case 2:
			tcpWrite(args[0], uint32(args[1]), uint32(args[2]), uint32(args[3]))
		case 3:
			tcpCloseWrite(args[0], uint32(args[1]))
		case 4:
			tcpClose(args[0])
		case 5:
			tcpBegin(uint32(args[0]), uint32(args[1]), uint32(args[2]), args[3], uint32(args[4]))
		case 6:
			tcpResolve(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]))
		case 7:
			tcpStatus(args[0], uint32(args[1]))
		}
		return 0
	}))
}

//go:wasmimport husk:provider/files@0.2.0 set-mode
func filesSetMode(p0, p1, p2, p3 uint32)

//go:wasmimport husk:provider/files@0.2.0 get-mode
func filesGetMode(p0, p1, p2 uint32)

// Files returns the host's files.
func Files() abi.Files {
	return canon.NewFiles(caller(func(function int, args []uint64) uint64 {
		switch function {
		case 0:
			filesSetMode(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]))
		case 1:
			filesGetMode(uint32(args[0]), uint32(args[1]), uint32(args[2]))
		}
		return 0
	}))
}

//go:wasmimport husk:provider/assets@0.2.0 open
func assetsOpen(p0, p1, p2, p3 uint32)

//go:wasmimport husk:provider/assets@0.2.0 read
func assetsRead(p0 uint64, p1, p2 uint32)

//go:wasmimport husk:provider/assets@0.2.0 close
func assetsClose(p0 uint64)

// Assets returns the host's assets.
func Assets() abi.Assets {
	return canon.NewAssets(caller(func(function int, args []uint64) uint64 {
		switch function {
		case 0:
			assetsOpen(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]))
		case 1:
			assetsRead(args[0], uint32(args[1]), uint32(args[2]))
		case 2:
			assetsClose(args[0])
		}
		return 0
	}))
}

//go:wasmimport husk:provider/kv@0.2.0 get
func kvGet(p0, p1, p2 uint32)

//go:wasmimport husk:provider/kv@0.2.0 put
func kvPut(p0, p1, p2, p3, p4 uint32, p5 uint64, p6 uint32)

//go:wasmimport husk:provider/kv@0.2.0 keys
func kvKeys(p0, p1, p2, p3, p4, p5 uint32)

// KV returns the host's kv.
func KV() abi.KV {
	return canon.NewKV(caller(func(function int, args []uint64) uint64 {
		switch function {
		case 0:
			kvGet(uint32(args[0]), uint32(args[1]), uint32(args[2]))
		case 1:
			kvPut(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]), args[5], uint32(args[6]))
		case 2:
			kvKeys(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]), uint32(args[5]))
		}
		return 0
	}))
}

//go:wasmimport husk:provider/monitor@0.2.0 register-resource
func monitorRegisterResource(p0, p1 uint32)

//go:wasmimport husk:provider/monitor@0.2.0 register-outputs
func monitorRegisterOutputs(p0, p1, p2, p3, p4 uint32)

//go:wasmimport husk:provider/monitor@0.2.0 read-resource
func monitorReadResource(p0, p1 uint32)

//go:wasmimport husk:provider/monitor@0.2.0 invoke
func monitorInvoke(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14 uint32)

//go:wasmimport husk:provider/monitor@0.2.0 call
func monitorCall(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16 uint32)

//go:wasmimport husk:provider/monitor@0.2.0 register-package
func monitorRegisterPackage(p0, p1 uint32)

//go:wasmimport husk:provider/monitor@0.2.0 start
func monitorStart(p0, p1 uint32)

//go:wasmimport husk:provider/monitor@0.2.0 wait
func monitorWait(p0 uint32)

// Monitor returns the host's monitor.
func Monitor() abi.Monitor {
	return canon.NewMonitor(caller(func(function int, args []uint64) uint64 {
		switch function {
		case 0:
			monitorRegisterResource(uint32(args[0]), uint32(args[1]))
		case 1:
			monitorRegisterOutputs(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]))
		case 2:
			monitorReadResource(uint32(args[0]), uint32(args[1]))
		case 3:
			monitorInvoke(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]), uint32(args[5]), uint32(args[6]), uint32(args[7]), uint32(args[8]), uint32(args[9]), uint32(args[10]), uint32(args[11]), uint32(args[12]), uint32(args[13]), uint32(args[14]))
		case 4:
			monitorCall(uint32(args[0]), uint32(args[1]), uint32(args[2]), uint32(args[3]), uint32(args[4]), uint32(args[5]), uint32(args[6]), uint32(args[7]), uint32(args[8]), uint32(args[9]), uint32(args[10]), uint32(args[11]), uint32(args[12]), uint32(args[13]), uint32(args[14]), uint32(args[15]), uint32(args[16]))
		case 5:
			monitorRegisterPackage(uint32(args[0]), uint32(args[1]))
		case 6:
			monitorStart(uint32(args[0]), uint32(args[1]))
		case 7:
			monitorWait(uint32(args[0]))
		}
		return 0
	}))
}
