package canontest

import (
	"context"
	"reflect"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
)

// Host has the interfaces that a host lets a provider use.
type Host = canon.Imports

// NewHost returns a host that echoes.
func NewHost(trace *Trace) Host { return host(echo{trace: trace}) }

// DeniedHost returns a host that grants nothing.
func DeniedHost() Host { return host(echo{denied: true}) }

func host(e echo) Host {
	return Host{
		Log: EchoLog{e}, Control: EchoControl{e}, HTTP: EchoHTTP{e}, TCP: EchoTCP{e},
		Files: EchoFiles{e}, Assets: EchoAssets{e}, KV: EchoKV{e}, Monitor: EchoMonitor{e},
	}
}

// Trace has the calls of functions in the order of their ends. It may be nil.
type Trace []Call

// Call is one call of a function, with values as Dump shows them.
type Call struct {
	Function string // for example http.send
	Params   string // separated by spaces
	Answer   string // the result, or nothing
	Err      string // of the error, or nothing
}

func (t *Trace) add(c Call, result any, err error) {
	if t == nil {
		return
	}
	switch {
	case err != nil:
		c.Err = Dump(err)
	case result != nil:
		c.Answer = Dump(reflect.ValueOf(result).Elem().Interface())
	}
	*t = append(*t, c)
}

// echo is a host's side of an interface.
type echo struct {
	trace  *Trace
	denied bool
}

// answer fills the result, unless it is nil, or returns an error. Both follow from the function's
// name and parameters.
func (e echo) answer(name string, result any, params ...any) error {
	c := Call{Function: name, Params: show(params)}
	if e.denied {
		iface, _, _ := strings.Cut(name, ".")
		return &abi.Error{
			Kind: abi.ErrorKindDenied, Origin: abi.ErrorOriginHost,
			Message: "the provider is not granted the use of " + iface,
		}
	}
	err := answerFrom(Seeded(c.Function+c.Params), result)
	e.trace.add(c, result, err)
	return err
}

// tell is answer for a function that cannot fail.
func (e echo) tell(name string, result any, params ...any) {
	if e.denied {
		return
	}
	c := Call{Function: name, Params: show(params)}
	if result != nil {
		Fill(Seeded(c.Function+c.Params), result)
	}
	e.trace.add(c, result, nil)
}

func show(params []any) string {
	texts := make([]string, len(params))
	for i, p := range params {
		texts[i] = Dump(p)
	}
	return strings.Join(texts, " ")
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

// EchoProvider is a provider that echoes. Calls of the host affect its results.
type EchoProvider struct {
	Host  Host
	Trace *Trace
}

// EchoPolicy is a policy pack that echoes in the same way.
type EchoPolicy struct {
	Host  Host
	Trace *Trace
}

func (e EchoPolicy) answer(ctx context.Context, name string, result any, params ...any) error {
	return EchoProvider(e).answer(ctx, name, result, params...)
}

// EchoProgram is a program that echoes in the same way.
type EchoProgram struct {
	Host  Host
	Trace *Trace
}

func (e EchoProgram) answer(ctx context.Context, name string, result any, params ...any) error {
	return EchoProvider(e).answer(ctx, name, result, params...)
}

// hostCalls is the number of calls of the host that a provider's function makes.
const hostCalls = 4

func (e EchoProvider) answer(ctx context.Context, name string, result any, params ...any) error {
	c := Call{Function: name, Params: show(params)}
	if strings.Contains(c.Params, "panic please") {
		panic("as you please")
	}
	seed := c.Function + c.Params
	draw := Seeded(seed)
	// Whether it fails follows from the request alone, so that a function that the host
	// gains does not make one that has a single request fail always.
	fails := draw(4) == 3
	for range hostCalls {
		seed += callHost[draw(len(callHost))](ctx, e.Host, draw)
	}
	var err error
	switch draw = Seeded(seed); {
	case fails:
		err = Failure(draw)
	case result != nil:
		Fill(draw, result)
	}
	e.Trace.add(c, result, err)
	return err
}
