package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// methods are the calls that entries are attacked through, and what they answer as text.
var methods = map[string]func(context.Context, *host.Provider) (string, error){
	"handshake": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.Handshake(ctx, abi.HandshakeRequest{Engine: "test"})
		return r.Name, err
	},
	"get-schema": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
		return r.Schema, err
	},
	"get-mapping": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform"})
		return r.Provider, err
	},
	"get-mappings": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.GetMappings(ctx, abi.GetMappingsRequest{Key: "terraform"})
		return strings.Join(r.Providers, " "), err
	},
	"configure": func(ctx context.Context, p *host.Provider) (string, error) {
		return "", p.Configure(ctx, abi.ConfigureRequest{})
	},
	"check": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.Check(ctx, abi.CheckRequest{Type: "hostile:index:Thing"})
		return fmt.Sprint(len(r.Failures)), err
	},
	"diff": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.Diff(ctx, abi.DiffRequest{Type: "hostile:index:Thing", ID: "1"})
		return r.Changes.String(), err
	},
	"create": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.Create(ctx, abi.CreateRequest{Type: "hostile:index:Thing", Name: "thing"})
		return r.ID, err
	},
	"read": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.Read(ctx, abi.ReadRequest{Type: "hostile:index:Thing", ID: "1"})
		return r.ID, err
	},
	"list": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.List(ctx, abi.ListRequest{Token: "hostile:index:Thing"})
		return fmt.Sprint(len(r.Resources)), err
	},
	"invoke": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.Invoke(ctx, abi.InvokeRequest{Token: "hostile:index:do"})
		return fmt.Sprint(r.Result.Len()), err
	},
	"stream-invoke": func(ctx context.Context, p *host.Provider) (string, error) {
		handle, err := p.StreamInvoke(ctx, abi.InvokeRequest{Token: "hostile:index:do"})
		if err != nil {
			return "", err
		}
		item, err := p.StreamNext(ctx, handle)
		return fmt.Sprint(item.Result != nil), err
	},
	"call": func(ctx context.Context, p *host.Provider) (string, error) {
		r, err := p.Call(ctx, abi.CallRequest{Token: "hostile:index:Thing/do", Args: property.Map{}})
		return fmt.Sprint(r.Result.Len()), err
	},
}

// ways are those in which modules run.
var ways = map[string]func() host.Config{
	"compiler":    host.NewConfig,
	"interpreter": func() host.Config { return host.NewConfig().WithInterpreter() },
}

// config bounds a host as the entry says.
func (b bounds) config(c host.Config) host.Config {
	return c.WithLimit(limit.Fuel, b.fuel).WithLimit(limit.Memory, uint64(b.pages)<<16).WithLimit(limit.HostCalls, b.calls).WithLimit("answer-host-calls", b.calls).WithCancelGrace(time.Millisecond)
}

// TestModules loads and calls each module within its bounds, in all ways. The outcome
// is exactly what the module's comment says, and no other provider of the host suffers.
func TestModules(t *testing.T) {
	corpus := entries(t)
	for name, config := range ways {
		if testing.Short() && name != "compiler" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			neighbours := map[bounds]neighbour{}
			for _, e := range corpus {
				if e.refused != "" && name != "compiler" {
					continue // it was refused before
				}
				n, ok := neighbours[e.bounds]
				if !ok {
					n = newNeighbour(t, newHost(t, e.config(config())))
					neighbours[e.bounds] = n
				}
				t.Run(strings.TrimSuffix(e.file, ".wat"), func(t *testing.T) {
					n.whileItAnswers(t, func() { e.attackIn(t, n.host) })
				})
			}
		})
	}
}

// outcome writes an answer or error as entries do.
func outcome(answer string, err error) string {
	if err == nil {
		return "answers " + strconv.Quote(answer)
	}
	e := abi.AsError(err)
	message, _, _ := strings.Cut(e.Message, "\n")
	text := e.Kind.String()
	if e.Origin != abi.ErrorOriginHost {
		text += " (" + e.Origin.String() + ")"
	}
	var exceeded *limit.ExceededError
	if errors.As(err, &exceeded) {
		name := exceeded.Limit
		if name == limit.StackDepth { // which is how the interpreter bounds the stack
			name = limit.Stack
		}
		return text + ": exceeds " + string(name)
	}
	return text + ": " + message
}

// offset is where in the file something is wrong, which is of no interest here.
var offset = regexp.MustCompile(` at offset \d+`)

// refusal writes why a module was refused, first of all, as entries do: the type of the
// error, if there is one for it, and its text.
func refusal(err error) string {
	if several, ok := errors.AsType[*host.RefusalError](err); ok {
		err = several.Reasons[0]
	}
	text := offset.ReplaceAllString(err.Error(), "")
	_, name, _ := strings.Cut(fmt.Sprintf("%T", err), ".")
	if unicode.IsUpper(rune(name[0])) {
		return name + ": " + text
	}
	return text
}

// attackIn loads the module and calls it.
func (e entry) attackIn(t *testing.T, h *host.Host) {
	module, err := h.LoadBytes(t.Context(), assemble(t, e.file))
	if e.refused != "" {
		var refused *host.LoadError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, e.refused, refusal(refused.Err))
		return
	}
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hostile", Lenient: true})
	require.NoError(t, err)
	defer p.Close()
	for at, s := range e.steps {
		require.Equal(t, s.outcome, outcome(methods[s.method](t.Context(), p)), "call %d, %s", at+1, s.method)
	}
}
