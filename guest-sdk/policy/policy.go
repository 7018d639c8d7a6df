package policy

import (
	"context"
	"reflect"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

// SDK is the name and version that a pack tells its host, for messages.
const SDK = "husk guest-sdk/policy 0.1.0"

// Pack is a set of policies: what [Serve] and [New] take.
type Pack struct {
	// Name is the pack's name, for example baseline.
	Name string
	// Version is the pack's semantic version.
	Version string
	// Policies correct resources in this order, each what the one before it made.
	Policies []Policy
}

// Level says what becomes of a violation, unless the operator chooses another level.
type Level = abi.PolicyLevel

// The levels. The zero Level is Advisory.
const (
	// Advisory violations are shown, and stop nothing.
	Advisory = abi.PolicyLevelAdvisory
	// Mandatory violations fail the resource, or the deployment.
	Mandatory = abi.PolicyLevelMandatory
	// Remediate policies correct resources; a violation that remains is mandatory.
	Remediate = abi.PolicyLevelRemediate
	// Disabled policies are not asked.
	Disabled = abi.PolicyLevelDisabled
)

// None is the configuration of a policy that has none.
type None struct{}

// Rule is a policy whose configuration is the fields of C. It has at least one of the functions. An
// error of a function is not a violation: the policy cannot judge, and the resource or the deployment
// fails at any level.
type Rule[C any] struct {
	// Name is unique in the pack, for example required-tags, and not all, which means all policies.
	Name string
	// Description says what the policy demands.
	Description string
	Level       Level

	// Remedy corrects a resource's inputs before they are judged, if the level is Remediate.
	Remedy func(context.Context, ResourceRequest[C]) (Remedy, error)
	// Resource judges a resource before it is created or updated.
	Resource func(context.Context, ResourceRequest[C]) ([]Violation, error)
	// Stack judges all resources together, after a preview or an update that went well.
	Stack func(context.Context, StackRequest[C]) ([]Violation, error)
}

// ResourceRequest asks about one resource.
type ResourceRequest[C any] struct {
	Config C
	// Deployment is the deployment of the resource.
	Deployment abi.RunContext
	// Resource has its inputs as Properties, as the provider checked them.
	Resource abi.PolicyResource
}

// StackRequest asks about all resources that a deployment leaves behind.
type StackRequest[C any] struct {
	Config     C
	Deployment abi.RunContext
	// Resources have their outputs as Properties. Dependencies come first.
	Resources []abi.PolicyResource
}

// Violation is a fault of a resource or a stack.
type Violation struct {
	// Message describes the fault and what to do.
	Message string
	// Path is the property that it is about, for example tags.owner; empty for none.
	Path string
	// URN is the resource that it is about, where a stack was judged; empty for the stack.
	URN urn.URN
}

// Remedy is a correction of a resource's inputs. The zero Remedy corrects nothing.
type Remedy struct {
	// Inputs are all of the resource's inputs as they are to be; nil if they stay.
	Inputs *property.Map
	// Message describes the correction or, where Inputs is nil, why there is none.
	Message string
}

// Policy is a policy of a pack, see [Of].
type Policy struct {
	name, description string
	level             Level
	actions           abi.PolicyActions
	config            reflect.Type
	code              code
}

// code is a rule without the type of its configuration, whose address it is given.
type code interface {
	remedy(ctx context.Context, config unsafe.Pointer, run abi.RunContext, r abi.PolicyResource) (Remedy, error)
	resource(ctx context.Context, config unsafe.Pointer, run abi.RunContext, r abi.PolicyResource) ([]Violation, error)
	stack(ctx context.Context, config unsafe.Pointer, run abi.RunContext, all []abi.PolicyResource) ([]Violation, error)
}

// Of returns a policy of a rule.
func Of[C any](r Rule[C]) Policy {
	p := Policy{name: r.Name, description: r.Description, level: r.Level, config: reflect.TypeFor[C](), code: &r}
	if r.Remedy != nil {
		p.actions |= abi.PolicyActionsRemediate
	}
	if r.Resource != nil {
		p.actions |= abi.PolicyActionsAnalyze
	}
	if r.Stack != nil {
		p.actions |= abi.PolicyActionsAnalyzeStack
	}
	return p
}

func (r *Rule[C]) remedy(ctx context.Context, config unsafe.Pointer, run abi.RunContext, res abi.PolicyResource) (Remedy, error) {
	return r.Remedy(ctx, ResourceRequest[C]{*(*C)(config), run, res})
}

func (r *Rule[C]) resource(ctx context.Context, config unsafe.Pointer, run abi.RunContext, res abi.PolicyResource) ([]Violation, error) {
	return r.Resource(ctx, ResourceRequest[C]{*(*C)(config), run, res})
}

func (r *Rule[C]) stack(ctx context.Context, config unsafe.Pointer, run abi.RunContext, all []abi.PolicyResource) ([]Violation, error) {
	return r.Stack(ctx, StackRequest[C]{*(*C)(config), run, all})
}

// Logger writes messages about the resource of a call. The display of the deployment shows them, and Debug
// only with debug output.
type Logger interface {
	Debug(message string)
	Info(message string)
	Warning(message string)
	Error(message string)
	// Status writes how far the call is. The next status replaces it.
	Status(message string)
}

// WithLog returns a context in which [Log] writes to sink. In a module the log is the host's.
func WithLog(ctx context.Context, sink abi.Log) context.Context { return call.WithLog(ctx, sink) }

// Log returns the log of a call. Without one, as in most tests, messages go nowhere.
func Log(ctx context.Context) Logger { return call.Log(ctx) }
