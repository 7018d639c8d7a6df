package schema

import (
	"slices"
	"strings"
)

// Resource returns the resource type with exactly this token, or nil.
func (p *Package) Resource(token string) *Resource { return byToken(p.Resources, token) }

// Function returns the function with exactly this token, or nil.
func (p *Package) Function(token string) *Function { return byToken(p.Functions, token) }

func (r *Resource) token() string { return r.Token }

func (f *Function) token() string { return f.Token }

// byToken returns the entry of a sorted list that has the token, or the zero value.
func byToken[T interface{ token() string }](list []T, token string) (found T) {
	at, ok := slices.BinarySearchFunc(list, token, func(t T, token string) int { return strings.Compare(t.token(), token) })
	if ok {
		found = list[at]
	}
	return found
}

// ResolveResource returns the resource type that a program means by token: its own token, an alias,
// or one of the short forms of Pulumi YAML, such as random:RandomPet or random:index:RandomPet for
// random:index/randomPet:RandomPet.
func (p *Package) ResolveResource(token string) *Resource {
	if r := resolve(p.Resources, token); r != nil {
		return r
	}
	for _, r := range p.Resources {
		if slices.Contains(r.Aliases, token) {
			return r
		}
	}
	return nil
}

// ResolveFunction is ResolveResource for functions, which have no aliases.
func (p *Package) ResolveFunction(token string) *Function { return resolve(p.Functions, token) }

// resolve returns the first entry that has one of the tokens that a program may mean.
func resolve[T interface {
	comparable
	token() string
}](list []T, token string) (none T) {
	for _, candidate := range expansions(token) {
		if found := byToken(list, candidate); found != none {
			return found
		}
	}
	return none
}

// expansions returns the possible meanings of a token, the likeliest first.
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

// ShortToken returns a token in the shortest form that programs may write it in: tls:PrivateKey for
// tls:index/privateKey:PrivateKey, and aws:s3:Bucket for aws:s3/bucket:Bucket.
func ShortToken(token string) string {
	parts := strings.Split(token, ":")
	if len(parts) != 3 {
		return token
	}
	pkg, module, name := parts[0], parts[1], parts[2]
	module = strings.TrimSuffix(module, "/"+lowerFirst(name))
	if module == "index" || module == "" {
		return pkg + ":" + name
	}
	return pkg + ":" + module + ":" + name
}

// lowerFirst returns a type's or function's name as in the module part of its token.
func lowerFirst(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// NearestResource returns the type's token that a program may have meant by another, as [ShortToken] writes it, or "".
func (p *Package) NearestResource(token string) string { return nearestToken(p.Resources, token) }

// NearestFunction is NearestResource for functions.
func (p *Package) NearestFunction(token string) string { return nearestToken(p.Functions, token) }

// nearestToken compares the names at the tokens' ends, which is where people err.
func nearestToken[T interface{ token() string }](list []T, token string) string {
	nameOf := func(token string) string { return token[strings.LastIndexByte(token, ':')+1:] }
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = nameOf(t.token())
	}
	near := Nearest(nameOf(token), names)
	if i := slices.Index(names, near); i >= 0 && near != "" {
		return ShortToken(list[i].token())
	}
	return ""
}
