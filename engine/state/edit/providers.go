package edit

import (
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// AddDefaultProviders gives the default provider of its package to each resource that needs a
// provider and names none, as in old states, and returns those resources. It makes the providers
// that are missing, with the inputs that config returns; config may be nil. IDs follow from the
// URNs: a state that is read twice is the same both times.
func AddDefaultProviders(s *state.Snapshot, config func(pkg string) property.Map) (*state.Snapshot, []urn.URN, error) {
	graph := sync.OnceValue(s.Graph) // few states need it
	out := s
	var changes state.Entry
	var changed []urn.URN
	references := make(map[urn.URN]string)
	for serial, r := range s.Resources() {
		pkg, _, ok := strings.Cut(r.Type, ":")
		if !ok || !r.Custom || r.IsProvider() || r.Provider != "" {
			continue
		}
		u := urn.New(r.URN.Stack(), r.URN.Project(), "", state.ProviderType(pkg), "default")
		if references[u] == "" {
			if at, ok := graph().Find(u); ok {
				found, _ := s.Resource(at)
				references[u] = found.Reference()
			} else {
				provider := &state.Resource{URN: u, Custom: true, Type: u.Type(), ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(u)).String()}
				if config != nil {
					provider.Inputs = config(pkg)
					provider.Outputs = provider.Inputs
				}
				if out == s {
					out = s.Clone()
				}
				out.Add(provider)
				references[u] = provider.Reference()
			}
		}
		provided := *r
		provided.Provider = references[u]
		changes = append(changes, state.PutResource{Serial: serial, Resource: &provided})
		changed = append(changed, r.URN)
	}
	if len(changes) == 0 {
		return s, nil, nil
	}
	out, err := apply(out, changes)
	return out, changed, err
}
