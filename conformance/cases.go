package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/property/propertyliteral"
)

// Cases replace generated inputs. [ReadCases] describes their file.
type Cases struct {
	// Provider names the provider that the cases are for. Only people read it.
	Provider string
	// Checks are the names of the checks to run; empty for all.
	Checks []string
	// Seed is the seed of the run that wrote the cases; nil if none did.
	Seed *uint64
	// Parameters are the arguments that parameterize the provider before the tests.
	Parameters []string
	// Extension makes the provider serve the parameterized package beside its own.
	Extension bool
	// Config is the provider's configuration.
	Config property.Map
	// Configurations are checked and compared, not applied.
	Configurations []Case
	// Resources and Functions hold cases by token.
	Resources map[string][]Case
	Functions map[string][]Case
}

// Case is one set of inputs: of a resource, of the configuration, or of a function.
type Case struct {
	// Name is for people, for example minimal.
	Name string
	// Inputs are the inputs of a program.
	Inputs property.Map
	// Updates are the inputs of later deployments. If there are none, Run generates some.
	Updates []Update
	// Expect is the expected outcome beyond the contract; nil for none.
	Expect *Expectation

	// written is set for a case that a person wrote. To refuse such a case is a failure.
	written bool
	// again generates other inputs; nil if there are no others.
	again func(attempt int) property.Map
}

// Update is a later deployment of a resource.
type Update struct {
	Inputs property.Map
	// Expect is the expected diff: none, update, or replace; empty for any.
	Expect string
}

// Expectation is the expected outcome of a case beyond the contract.
type Expectation struct {
	// Refused lists the paths at which check must refuse the inputs.
	Refused []string
	// Error is the expected kind of error of create or invoke, such as not-found.
	Error string
	// Outputs are properties of the state or result. A secret equals its plain value.
	Outputs property.Map
}

// ReadCases reads cases from a document of JSON or YAML, decoded into maps, slices, and
// scalars. For example, in YAML:
//
//	config: {region: north}
//	resources:
//	  notes:index:Note:
//	    - name: long
//	      inputs: {title: a, text: {fn::secret: word}}
//	      updates:
//	        - {inputs: {title: b, text: word}, expect: replace}
//	      expect: {outputs: {words: 1}}
//	    - inputs: {title: a}
//	      expect: {refused: [text]}
//	functions:
//	  notes:index:count:
//	    - args: {text: a b}
//	      expect: {outputs: {words: 2}}
//
// All members are optional. error in expect is the expected kind of error. A document may also have
// the checks to run (checks), the arguments of a parameterization (parameters, extension), and cases
// of the configuration that are checked and not applied (configurations). A file that a run wrote also
// has the provider and the seed. An error names the place in the document.
func ReadCases(document any) (*Cases, error) {
	c := &Cases{}
	r := &caseReader{}
	r.object("", document, map[string]func(string, any){
		"provider":       func(at string, v any) { c.Provider = r.text(at, v) },
		"seed":           func(at string, v any) { n := uint64(r.number(at, v)); c.Seed = &n },
		"checks":         func(at string, v any) { c.Checks = r.checks(at, v) },
		"parameters":     func(at string, v any) { c.Parameters = r.texts(at, v) },
		"extension":      func(at string, v any) { c.Extension = as[bool](r, at, v, "true or false") },
		"config":         func(at string, v any) { c.Config = r.properties(at, v) },
		"configurations": func(at string, v any) { c.Configurations = r.cases(at, v, "inputs") },
		"resources":      func(at string, v any) { c.Resources = r.tokens(at, v, "inputs") },
		"functions":      func(at string, v any) { c.Functions = r.tokens(at, v, "args") },
	})
	if r.err != nil {
		return nil, fmt.Errorf("cases: %w", r.err)
	}
	return c, nil
}

// caseReader reads the parts of a document, and keeps the first mistake.
type caseReader struct{ err error }

func (r *caseReader) fail(at, format string, args ...any) {
	if r.err == nil {
		if at != "" {
			format = at + ": " + format
		}
		r.err = fmt.Errorf(format, args...)
	}
}

// object reads the members of an object with a function each.
func (r *caseReader) object(at string, v any, members map[string]func(string, any)) {
	m := as[map[string]any](r, at, v, "an object")
	names := slices.Sorted(maps.Keys(members))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		read, known := members[name]
		if !known {
			near := ""
			if n := schema.Nearest(name, names); n != "" {
				near = fmt.Sprintf("did you mean %q? ", n)
			}
			r.fail(at, "there is no member %q here; %sthere are %s", name, near, strings.Join(names, ", "))
			return
		}
		read(join(at, name), m[name])
	}
}

// as returns a part of the document as a T, which what describes.
func as[T any](r *caseReader, at string, v any, what string) T {
	t, ok := v.(T)
	if !ok {
		r.fail(at, "must be %s", what)
	}
	return t
}

func join(at, name string) string {
	path, err := property.ParsePath(at)
	if err != nil {
		return at + "." + name
	}
	return path.Append(property.Key(name)).String()
}

func (r *caseReader) list(at string, v any, each func(at string, v any)) {
	for i, e := range as[[]any](r, at, v, "a list") {
		each(fmt.Sprintf("%s[%d]", at, i), e)
	}
}

func (r *caseReader) text(at string, v any) string { return as[string](r, at, v, "text") }

func (r *caseReader) texts(at string, v any) (texts []string) {
	r.list(at, v, func(at string, v any) { texts = append(texts, r.text(at, v)) })
	return texts
}

func (r *caseReader) number(at string, v any) float64 {
	value, err := propertyliteral.Decode(v)
	f, ok := value.AsNumber()
	if err != nil || !ok || f < 0 || !value.IsInteger() {
		r.fail(at, "must be a natural number")
	}
	return f
}

func (r *caseReader) checks(at string, v any) []string {
	names := r.texts(at, v)
	for _, name := range names {
		if position(name) < 0 {
			r.fail(at, "%s", (&UnknownCheckError{Name: name}).Error())
		}
	}
	return names
}

func (r *caseReader) properties(at string, v any) property.Map {
	m, err := propertyliteral.DecodeMap(as[map[string]any](r, at, v, "an object"))
	if err != nil {
		r.fail(at, "%w", err)
	}
	return m
}

func (r *caseReader) tokens(at string, v any, inputs string) map[string][]Case {
	m := as[map[string]any](r, at, v, "an object, of the cases by tokens")
	cases := make(map[string][]Case, len(m))
	for _, token := range slices.Sorted(maps.Keys(m)) {
		cases[token] = r.cases(join(at, token), m[token], inputs)
	}
	return cases
}

// cases reads cases. inputs is the name of the member with their inputs.
func (r *caseReader) cases(at string, v any, inputs string) (cases []Case) {
	r.list(at, v, func(at string, v any) {
		var c Case
		members := map[string]func(string, any){
			"name":   func(at string, v any) { c.Name = r.text(at, v) },
			inputs:   func(at string, v any) { c.Inputs = r.properties(at, v) },
			"expect": func(at string, v any) { c.Expect = r.expectation(at, v) },
		}
		if inputs == "inputs" {
			members["updates"] = func(at string, v any) {
				c.Updates = []Update{}
				r.list(at, v, func(at string, v any) { c.Updates = append(c.Updates, r.update(at, v)) })
			}
		}
		r.object(at, v, members)
		cases = append(cases, c)
	})
	return cases
}

func (r *caseReader) update(at string, v any) (u Update) {
	r.object(at, v, map[string]func(string, any){
		"inputs": func(at string, v any) { u.Inputs = r.properties(at, v) },
		"expect": func(at string, v any) {
			u.Expect = r.text(at, v)
			if !slices.Contains([]string{"none", "update", "replace"}, u.Expect) {
				r.fail(at, "must be none, update, or replace")
			}
		},
	})
	return u
}

func (r *caseReader) expectation(at string, v any) *Expectation {
	e := &Expectation{}
	r.object(at, v, map[string]func(string, any){
		"refused": func(at string, v any) { e.Refused = r.texts(at, v) },
		"outputs": func(at string, v any) { e.Outputs = r.properties(at, v) },
		"error": func(at string, v any) {
			e.Error = r.text(at, v)
			var kinds []string
			for k := abi.ErrorKindInvalidArgument; k.String() != "invalid"; k++ {
				kinds = append(kinds, k.String())
			}
			if !slices.Contains(kinds, e.Error) {
				r.fail(at, "there is no kind of error %q; there are %s", e.Error, strings.Join(kinds, ", "))
			}
		},
	})
	return e
}

// Document returns the cases as a document of JSON or YAML, with secrets in plain.
func (c *Cases) Document() map[string]any {
	d := map[string]any{}
	set := func(name string, v any, is bool) {
		if is {
			d[name] = v
		}
	}
	set("provider", c.Provider, c.Provider != "")
	set("checks", anys(c.Checks), len(c.Checks) > 0)
	set("parameters", anys(c.Parameters), len(c.Parameters) > 0)
	set("extension", true, c.Extension)
	set("config", propertyliteral.EncodeMap(c.Config), c.Config.Len() > 0)
	set("configurations", casesDocument(c.Configurations, "inputs"), len(c.Configurations) > 0)
	set("resources", tokensDocument(c.Resources, "inputs"), len(c.Resources) > 0)
	set("functions", tokensDocument(c.Functions, "args"), len(c.Functions) > 0)
	if c.Seed != nil {
		d["seed"] = *c.Seed
	}
	return d
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

func tokensDocument(cases map[string][]Case, inputs string) map[string]any {
	d := make(map[string]any, len(cases))
	for token, list := range cases {
		d[token] = casesDocument(list, inputs)
	}
	return d
}

func casesDocument(cases []Case, inputs string) []any {
	list := make([]any, len(cases))
	for i, c := range cases {
		d := map[string]any{inputs: propertyliteral.EncodeMap(c.Inputs)}
		if c.Name != "" {
			d["name"] = c.Name
		}
		if c.Updates != nil {
			updates := make([]any, len(c.Updates))
			for j, u := range c.Updates {
				updates[j] = map[string]any{"inputs": propertyliteral.EncodeMap(u.Inputs)}
				if u.Expect != "" {
					updates[j].(map[string]any)["expect"] = u.Expect
				}
			}
			d["updates"] = updates
		}
		if e := c.Expect; e != nil {
			d["expect"] = e.document()
		}
		list[i] = d
	}
	return list
}

func (e *Expectation) document() map[string]any {
	d := map[string]any{}
	if len(e.Refused) > 0 {
		d["refused"] = anys(e.Refused)
	}
	if e.Error != "" {
		d["error"] = e.Error
	}
	if e.Outputs.Len() > 0 {
		d["outputs"] = propertyliteral.EncodeMap(e.Outputs)
	}
	return d
}
