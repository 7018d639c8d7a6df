package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// Stacks are the stacks of a store. The zero Stacks has none.
type Stacks struct {
	Store state.Store
	// Open opens the secrets providers of the stacks.
	Open state.OpenSecrets
	// Organization and Project complete names without them: those of the deployed stack.
	Organization, Project string
}

// fixedOrganization is Pulumi's organization of stacks that no service keeps.
const fixedOrganization = "organization"

// maxListed bounds the stacks that a message lists.
const maxListed = 12

// parse reads <name>, <project>/<name>, or <organization>/<project>/<name>.
func (s Stacks) parse(text string) (state.StackName, error) {
	parts := strings.Split(text, "/")
	name := state.StackName{Project: s.Project, Name: parts[len(parts)-1]}
	switch len(parts) {
	case 1:
	case 3:
		if parts[0] != fixedOrganization && parts[0] != s.Organization {
			return name, fmt.Errorf("stack %q: the stacks that are kept here are of the organization %q, not %q",
				text, fixedOrganization, parts[0])
		}
		fallthrough
	case 2:
		name.Project = parts[len(parts)-2]
	default:
		return name, fmt.Errorf("stack %q: a stack is named <name>, <project>/<name>, or <organization>/<project>/<name>", text)
	}
	if err := name.Validate(); err != nil {
		return name, fmt.Errorf("stack %q: %w", text, err)
	}
	return name, nil
}

// load reads the state of a stack, as far as it is recorded if a deployment of it runs.
func (s Stacks) load(ctx context.Context, text string) (*state.Snapshot, error) {
	name, err := s.parse(text)
	if err != nil {
		return nil, abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
	}
	if s.Store == nil {
		return nil, abi.NewError(abi.ErrorKindUnavailable, fmt.Sprintf("stack %q cannot be read: this deployment knows no store of stacks", text))
	}
	snapshot, _, err := state.Load(ctx, s.Store, name, s.Open)
	switch {
	case errors.Is(err, state.ErrStackNotFound):
		return nil, abi.NewError(abi.ErrorKindNotFound, fmt.Sprintf("there is no stack %q%s", name, s.known(ctx)))
	case err != nil:
		return nil, fmt.Errorf("stack %q cannot be read: %w", name, err)
	}
	return snapshot, nil
}

// known lists the stacks that there are, for a message.
func (s Stacks) known(ctx context.Context) string {
	all, err := s.Store.List(ctx)
	if err != nil || len(all) == 0 || len(all) > maxListed {
		return ""
	}
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = n.String()
	}
	return "; there are " + strings.Join(names, ", ")
}

func (s Stacks) outputs(ctx context.Context, name string) (property.Map, error) {
	snapshot, err := s.load(ctx, name)
	if err != nil {
		return property.Map{}, err
	}
	for _, res := range snapshot.Resources() {
		if res.Type == urn.RootType && !res.Delete {
			return res.Outputs, nil
		}
	}
	return property.Map{}, nil
}

// resourceOutputs returns the outputs of the resources of a stack, by URN.
func (s Stacks) resourceOutputs(ctx context.Context, name string) (property.Map, error) {
	snapshot, err := s.load(ctx, name)
	if err != nil {
		return property.Map{}, err
	}
	var entries []property.Entry
	for _, res := range snapshot.Resources() {
		if res.Delete {
			continue
		}
		entries = append(entries, property.Entry{Key: string(res.URN), Value: property.Object(property.NewMap(
			property.Entry{Key: "type", Value: property.String(res.Type)},
			property.Entry{Key: "outputs", Value: property.Object(res.Outputs)},
		))})
	}
	return property.NewMap(entries...), nil
}
