// Package adapter makes a provider of Husk of a Terraform provider.
package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/settings"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// terraformVersion is the version of Terraform that providers are told. Some of them offer features by
// it.
const terraformVersion = "1.14.0"

// gcPercent is how much a heap grows until it is collected, in per cent of the live heap: the provider's schema and little else.
// Calls take an eighth less time than at 100, and an instance some megabytes more.
const gcPercent = 300

const features = abi.FeaturesSecrets | abi.FeaturesAutonaming | abi.FeaturesPreview | abi.FeaturesWriteOnly | abi.FeaturesReadFirst

// provider is a Terraform provider as the contract has it.
type provider struct {
	abi.Unimplemented
	name    string
	version string
	server  tf.Server
	mapping terraform.Mapping

	described sync.Once
	pkg       *pkg
	schema    string
	err       error
	// readsFirst is true if the engine reads a resource whose state Diff calls outdated.
	readsFirst atomic.Bool
	// undecided is true while the configuration holds unknowns. The provider is not configured then.
	undecided atomic.Bool
}

// New returns the provider as a package of a name and version.
func New(name, version string, server tf.Server, mapping terraform.Mapping) abi.Provider {
	return &provider{name: name, version: version, server: careful{server}, mapping: mapping}
}

// Ported returns the provider of a ported module. The name and version that the build has not chosen
// follow from the provider's address.
func Ported(address string, server tf.Server) (abi.Provider, error) {
	chosen := struct {
		Name    string            `json:"name"`
		Version string            `json:"version"`
		Mapping terraform.Mapping `json:"mapping"`
		Only    only              `json:"only"`
	}{Name: strings.TrimPrefix(path.Base(address), "terraform-provider-"), Version: "0.0.0"}
	if settings.JSON != "" {
		if err := json.Unmarshal([]byte(settings.JSON), &chosen); err != nil {
			return nil, errors.New("the settings of the port: " + err.Error())
		}
	}
	debug.SetGCPercent(gcPercent)
	server, mapping := chosen.Only.of(server, chosen.Mapping)
	p := New(chosen.Name, chosen.Version, server, mapping).(*provider)
	// A host keeps the memory after main, so that its instances begin with the schema, and with a heap that
	// has just been collected. An error is the first call's.
	_, _ = p.describe(context.Background())
	runtime.GC()
	return p, nil
}

func (p *provider) Handshake(_ context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	p.readsFirst.Store(request.Features&abi.FeaturesReadFirst != 0)
	return abi.HandshakeResponse{
		Name: p.name, Version: p.version, SDK: guest.SDK + ", adapter for Terraform", Features: features & request.Features,
	}, nil
}

// describe returns the package. It asks the provider once.
func (p *provider) describe(ctx context.Context) (*pkg, error) {
	p.described.Do(func() {
		schemas, found, err := p.server.Schemas(context.WithoutCancel(ctx))
		if err = outcome(ctx, found, err, nil); err == nil {
			p.pkg, err = newPackage(p.name, p.version, schemas, p.mapping)
		}
		if err == nil {
			p.schema = string(p.pkg.published().AppendJSON(nil))
		}
		p.err = err
	})
	return p.pkg, p.err
}

func (p *provider) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	if request.Version != 0 {
		return abi.GetSchemaResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "there is only version 0 of the schema format")
	}
	if name := request.SubpackageName; name != "" {
		return abi.GetSchemaResponse{}, abi.NewError(abi.ErrorKindNotFound, "there is no package "+name+" in "+p.name)
	}
	_, err := p.describe(ctx)
	return abi.GetSchemaResponse{Schema: p.schema}, err
}

// resource returns the resource of a token, and refuses one while the configuration is not known.
func (p *provider) resource(ctx context.Context, token string) (*resource, error) {
	pkg, err := p.describe(ctx)
	if err != nil {
		return nil, err
	}
	if r := pkg.resources[token]; r != nil {
		return r, nil
	}
	return nil, p.noSuch("resource type", token, pkg.NearestResource(token))
}

func (p *provider) noSuch(what, token, nearest string) error {
	message := "the package " + p.name + " " + p.version + " has no " + what + " " + token
	if nearest != "" {
		message += "; did you mean " + nearest + "?"
	}
	return abi.NewError(abi.ErrorKindNotFound, message)
}

// decided returns an error while the configuration is not known, or if the call has ended.
func (p *provider) decided(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return abi.AsError(err)
	}
	if p.undecided.Load() {
		return abi.NewError(abi.ErrorKindUnavailable, "the configuration of "+p.name+
			" is not known in this preview: it depends on a resource that does not exist yet")
	}
	return nil
}

// Cancel has the provider stop its calls. Terraform asks for that only if it is interrupted, and heeds no answer: some servers have none,
// and panic. A deployment that is done does not fail for it.
func (p *provider) Cancel(ctx context.Context) error {
	defer func() {
		if recover() != nil {
			guest.Log(ctx).Debug("the provider panicked as it was to stop")
		}
	}()
	if err := p.server.Stop(ctx); err != nil {
		guest.Log(ctx).Debug("the provider cannot stop: " + err.Error())
	}
	return nil
}
