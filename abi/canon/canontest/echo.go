package canontest

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
)

// Host has the interfaces that a host lets a provider use, as canon.Imports.
type Host struct {
	Log     abi.Log
	Control abi.Control
	HTTP    abi.HTTP
	TCP     abi.TCP
	Files   abi.Files
	KV      abi.KV
	Monitor abi.Monitor
}

// NewHost returns a host that echoes. It appends what it is called with to calls.
func NewHost(calls *[]string) Host {
	e := echo{calls, false}
	return Host{EchoLog{e}, EchoControl{e}, EchoHTTP{e}, EchoTCP{e}, EchoFiles{e}, EchoKV{e}, EchoMonitor{e}}
}

// DeniedHost returns a host that grants nothing.
func DeniedHost() Host {
	var calls []string
	e := echo{&calls, true}
	return Host{EchoLog{e}, EchoControl{e}, EchoHTTP{e}, EchoTCP{e}, EchoFiles{e}, EchoKV{e}, EchoMonitor{e}}
}

// echo is a host's side of an interface.
type echo struct {
	calls  *[]string
	denied bool
}

// answer fills the result, unless it is nil, or returns an error; both follow from
// the function's name and its parameters.
func (e echo) answer(name string, result any, params ...any) error {
	seed := name
	for _, p := range params {
		seed += " " + Dump(p)
	}
	*e.calls = append(*e.calls, seed)
	if e.denied {
		iface, _, _ := strings.Cut(name, ".")
		return &abi.Error{
			Kind: abi.ErrorKindDenied, Origin: abi.ErrorOriginHost,
			Message: "the provider is not granted the use of " + iface,
		}
	}
	return answerFrom(Seeded(seed), result)
}

func answerFrom(draw Draw, result any) error {
	if draw(4) == 0 {
		return Failure(draw)
	}
	if result != nil {
		Fill(draw, result)
	}
	return nil
}

// EchoProvider is a provider that echoes. Each call makes calls of the host.
type EchoProvider struct{ Host Host }

// hostCalls is how many functions of the host a provider's function calls.
const hostCalls = 4

func (e EchoProvider) answer(ctx context.Context, name string, result any, params ...any) error {
	seed := name
	for _, p := range params {
		seed += " " + Dump(p)
	}
	draw := Seeded(seed)
	for range hostCalls {
		seed += " " + callHost[draw(len(callHost))](ctx, e.Host, draw)
	}
	if strings.Contains(seed, "panic please") {
		panic("as you please")
	}
	return answerFrom(Seeded(seed), result)
}
