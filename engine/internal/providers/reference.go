package providers

import (
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/urn"
)

// TypePrefix begins the types of provider resources.
const TypePrefix = "pulumi:providers:"

// UnknownID stands for the ID of a provider that a preview has not created. It
// is Pulumi's sentinel for an unknown string.
const UnknownID = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

// IsType reports whether typ is the type of a provider resource.
func IsType(typ string) bool { return strings.HasPrefix(typ, TypePrefix) }

// IsDefault reports whether u names a provider that nobody wrote down.
func IsDefault(u urn.URN) bool {
	return IsType(u.Type()) && (u.Name() == "default" || strings.HasPrefix(u.Name(), "default_"))
}

// PackageOf is the package that a type or function token belongs to.
func PackageOf(token string) string {
	pkg, _, _ := strings.Cut(token, ":")
	return pkg
}

// These are inputs of provider resources that are the engine's own, as Pulumi has them: [EnvVarMappings] is a key of
// [Internal].
const (
	Internal       = "__internal"
	EnvVarMappings = "envVarMappings"
)

// PackageOfReference is the package of a provider reference, empty for none.
func PackageOfReference(ref string) string {
	u, _, err := SplitReference(ref)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Type(), TypePrefix)
}

// Reference joins a provider resource's URN and ID.
func Reference(u urn.URN, id string) string { return string(u) + "::" + id }

// SplitReference parts a provider reference at its last "::".
func SplitReference(ref string) (u urn.URN, id string, err error) {
	i := strings.LastIndex(ref, "::")
	if i < 0 {
		return "", "", fmt.Errorf("invalid provider reference %q: it must have the form <urn>::<id>", ref)
	}
	u, err = urn.Parse(ref[:i])
	if err != nil {
		return "", "", fmt.Errorf("invalid provider reference %q: %w", ref, err)
	}
	if !IsType(u.Type()) {
		return "", "", fmt.Errorf("invalid provider reference %q: %s is not a provider", ref, u)
	}
	return u, ref[i+2:], nil
}

// ShownID hides the stand-in for an ID that is not known.
func ShownID(id string) string {
	if id == UnknownID {
		return ""
	}
	return id
}
