package yamlprogram

import (
	"context"
	"fmt"

	"github.com/husk-dev/husk/engine/program"
)

// ResourceToken returns the whole type of a resource that is written as in a program:
// random:index/randomPet:RandomPet for random:RandomPet. The error is [ErrUnknownPackage]
// where the project has no provider for the package.
func ResourceToken(ctx context.Context, project *program.Project, schemas Schemas, typ string) (string, error) {
	pkg, ok := packageOf(typ)
	if !ok {
		return "", fmt.Errorf("%q is not a type: it must have the form <package>:<name> or <package>:<module>:<name>", typ)
	}
	s, err := schemas.Package(ctx, project.Package(pkg))
	if err != nil {
		return "", err
	}
	if s == nil {
		return expand(typ), nil
	}
	if r := s.ResolveResource(typ); r != nil {
		return r.Token, nil
	}
	err = fmt.Errorf("the package %q has no resource type %q", pkg, typ)
	if near := s.NearestResource(typ); near != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return "", err
}
