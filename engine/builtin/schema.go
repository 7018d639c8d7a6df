package builtin

import "github.com/husk-dev/husk/abi/schema"

// Package is the name of the package.
const Package = "pulumi"

// The tokens of the package, which are Pulumi's.
const (
	StackReference = "pulumi:pulumi:StackReference"
	Stash          = "pulumi:index:Stash"
	GetResource    = "pulumi:pulumi:getResource"
	// SealedOutputNames is the property of a stack reference with the paths of outputs that are left out, because they are
	// secret and the stack's key is not at hand.
	SealedOutputNames = "sealedOutputNames"

	ReadStackOutputs         = "pulumi:pulumi:readStackOutputs"
	ReadStackResourceOutputs = "pulumi:pulumi:readStackResourceOutputs"
)

// Schema describes the package.
func Schema() *schema.Package {
	text := &schema.Type{Kind: schema.KindString}
	anything := &schema.Type{}
	outputs := &schema.Type{Kind: schema.KindMap, Element: anything}
	property := func(name, description string, t *schema.Type) schema.Property {
		return schema.Property{Name: name, Description: description, Type: t, Required: true}
	}
	replacing := func(p schema.Property) schema.Property {
		p.Replace = true
		return p
	}
	object := func(properties ...schema.Property) schema.Object { return schema.Object{Properties: properties} }

	name := property("name", "The stack: <name>, <project>/<name>, or <organization>/<project>/<name>.", text)
	stackName := name
	stackName.Name = "stackName"
	ofStack := property("outputs", "The stack's outputs.", outputs)
	secretNames := property("secretOutputNames", "The names of the outputs that hold secrets.",
		&schema.Type{Kind: schema.KindArray, Element: text})
	sealedNames := property(SealedOutputNames, "The outputs that are left out: they are secret, and the key of the stack is not at hand.",
		&schema.Type{Kind: schema.KindArray, Element: text})
	sealedNames.Required = false
	input := property("input", "The value to keep.", anything)
	return &schema.Package{
		Name:        Package,
		Description: "What the engine itself offers.",
		Resources: []*schema.Resource{
			{
				Token:       Stash,
				Description: "A value that stays as it was first given, until the stash is replaced.",
				Inputs:      object(input),
				Outputs:     object(input, property("output", "The value that was given first.", anything)),
			},
			{
				Token:       StackReference,
				Description: "Another stack, whose outputs can be used.",
				Inputs:      object(replacing(name)),
				Outputs:     object(name, ofStack, secretNames, sealedNames),
			},
		},
		Functions: []*schema.Function{
			{
				Token:       GetResource,
				Description: "A resource that the program has registered or read.",
				Args:        object(property("urn", "The resource's URN.", text)),
				Result: object(
					property("id", "The resource's ID, empty for a component.", text),
					property("provider", "The URN and ID of the resource's provider, empty for a component of the program.", text),
					property("state", "The resource's outputs.", outputs),
					property("urn", "The resource's URN.", text),
				),
			},
			{
				Token:       ReadStackOutputs,
				Description: "The outputs of a stack.",
				Args:        object(name),
				Result:      object(name, ofStack, secretNames),
			},
			{
				Token:       ReadStackResourceOutputs,
				Description: "The outputs of each resource of a stack.",
				Args:        object(stackName),
				Result: object(name, property("outputs", "By URN, an object with the resource's type and outputs.",
					outputs)),
			},
		},
	}
}
