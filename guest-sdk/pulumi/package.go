package pulumi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/pulumi/internal/settings"
)

// choices are the choices of a ported provider's build.
type choices struct {
	Version string          `json:"version"`
	Mapping json.RawMessage `json:"mapping"`
}

// chosen returns the choices of the build, none for a provider that was not ported.
func chosen() (c choices, err error) {
	if settings.JSON == "" {
		return c, nil
	}
	if err := json.Unmarshal([]byte(settings.JSON), &c); err != nil {
		return c, errors.New("the settings of the port: " + err.Error())
	}
	if c.Mapping != nil {
		return c, errors.New("a mapping changes names of Terraform's that have none in Pulumi, and this provider has its own: port it without --map")
	}
	return c, nil
}

// Handshake asks the server what it understands. Values that it does not understand are lowered here, so
// the engine may send all.
func (p *provider) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	response := abi.HandshakeResponse{
		Name: p.name,
		SDK:  guest.SDK + ", pulumirpc",
		Features: abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs |
			abi.FeaturesPreview,
	}
	err := p.call(ctx, "", "Handshake", func(q message) {
		q.set("engine_address", p.engine.address)
		q.set("configure_with_urn", true)
		q.set("supports_refresh_before_update", true)
		q.set("invoke_with_preview", true)
	}, func(r message) error {
		p.accepted.Store(&accepted{
			secrets: r.bool("accept_secrets"), references: r.bool("accept_resources"), outputs: r.bool("accept_outputs"),
			autonaming: r.bool("supports_autonaming_configuration"), preview: true, final: true,
		})
		return nil
	})
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		return abi.HandshakeResponse{}, err
	}
	if p.accepted.Load().autonaming {
		response.Features |= abi.FeaturesAutonaming
	}
	response.Features &= request.Features
	response.Version, err = p.version(ctx)
	return response, err
}

// version returns the version that the port has chosen, or else what the provider tells, in its schema
// if nowhere else.
func (p *provider) version(ctx context.Context) (string, error) {
	c, err := chosen()
	if err != nil || c.Version != "" {
		return c.Version, err
	}
	told := ""
	err = p.call(ctx, "", "GetPluginInfo", nil, func(r message) error {
		told = r.text("version")
		return nil
	})
	if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
		return "", err
	}
	if told == "" {
		if schema, err := p.GetSchema(ctx, abi.GetSchemaRequest{}); err == nil {
			told = packageOf(schema.Schema).Version
		}
	}
	if told == "" {
		told = "0.0.0"
	}
	return strings.TrimPrefix(told, "v"), nil
}

// document is the part of a package schema that matters here.
type document struct {
	Version          string `json:"version"`
	Parameterization struct {
		Parameter []byte `json:"parameter"`
	} `json:"parameterization"`
}

// packageOf returns a zero document for a text that is not a schema.
func packageOf(schema string) (d document) {
	if json.Unmarshal([]byte(schema), &d) != nil {
		return document{}
	}
	return d
}

func (p *provider) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	var response abi.ParameterizeResponse
	given := request.Parameters
	err := p.call(ctx, "", "Parameterize", func(q message) {
		if given.Case == abi.ParametersCaseArgs {
			q.make("args").setTexts("args", given.Args)
			return
		}
		value := q.make("value")
		value.set("name", given.Value.Name)
		value.set("version", given.Value.Version)
		value.set("value", given.Value.Value)
	}, func(r message) error {
		response.Name, response.Version = r.text("name"), r.text("version")
		return nil
	})
	if err != nil {
		return response, err
	}
	if given.Case != abi.ParametersCaseArgs {
		response.Value = given.Value.Value
	} else {
		// Pulumi's protocol has the value in the schema alone.
		asked := abi.GetSchemaRequest{}
		if request.Extension {
			asked.SubpackageName, asked.SubpackageVersion = response.Name, response.Version
		}
		schema, err := p.GetSchema(ctx, asked)
		if err != nil {
			return abi.ParameterizeResponse{}, fmt.Errorf("the schema of the parameterized package %s: %w", response.Name, err)
		}
		response.Value = packageOf(schema.Schema).Parameterization.Parameter
	}
	if !request.Extension {
		p.name = response.Name
	}
	return response, nil
}

func (p *provider) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (response abi.GetSchemaResponse, err error) {
	err = p.call(ctx, "", "GetSchema", func(q message) {
		q.set("version", int32(request.Version))
		q.set("subpackage_name", request.SubpackageName)
		q.set("subpackage_version", request.SubpackageVersion)
	}, func(r message) error {
		response.Schema = r.text("schema")
		return nil
	})
	return response, err
}

func (p *provider) GetMapping(ctx context.Context, request abi.GetMappingRequest) (response abi.GetMappingResponse, err error) {
	err = p.call(ctx, "", "GetMapping", func(q message) {
		q.set("key", request.Key)
		q.set("provider", request.Provider)
	}, func(r message) error {
		response.Provider, response.Data = r.text("provider"), r.bytes("data")
		return nil
	})
	return response, err
}

func (p *provider) GetMappings(ctx context.Context, request abi.GetMappingsRequest) (response abi.GetMappingsResponse, err error) {
	err = p.call(ctx, "", "GetMappings", func(q message) {
		q.set("key", request.Key)
	}, func(r message) error {
		response.Providers = r.texts("providers")
		return nil
	})
	return response, err
}

func (p *provider) Cancel(ctx context.Context) error {
	p.open.closeAll()
	return p.call(ctx, "", "Cancel", nil, nil)
}
