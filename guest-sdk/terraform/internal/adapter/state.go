package adapter

//lint:file-ignore SA1019 servers and clients of the protocol encode with these functions; there are no others

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// metaKey is the property of a state for data that is not an attribute, as in Pulumi's bridge: a JSON object as text.
const metaKey = "__meta"

// meta is the data of a state beside its attributes.
type meta struct {
	SchemaVersion string `json:"schema_version,omitempty"`
	// PrivateState is the provider's, in base64.
	PrivateState    string          `json:"private_state,omitempty"`
	Identity        json.RawMessage `json:"identity,omitempty"`
	IdentityVersion int64           `json:"identity_version,omitempty"`
	// ID is the attribute id, if it is another than the resource's ID.
	ID string `json:"id,omitempty"`
	// Tainted marks a resource whose creation failed half-way. It is replaced, as in Terraform.
	Tainted bool `json:"tainted,omitempty"`
	// Edition is the provider and schema that the state is of. States of Terraform and of Pulumi's bridge have none.
	Edition string `json:"edition,omitempty"`
	// Names are the names of attributes that do not follow from the properties' names, see decoder.names. A later version of the
	// provider, whose schema does not have them any more, gets the state with these names. States of Pulumi's bridge have none.
	Names map[string]string `json:"names,omitempty"`
	// Several are the properties with several elements where the schema allows one. The properties have only the first, as the
	// published schema has it, and the provider gets all.
	Several map[string]any `json:"several,omitempty"`
}

// recorded is a state as the provider knows it.
type recorded struct {
	tf.State
	value   tftypes.Value
	tainted bool
	// names are the names of the state, if it is outdated.
	names    map[string]string
	outdated bool
}

func (m meta) version() (int64, error) {
	if m.SchemaVersion == "" {
		return 0, nil
	}
	return strconv.ParseInt(m.SchemaVersion, 10, 64)
}

// metaOf returns the meta of a state.
func metaOf(state property.Map) (m meta, err error) {
	v := state.Get(metaKey).Plain()
	s, ok := v.AsString()
	if !ok {
		if v.IsNull() {
			return m, nil
		}
		return m, errors.New("it is not text")
	}
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		return m, err
	}
	if m.PrivateState == "" && m.Identity == nil && m.Names == nil && m.ID == "" && m.Several == nil && m.Edition == "" && !m.Tainted {
		// A provider of the plugin SDK has all of this as its private state, as Pulumi's bridge keeps it.
		m.PrivateState = base64.StdEncoding.EncodeToString([]byte(s))
	}
	_, err = m.version()
	return m, err
}

// recorded returns the state that the engine has recorded, upgraded to the version of the schema. id is
// the resource's.
func (p *provider) recorded(ctx context.Context, r *resource, state property.Map, id string) (recorded, error) {
	m, err := metaOf(state)
	var private []byte
	if err == nil {
		private, err = base64.StdEncoding.DecodeString(m.PrivateState)
	}
	if err != nil {
		return recorded{}, abi.NewError(abi.ErrorKindInternal, "the recorded state of the resource has a "+metaKey+" that cannot be read: "+err.Error())
	}
	state = r.withAttributeID(state, cmp.Or(m.ID, idText(state.Get("id")), id))
	for key, v := range m.Several {
		state = state.With(key, parsedValue(v))
	}
	out := recorded{State: tf.State{Private: private}, tainted: m.Tainted, names: m.Names, outdated: r.outdated(m)}
	if out.value, err = p.upgraded(ctx, r, state, m); err != nil {
		return recorded{}, err
	}
	if out.Value, err = encoded(out.value); err != nil {
		return recorded{}, abi.AsError(err)
	}
	out.Identity, err = p.identity(ctx, r, m)
	return out, err
}

// withAttributeID returns a state in which the attribute id has a value, if the resource has the attribute.
func (r *resource) withAttributeID(state property.Map, id string) property.Map {
	a := r.Attributes.Get("id")
	if a == nil || !isID(a) || id == "" {
		return state
	}
	if n, err := strconv.ParseFloat(id, 64); err == nil && a.Type.Kind == tf.Number {
		return state.With("id", property.Number(n))
	}
	return state.With("id", property.String(id))
}

// identity returns the recorded identity of a resource, upgraded to the version of its schema.
func (p *provider) identity(ctx context.Context, r *resource, m meta) (*tf.Value, error) {
	if r.Schema.Identity == nil || m.Identity == nil {
		return nil, nil
	}
	if m.IdentityVersion != r.IdentityVersion {
		v, found, err := p.server.UpgradeIdentity(ctx, r.name, m.IdentityVersion, m.Identity)
		return v, outcome(ctx, found, err, nil)
	}
	v, err := tftypes.ValueFromJSON(m.Identity, r.Schema.Identity)
	if err != nil {
		return nil, abi.NewError(abi.ErrorKindInternal, "the recorded identity of the resource cannot be read: "+err.Error())
	}
	return encoded(v)
}

// taint marks a state that properties has made: the creation of its resource failed half-way.
func taint(state property.Map) property.Map {
	m := map[string]json.RawMessage{}
	v := state.Get(metaKey)
	if s, ok := v.Plain().AsString(); ok {
		_ = json.Unmarshal([]byte(s), &m) // properties has written it
	}
	m["tainted"] = json.RawMessage("true")
	text, _ := json.Marshal(m) // of parts that are JSON
	changed := property.String(string(text))
	if v.IsSecret() {
		changed = property.Secret(changed)
	}
	return state.With(metaKey, changed)
}

// properties returns the state that the provider returned, as the engine records it, without secrets except the schema's. The
// resource's ID is id or, if that is empty, the state's; name is the ID of a resource without one. Unreadable parts are left out,
// and are among the faults: the object exists all the same.
func (p *provider) properties(r *resource, s tf.State, value tftypes.Value, id, name string) (state property.Map, _ string, faults []fault) {
	d := &decoder{names: map[string]string{}, several: allOfSeveral}
	state, faults = d.readable(r.Attributes, value)
	id = cmp.Or(id, r.idOf(state, name))
	m := meta{PrivateState: base64.StdEncoding.EncodeToString(s.Private), Names: d.names, Edition: r.edition()}
	if d.found {
		all := state
		state, faults = (&decoder{names: map[string]string{}, several: firstOfSeveral}).readable(r.Attributes, value)
		m.Several = map[string]any{}
		for key, v := range all.All() {
			if !v.Equal(state.Get(key)) {
				m.Several[key] = plainValue(v)
			}
		}
	}
	if r.Version > 0 {
		m.SchemaVersion = strconv.FormatInt(r.Version, 10)
	}
	if r.Schema.Identity != nil && s.Identity != nil {
		var err error
		if m.Identity, err = identityJSON(r.Schema.Identity, s.Identity); err != nil {
			faults = append(faults, fault{err: abi.NewError(abi.ErrorKindInternal, "the identity of the resource: "+err.Error())})
		} else if m.Identity != nil {
			m.IdentityVersion = r.IdentityVersion
		}
	}
	if given := state.Get("id"); id != "" && r.Attributes.OfProperty("id") != nil {
		if text := idText(given); text != id {
			m.ID = text
		}
		kept := property.String(id)
		if given.IsSecret() {
			kept = property.Secret(kept)
		}
		state = state.With("id", kept)
	}
	text, err := json.Marshal(m)
	if err != nil { // a number that JSON does not have
		faults, m.Several = append(faults, fault{err: abi.AsError(err)}), nil
		text, _ = json.Marshal(m)
	}
	if string(text) != "{}" {
		v := property.String(string(text))
		if state.ContainsSecrets() && (len(s.Private) > 0 || m.Identity != nil || m.Several != nil) {
			v = property.Secret(v) // who knows what the provider has in it
		}
		state = state.With(metaKey, v)
	}
	return state, id, faults
}

// plainValue returns a value of a state as a value of JSON.
func plainValue(v property.Value) any {
	v = v.Plain()
	if list, ok := v.AsArray(); ok {
		out := make([]any, len(list))
		for i := range list {
			out[i] = plainValue(list[i])
		}
		return out
	}
	if m, ok := v.AsObject(); ok {
		out := map[string]any{}
		for key, part := range m.All() {
			out[key] = plainValue(part)
		}
		return out
	}
	return rawValue(nil, v, nil, "")
}

// parsedValue is the reverse of plainValue.
func parsedValue(v any) property.Value {
	switch v := v.(type) {
	case bool:
		return property.Bool(v)
	case float64:
		return property.Number(v)
	case string:
		return property.String(v)
	case []any:
		out := make([]property.Value, len(v))
		for i := range v {
			out[i] = parsedValue(v[i])
		}
		return property.Array(out...)
	case map[string]any:
		var entries []property.Entry
		for key, part := range v {
			entries = append(entries, property.Entry{Key: key, Value: parsedValue(part)})
		}
		return property.Object(property.NewMap(entries...))
	}
	return property.Null
}

// identityJSON returns an identity as a state has it, nil if it is null or not known.
func identityJSON(wire tftypes.Type, sent *tf.Value) (json.RawMessage, error) {
	identity, err := decoded(wire, sent)
	if err != nil || !identity.IsFullyKnown() || identity.IsNull() {
		return nil, err
	}
	t := tf.TypeOf(wire)
	d := &decoder{names: map[string]string{}}
	m, err := d.object(t.Object, identity)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, v := range m.All() {
		out[key] = rawValue(t, v, d.names, key)
	}
	return json.Marshal(out)
}
