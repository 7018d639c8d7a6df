// Package grant is the grammar of providers' requests and operators' grants: the capabilities, how a grant of each is written,
// and which uses it covers. Package host holds providers to their grants; project files, the flag --grant, audits, and advice are
// read and written by the same table.
//
// A capability is one file here. See [Capability] for its declaration.
package grant

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
)

// The names of the capabilities, in requests, project files, flags, and audits.
const (
	NameFS   = "fs"
	NameEnv  = "env"
	NameHTTP = "http"
	NameTCP  = "tcp"
	NameKV   = "kv"
)

// Capability is a right that a provider has only if its operator grants it.
type Capability struct {
	Name string
	// Flags are the forms that the flag --grant has for it.
	Flags []string
	// Placeholder stands in advice for a scope that only the operator knows. A capability
	// without one has no scope: all of it is granted.
	Placeholder string
	// Entry is a grant of it in a project file.
	Entry Entry

	fulfils func(s Set, scope string) bool
	add     func(s *Set, t Text, p Place) error
}

// HasScope reports whether grants are of a part of the capability, such as a directory, and not of all.
func (c Capability) HasScope() bool { return c.Placeholder != "" }

// Entry is the form of one grant in a list of a project file: a text, which is the scope, or a
// mapping that has the scope under Key, and options.
type Entry struct {
	// Noun names the entry in errors, with an article.
	Noun string
	// Key is empty if the entry is always a text. KeyNoun is the key's value in errors, and
	// Missing the error of an entry without it.
	Key, KeyNoun, Missing string
	// Options are among the constants below.
	Options []string
	// Check returns an error if the scope is not one. Nil: that is found out when it is granted.
	Check func(scope string) error
}

// The options of an entry. A mode is written behind the scope, too: dir:rw.
const (
	OptionMode    = "mode"
	OptionMethods = "methods"
	OptionHeaders = "headers"
)

// all is in the order in which grants are listed.
var all = []Capability{fsCapability, envCapability, httpCapability, tcpCapability, kvCapability}

// Named returns a capability, and whether there is one of that name.
func Named(name string) (c Capability, ok bool) {
	at := slices.IndexFunc(all, func(c Capability) bool { return c.Name == name })
	if at < 0 {
		return c, false
	}
	return all[at], true
}

// Names returns the names of the capabilities, in the order in which grants are listed.
func Names() []string {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// Flags returns the forms that the flag --grant takes, for people. Each form has the prefix.
func Flags(prefix string) string {
	var forms []string
	for _, c := range all {
		for _, form := range c.Flags {
			forms = append(forms, prefix+form)
		}
	}
	return list(forms, "or")
}

// list returns words as a sentence has them.
func list(words []string, conjunction string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + ", " + conjunction + " " + words[last]
}

// Text is a grant as it is written. A refusal names the grant that would have covered the use.
type Text struct {
	// Capability is its name.
	Capability string
	// Scope is the granted part, such as a URL. It is empty for a capability that has none, or if only the operator knows it.
	Scope string
	// Methods are the granted methods of a URL. None stands for all. A refusal of another method names that method last, behind
	// the granted ones.
	Methods []string
}

// String returns the grant as capability and scope.
func (t Text) String() string {
	text := strings.TrimSpace(t.Capability + " " + t.Scope)
	if len(t.Methods) > 0 {
		text += " with the methods " + strings.Join(t.Methods, ", ")
	}
	return text
}

// ParseFlag reads the value of the flag --grant: NAME=SCOPE, or NAME alone.
func ParseFlag(text string) (Text, error) {
	name, scope, scoped := strings.Cut(text, "=")
	c, ok := Named(name)
	switch {
	case ok && !c.HasScope() && !scoped:
		return Text{Capability: name}, nil
	case !scoped || scope == "":
		return Text{}, fmt.Errorf("must be %s", Flags(""))
	case !ok || !c.HasScope():
		return Text{}, fmt.Errorf("there is no capability %q; there are %s", name, list(Names(), "and"))
	}
	return Text{Capability: name, Scope: scope}, nil
}

// Flag returns the grant as the flag --grant takes it.
func (t Text) Flag() string {
	if t = t.complete(); t.Scope == "" {
		return t.Capability
	}
	return t.Capability + "=" + t.Scope
}

// Lines returns the value of the capability in the grants of a project file: an element of its
// list on a line of its own, or true.
func (t Text) Lines() string {
	if t = t.complete(); t.Scope == "" {
		return " true"
	}
	if len(t.Methods) > 0 {
		return fmt.Sprintf("\n      - {url: %q, methods: [%s]}", t.Scope, strings.Join(t.Methods, ", "))
	}
	return "\n      - " + quoted(t.Scope)
}

// complete returns the grant with a placeholder for a scope that is not known.
func (t Text) complete() Text {
	if c, _ := Named(t.Capability); t.Scope == "" {
		t.Scope = c.Placeholder
	}
	return t
}

// quoted returns a text in quotes if YAML would read something else.
func quoted(text string) string {
	if strings.HasPrefix(text, "*") || strings.HasPrefix(text, "[") || strings.ContainsAny(text, "\"'#{}") || strings.Contains(text, ": ") {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// Place is where an operator grants something.
type Place struct {
	// Dir is the base of relative directories.
	Dir string
	// Store returns the provider's store, which must not be nil.
	Store func() (abi.KV, error)
	// AnyHost permits grants of all names on the Internet: https://*, http://*, and *:PORT.
	AnyHost bool
}

// Set has the grants of a provider. Computing, its log, clocks, and random numbers need none. The zero value grants nothing.
type Set struct {
	FS []FS
	// Withheld are files and directories of the host, by their paths, that are in no granted
	// directory unless that is one of them or lies in one: what belongs to the host itself. A * in
	// the last name of a path stands for any text, and ** before it for any directories. The provider finds none of it, and can put
	// nothing in its place.
	Withheld []string
	// Env are the names of environment variables that the provider sees if they are set.
	Env []string
	// EnvVarMappings have the provider see granted variables under other names: each key is a granted variable, and its value the
	// name that the provider sees.
	EnvVarMappings map[string]string
	// HTTP are the services that the provider may send requests to.
	HTTP []HTTP
	// TCP are the hosts and ports that the provider may connect to.
	TCP []TCP
	// KV is the provider's store, nil for none.
	KV abi.KV
	// GrantAdvice returns the lines of an error that say how to grant a refused use, because the user reads the provider's error. If it
	// is nil, the error names only the missing grant. It must be safe for concurrent use.
	GrantAdvice func(Text) string
}

// With returns the grants and more. It has the first of two stores, or of two ways to advise.
func (s Set) With(more Set) Set {
	sum := Set{
		FS:       slices.Concat(s.FS, more.FS),
		Withheld: slices.Concat(s.Withheld, more.Withheld),
		Env:      slices.Concat(s.Env, more.Env),
		HTTP:     slices.Concat(s.HTTP, more.HTTP),
		TCP:      slices.Concat(s.TCP, more.TCP),
		KV:       s.KV,
	}
	if sum.KV == nil {
		sum.KV = more.KV
	}
	if len(s.EnvVarMappings)+len(more.EnvVarMappings) > 0 {
		sum.EnvVarMappings = maps.Clone(more.EnvVarMappings)
		if sum.EnvVarMappings == nil {
			sum.EnvVarMappings = map[string]string{}
		}
		maps.Copy(sum.EnvVarMappings, s.EnvVarMappings)
	}
	if sum.GrantAdvice = s.GrantAdvice; sum.GrantAdvice == nil {
		sum.GrantAdvice = more.GrantAdvice
	}
	return sum
}

// Add adds a grant as it is written.
func (s *Set) Add(t Text, p Place) error {
	c, ok := Named(t.Capability)
	if !ok {
		return fmt.Errorf("there is no capability %q", t.Capability)
	}
	more := Set{}
	if err := c.add(&more, t, p); err != nil {
		return err
	}
	*s = s.With(more)
	return nil
}

// Fulfils reports whether the grants cover the request. A request without a scope leaves that open: anything of the capability
// fulfils it.
func (s Set) Fulfils(capability, scope string) bool {
	c, ok := Named(capability)
	return ok && c.fulfils(s, scope)
}
