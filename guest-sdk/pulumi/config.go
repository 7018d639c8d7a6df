package pulumi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// CheckConfig passes all inputs if the server does not implement it.
func (p *provider) CheckConfig(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	return p.check(ctx, "CheckConfig", request)
}

func (p *provider) DiffConfig(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	return p.diff(ctx, "DiffConfig", request)
}

// Configure sends the configuration in both forms of the protocol: as texts, and as properties.
func (p *provider) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	p.undecided.Store(request.Inputs.ContainsUnknowns())
	if p.undecided.Load() {
		return nil // a preview, in which no method of the server is called
	}
	texts := map[string]string{}
	for key, v := range request.Inputs.All() {
		if key == "version" {
			continue // the engine's own
		}
		text, err := configText(v)
		if err != nil {
			return abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("%s: %s", key, err))
		}
		texts[p.name+":config:"+key] = text
	}
	return p.call(ctx, request.URN, "Configure", func(q message) {
		q.set("urn", string(request.URN))
		q.set("name", request.Name)
		q.set("type", request.Type)
		q.set("id", request.ID)
		q.set("acceptSecrets", true)
		q.set("acceptResources", true)
		q.set("sends_old_inputs", true)
		q.set("sends_old_inputs_to_delete", true)
		for key, text := range texts {
			q.setText("variables", key, text)
		}
		q.setProperties("args", request.Inputs.Lower(property.KindOutput))
	}, func(r message) error {
		if p.accepted.Load().final {
			return nil
		}
		p.accepted.Store(&accepted{
			secrets: r.bool("acceptSecrets"), references: r.bool("acceptResources"), outputs: r.bool("acceptOutputs"),
			autonaming: r.bool("supports_autonaming_configuration"), preview: r.bool("supportsPreview"),
		})
		return nil
	})
}

// configText returns a value of the configuration as a text: a string as it is, all others as JSON.
func configText(v property.Value) (string, error) {
	plain := plainOf(v)
	if text, ok := plain.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(plain)
	return string(text), err
}

// plainOf returns a value without what JSON lacks.
func plainOf(v property.Value) any {
	v = v.Plain()
	switch v.Kind() {
	case property.KindNull:
		return nil
	case property.KindBool:
		b, _ := v.AsBool()
		return b
	case property.KindNumber:
		n, _ := v.AsNumber()
		return n
	case property.KindString:
		s, _ := v.AsString()
		return s
	case property.KindArray:
		elements, _ := v.AsArray()
		list := make([]any, len(elements))
		for i, e := range elements {
			list[i] = plainOf(e)
		}
		return list
	case property.KindObject:
		m, _ := v.AsObject()
		object := make(map[string]any, m.Len())
		for key, e := range m.All() {
			object[key] = plainOf(e)
		}
		return object
	case property.KindResourceReference:
		r, _ := v.AsReference()
		return plainOf(r.Text())
	}
	return toValue(v).AsInterface() // an asset or archive, as in the properties
}
