package schema

import (
	"slices"
	"strings"
)

// Resource returns the resource type with exactly this token, nil where there is none.
func (p *Package) Resource(token string) *Resource {
	i, ok := slices.BinarySearchFunc(p.Resources, token, func(r *Resource, token string) int {
		return strings.Compare(r.Token, token)
	})
	if !ok {
		return nil
	}
	return p.Resources[i]
}

// Function returns the function with exactly this token, nil where there is none.
func (p *Package) Function(token string) *Function {
	i, ok := slices.BinarySearchFunc(p.Functions, token, func(f *Function, token string) int {
		return strings.Compare(f.Token, token)
	})
	if !ok {
		return nil
	}
	return p.Functions[i]
}

// ResolveResource returns the resource type that a program means by token: its own
// token, an alias, or one of the short forms of Pulumi YAML, such as
// random:RandomPet or random:index:RandomPet for random:index/randomPet:RandomPet.
func (p *Package) ResolveResource(token string) *Resource {
	for _, candidate := range expansions(token) {
		if r := p.Resource(candidate); r != nil {
			return r
		}
	}
	for _, r := range p.Resources {
		if slices.Contains(r.Aliases, token) {
			return r
		}
	}
	return nil
}

// ResolveFunction returns the function that a program means by token, in the same
// forms as [Package.ResolveResource].
func (p *Package) ResolveFunction(token string) *Function {
	for _, candidate := range expansions(token) {
		if f := p.Function(candidate); f != nil {
			return f
		}
	}
	return nil
}

// expansions returns the tokens that a program may mean by token, the likeliest first.
func expansions(token string) []string {
	parts := strings.Split(token, ":")
	switch len(parts) {
	case 2:
		pkg, name := parts[0], parts[1]
		return []string{token, pkg + ":index:" + name, pkg + ":index/" + lowerFirst(name) + ":" + name}
	case 3:
		pkg, module, name := parts[0], parts[1], parts[2]
		return []string{token, pkg + ":" + module + "/" + lowerFirst(name) + ":" + name}
	}
	return []string{token}
}

// lowerFirst is how a type's or function's name is written in the module part of its token.
func lowerFirst(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// NearestResource returns the token of a resource type that a program may have meant
// by a token that does not resolve, "" where none is near.
func (p *Package) NearestResource(token string) string {
	tokens := make([]string, len(p.Resources))
	for i, r := range p.Resources {
		tokens[i] = r.Token
	}
	return nearestToken(token, tokens)
}

// NearestFunction is NearestResource for functions.
func (p *Package) NearestFunction(token string) string {
	tokens := make([]string, len(p.Functions))
	for i, f := range p.Functions {
		tokens[i] = f.Token
	}
	return nearestToken(token, tokens)
}

// nearestToken compares the names at the tokens' ends, which is where people err.
func nearestToken(token string, tokens []string) string {
	names := make([]string, len(tokens))
	for i, t := range tokens {
		names[i] = t[strings.LastIndexByte(t, ':')+1:]
	}
	near := Nearest(token[strings.LastIndexByte(token, ':')+1:], names)
	if i := slices.Index(names, near); i >= 0 && near != "" {
		return tokens[i]
	}
	return ""
}
