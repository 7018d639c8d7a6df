package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
)

// Stacks are the stacks of a store. The zero Stacks has none.
type Stacks struct {
	Store state.Store
	// Open opens the secrets providers of the stacks.
	Open state.OpenSecrets
	// Sealed, unless nil, is told which outputs of a stack are left out because its key is not at hand, and why.
	Sealed func(stack state.StackName, outputs []string, cause error)
	// Organization and Project complete names without them. They are the deployed stack's.
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

// load reads the state of a stack, as far as it is recorded if a deployment of it runs. A state whose key is not at hand
// has sealed secrets, and the error of the key is returned as sealed.
func (s Stacks) load(ctx context.Context, text string) (snapshot *state.Snapshot, name state.StackName, sealed, err error) {
	if name, err = s.parse(text); err != nil {
		return nil, name, nil, abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
	}
	if s.Store == nil {
		return nil, name, nil, abi.NewError(abi.ErrorKindUnavailable, fmt.Sprintf("stack %q cannot be read: this deployment knows no store of stacks", text))
	}
	snapshot, _, err = state.Load(ctx, s.Store, name, s.Open)
	if errors.Is(err, secrets.ErrWrongKey) || errors.Is(err, secrets.ErrNoKey) {
		sealed = err
		snapshot, _, err = state.Load(ctx, s.Store, name, nil)
	}
	switch {
	case errors.Is(err, state.ErrStackNotFound):
		err = noStack{abi.NewError(abi.ErrorKindNotFound, fmt.Sprintf("there is no stack %q%s", name, s.known(ctx)))}
	case err != nil:
		err = fmt.Errorf("stack %q cannot be read: %w", name, err)
	}
	return snapshot, name, sealed, err
}

// unsealed returns outputs without the sealed values, and the paths of these. A list with something sealed is left out as a
// whole, so that no element takes another's place.
func unsealed(outputs property.Map, at property.Path) (kept property.Map, sealed []string) {
	kept = outputs
	for key, v := range outputs.All() {
		if !v.ContainsSecrets() {
			continue
		}
		path := at.Append(property.Key(key))
		if inner, ok := v.AsObject(); ok {
			below, paths := unsealed(inner, path)
			kept, sealed = kept.With(key, property.Object(below)), append(sealed, paths...)
		} else {
			kept, sealed = kept.Without(key), append(sealed, path.String())
		}
	}
	return kept, sealed
}

// noStack is the error for a stack that does not exist.
type noStack struct{ cause *abi.Error }

func (e noStack) Error() string { return e.cause.Error() }

func (e noStack) Unwrap() error { return e.cause }

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

// outputs returns the outputs of a stack, and the paths of the secrets that are left out because the stack's key is not at hand.
func (s Stacks) outputs(ctx context.Context, name string) (outputs property.Map, left []string, err error) {
	snapshot, stack, sealed, err := s.load(ctx, name)
	if err != nil {
		return property.Map{}, nil, err
	}
	for _, res := range snapshot.Resources() {
		if res.Type == urn.RootType && !res.Delete {
			outputs, left = s.readable(stack, res.Outputs, sealed)
			return outputs, left, nil
		}
	}
	return property.Map{}, nil, nil
}

// readable returns the part of outputs that can be read, and tells what cannot.
func (s Stacks) readable(stack state.StackName, outputs property.Map, sealed error) (kept property.Map, left []string) {
	if sealed == nil {
		return outputs, nil
	}
	if kept, left = unsealed(outputs, nil); len(left) > 0 && s.Sealed != nil {
		s.Sealed(stack, left, sealed)
	}
	return kept, left
}

// resourceOutputs returns the outputs of the resources of a stack, by URN.
func (s Stacks) resourceOutputs(ctx context.Context, name string) (property.Map, error) {
	snapshot, stack, sealed, err := s.load(ctx, name)
	if err != nil {
		return property.Map{}, err
	}
	var entries []property.Entry
	for _, res := range snapshot.Resources() {
		if res.Delete {
			continue
		}
		outputs, _ := s.readable(stack, res.Outputs, sealed)
		entries = append(entries, property.Entry{Key: string(res.URN), Value: property.Object(property.NewMap(
			property.Entry{Key: "type", Value: property.String(res.Type)},
			property.Entry{Key: "outputs", Value: property.Object(outputs)},
		))})
	}
	return property.NewMap(entries...), nil
}
