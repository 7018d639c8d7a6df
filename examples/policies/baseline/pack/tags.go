package pack

import (
	"context"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

type tagsConfig struct {
	Property string            `husk:"property,default=tags" doc:"The property that holds the tags."`
	Types    []string          `husk:"types,optional" doc:"The types of resources that must have tags, for example aws:s3/bucket:Bucket, or aws:* for all of a package. Where none is listed, resources that have the property."`
	Required []string          `husk:"required,optional" doc:"The tags that must be there."`
	Values   map[string]string `husk:"values,optional" doc:"Tags that are added where they are missing."`
}

var requiredTags = policy.Of(policy.Rule[tagsConfig]{
	Name:        "required-tags",
	Description: "Resources have the tags that tell whose they are.",
	Level:       policy.Remediate,
	Remedy:      addTags,
	Resource:    missesTags,
})

// tagged returns the tags of a resource that must have some. ok is false for others, and for unknown
// tags.
func (c tagsConfig) tagged(r abi.PolicyResource) (tags property.Map, ok bool) {
	if !r.Custom || ofEngine(r.Type) {
		return tags, false
	}
	v, has := r.Properties.Lookup(c.Property)
	wanted := has
	if len(c.Types) > 0 {
		wanted = slices.ContainsFunc(c.Types, func(pattern string) bool {
			prefix, wildcard := strings.CutSuffix(pattern, "*")
			return r.Type == pattern || wildcard && strings.HasPrefix(r.Type, prefix)
		})
	}
	if !wanted || v.Plain().IsUnknown() {
		return tags, false
	}
	tags, _ = v.Plain().AsObject()
	return tags, true
}

func addTags(_ context.Context, r policy.ResourceRequest[tagsConfig]) (policy.Remedy, error) {
	tags, ok := r.Config.tagged(r.Resource)
	if !ok {
		return policy.Remedy{}, nil
	}
	var added []string
	for name, value := range r.Config.Values {
		if !tags.Has(name) {
			tags = tags.With(name, property.String(value))
			added = append(added, name)
		}
	}
	if len(added) == 0 {
		return policy.Remedy{}, nil
	}
	slices.Sort(added)
	value := property.Object(tags)
	if r.Resource.Properties.Get(r.Config.Property).IsSecret() {
		value = property.Secret(value)
	}
	inputs := r.Resource.Properties.With(r.Config.Property, value)
	return policy.Remedy{Inputs: &inputs, Message: "added " + strings.Join(added, ", ")}, nil
}

func missesTags(_ context.Context, r policy.ResourceRequest[tagsConfig]) ([]policy.Violation, error) {
	tags, ok := r.Config.tagged(r.Resource)
	if !ok {
		return nil, nil
	}
	var missing []policy.Violation
	for _, name := range r.Config.Required {
		if !tags.Has(name) {
			missing = append(missing, policy.Violation{Path: r.Config.Property, Message: "it lacks the tag " + name + ": add it"})
		}
	}
	return missing, nil
}
