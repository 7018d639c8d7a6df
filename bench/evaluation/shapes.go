package main

import (
	"fmt"
	"strings"
)

// shape writes a project whose size is in proportion to n. config is the configuration of the stack, without the key
// config itself.
type shape struct {
	name  string
	write func(n int) (project, config string)
}

// header begins each project.
const header = "name: grown\nruntime: yaml\n"

// text is a shape without configuration.
func text(name string, write func(b *strings.Builder, n int)) shape {
	return shape{name, func(n int) (string, string) {
		var b strings.Builder
		b.WriteString(header)
		write(&b, n)
		return b.String(), ""
	}}
}

// probe ends a program with a resource that is given a value.
func probe(b *strings.Builder, value string) {
	fmt.Fprintf(b, "resources:\n  probe: {type: bare:index:Thing, properties: {value: %s}}\n", value)
}

// times writes a text n times. In it, # is the number.
func times(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// chain is times with @ for the number before, from the second on.
func chain(n int, first, next string) string {
	var b strings.Builder
	b.WriteString(first)
	for i := 1; i < n; i++ {
		b.WriteString(strings.NewReplacer("#", fmt.Sprint(i), "@", fmt.Sprint(i-1)).Replace(next))
	}
	return b.String()
}

// variables is a shape of variables with one resource.
func variables(name, each, value string) shape {
	return text(name, func(b *strings.Builder, n int) {
		b.WriteString("variables:\n  v: text\n" + times(n, each))
		probe(b, value)
	})
}

// value is a shape of one property, in which % stands for each, written n times.
func value(name, around, each string) shape {
	return text(name, func(b *strings.Builder, n int) {
		b.WriteString("variables:\n  v: text\n  l: [a, b]\n")
		probe(b, strings.ReplaceAll(around, "%", times(n, each)))
	})
}

// resources returns a shape of n resources and the text before them.
func resources(name, before, each string) shape {
	return text(name, func(b *strings.Builder, n int) {
		b.WriteString("variables:\n  v: text\nresources:\n" + before + times(n, each))
	})
}

const server = "type: cloud:index:Server, properties: {size: 1"

var shapes = []shape{
	// Texts and expressions.
	value("interpolations", `"%"`, "${v}"),
	value("interpolations of a resource", `"%"`, "${v} "),
	value("interpolations, spelt with escapes", `"%"`, `\x24{v}`),
	value("texts, spelt with escapes", "[%]", `"\x24{v} x", `),
	value("dollar signs", `"%"`, "$$"),
	value("unknown names", `"%"`, "${nothing#}"),
	value("one unknown name", `"%"`, "${nothing}"),
	value("texts with unknown names", `[%]`, `"${nothing#} x", `),
	value("texts with mistakes", `[%]`, `"${v x", `),
	text("lines with unknown names", func(b *strings.Builder, n int) {
		probe(b, "\n      block: |\n"+times(n, "        ${nothing#}\n")+"      ")
	}),
	value("a path", `"${v%}"`, ".a"),
	value("a long name", `"${v%}"`, "a"),
	value("a list in a line", "[%]", `"${v}", `),
	value("a list of texts in a line", "[%]", `"a ${v} b", `),
	value("an object in a line", "{%}", `k#: "${v}", `),
	value("computed keys", "{%}", `"k#${v}": 1, `),
	value("the same computed key", "{%}", `"k${v}": 1, "k#": 2, `),
	value("a list", "%", "\n        - \"${v}\""),
	value("joined", `{fn::join: ["", [%]]}`, `"${v}", `),
	value("split", `{fn::split: [",", "%"]}`, `a,`),
	value("JSON", `{fn::toJSON: [%]}`, `"${v}", `),
	value("base64", `{fn::toBase64: "%"}`, `${v}`),
	value("selected", `[%]`, `{fn::select: [0, "${l}"]}, `),
	value("secrets in a line", `[%]`, `{fn::secret: x}, `),
	value("secrets that are computed", `[%]`, `{fn::secret: "a${v}"}, `),
	text("secrets before lines that are deeper", func(b *strings.Builder, n int) {
		probe(b, "["+times(n, "{fn::secret: x}, ")+"\n"+times(n, "        a,\n")+"    ]")
	}),
	value("calls", `[%]`, `{fn::invoke: {function: cloud:findImage, arguments: {name: x}, return: id}}, `),
	value("lengths", `[%]`, `{fn::length: "${l}"}, `),
	value("assets", `[%]`, `{fn::stringAsset: "${v}"}, `),

	// Keys.
	value("keys", "{%}", "k#: 1, "),
	value("the same key", "{%}", "k: 1, "),
	text("the same key, on lines", func(b *strings.Builder, n int) { probe(b, "\n"+times(n, "      k: 1\n")+"      ") }),
	value("each key twice", "{%}", "k#: 1, k#: 1, "),
	text("keys of the project", func(b *strings.Builder, n int) { b.WriteString(times(n, "x-k#: 1\n")) }),
	text("unknown keys of the project", func(b *strings.Builder, n int) { b.WriteString(times(n, "unknown#: 1\n")) }),
	resources("unknown keys of resources", "", "  r#: {tipe: bare:index:Thing}\n"),
	text("unknown keys of a resource", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {type: bare:index:Thing, " + times(n, "k#: 1, ") + "}\n")
	}),
	resources("unknown properties", "", "  r#: {"+server+", sizes: 2}}\n"),
	text("unknown properties of a resource", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {" + server + ", " + times(n, "k#: 1, ") + "}}\n")
	}),
	text("properties of the wrong type", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {" + server + ", tags: {" + times(n, "k#: [], ") + "}}}\n")
	}),
	text("properties that are converted", func(b *strings.Builder, n int) {
		b.WriteString("variables: {v: 1}\nresources:\n  r: {" + server + ", tags: {" + times(n, "k#: \"${v}\", ") + "}}}\n")
	}),
	text("elements of the wrong type", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {" + server + ", rules: [" + times(n, "{port: x}, ") + "]}}\n")
	}),

	// Aliases of YAML.
	text("anchors", func(b *strings.Builder, n int) {
		b.WriteString("x-a: [" + times(n, "&a# text, ") + "]\n")
		probe(b, "["+times(n, "*a#, ")+"]")
	}),
	text("aliases of one anchor", func(b *strings.Builder, n int) {
		b.WriteString("x-a: &a [x, y]\n")
		probe(b, "["+times(n, "*a, ")+"]")
	}),
	text("aliases of a text with a mistake", func(b *strings.Builder, n int) {
		b.WriteString("variables: {a: &a \"${nothing} ${v}\"}\n")
		probe(b, "["+times(n, "*a, ")+"]")
	}),
	text("merges", func(b *strings.Builder, n int) {
		b.WriteString("x-a: [" + times(n, "&a# {k#: 1}, ") + "]\n")
		probe(b, "{<<: ["+times(n, "*a#, ")+"]}")
	}),
	text("merges of one mapping", func(b *strings.Builder, n int) {
		b.WriteString("x-a: &a {k: 1, l: 2}\n")
		probe(b, "{<<: ["+times(n, "*a, ")+"]}")
	}),
	text("merges into each", func(b *strings.Builder, n int) {
		b.WriteString("x-a: &a {k: 1, l: 2}\n")
		probe(b, "["+times(n, "{<<: *a, l: 3}, ")+"]")
	}),

	// Variables.
	variables("variables", "  v#: \"${v} x\"\n", `"${v0}"`),
	text("a chain of variables", func(b *strings.Builder, n int) {
		b.WriteString("variables:\n" + chain(n, "  v0: text\n", "  v#: \"${v@}\"\n"))
		probe(b, fmt.Sprintf(`"${v%d}"`, n-1))
	}),
	text("a chain of variables, the other way", func(b *strings.Builder, n int) {
		b.WriteString("variables:\n" + chain(n, "", "  v@: \"${v#}\"\n") + fmt.Sprintf("  v%d: text\n", n-1))
		probe(b, `"${v0}"`)
	}),
	text("a circle of variables", func(b *strings.Builder, n int) {
		b.WriteString("variables:\n" + chain(n, "", "  v@: \"${v#}\"\n") + fmt.Sprintf("  v%d: \"${v0}\"\n", n-1))
	}),
	variables("circles of variables", "  v#: \"${w#}\"\n  w#: \"${v#}\"\n", "1"),
	variables("variables that name themselves", "  v#: \"${v#}\"\n", "1"),
	text("a variable of all others", func(b *strings.Builder, n int) {
		b.WriteString("variables:\n" + times(n, "  v#: text\n") + "  all: [" + times(n, "\"${v#}\", ") + "]\n")
		probe(b, `"${all}"`)
	}),
	text("a text of all variables", func(b *strings.Builder, n int) {
		b.WriteString("variables:\n" + times(n, "  v#: text\n"))
		probe(b, `"`+times(n, "${v#}")+`"`)
	}),
	variables("variables with the name of another", "  v: text\n  v#: 1\n", "1"),
	text("names of resources and variables", func(b *strings.Builder, n int) {
		b.WriteString("variables:\n" + times(n, "  r#: text\n") + "resources:\n" + times(n, "  r#: {type: bare:index:Thing}\n"))
	}),

	// Resources and their options.
	resources("resources", "", "  r#: {type: bare:index:Thing, properties: {a: \"${v}\"}}\n"),
	resources("resources with a schema", "", "  r#: {"+server+", tags: {a: \"${v}\"}}}\n"),
	text("a chain of resources", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n" + chain(n, "  r0: {type: bare:index:Thing}\n", "  r#: {type: bare:index:Thing, properties: {before: \"${r@.id}\"}}\n"))
	}),
	resources("resources that depend on one", "  one: {type: bare:index:Thing}\n", "  r#: {type: bare:index:Thing, options: {dependsOn: [\"${one}\"]}}\n"),
	text("a resource that depends on all others", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n" + times(n, "  r#: {type: bare:index:Thing}\n") + "  all: {type: bare:index:Thing, options: {dependsOn: [" + times(n, "\"${r#}\", ") + "]}}\n")
	}),
	text("a resource that depends on one, often", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  one: {type: bare:index:Thing}\n  all: {type: bare:index:Thing, options: {dependsOn: [" + times(n, "\"${one}\", ") + "]}}\n")
	}),
	text("a resource of all others", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n" + times(n, "  r#: {type: bare:index:Thing}\n") + "  all: {type: bare:index:Thing, properties: {of: \"" + times(n, "${r#.id}") + "\"}}\n")
	}),
	text("properties of all resources", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n" + times(n, "  r#: {type: bare:index:Thing}\n") + "  all: {type: bare:index:Thing, properties: {" + times(n, "of#: \"${r#.id}\", ") + "}}\n")
	}),
	text("a variable of all resources, often", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n" + times(n, "  r#: {type: bare:index:Thing}\n") + "  last: {type: bare:index:Thing, properties: {of: \"" + strings.Repeat("${all}", n) + "\"}}\n" +
			"variables:\n  all: {fn::select: [0, [x, " + times(n, "\"${r#.id}\", ") + "]]}\n")
	}),
	text("a text of all resources, often", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n" + times(n, "  r#: {type: bare:index:Thing}\n") + "  last: {type: bare:index:Thing, properties: {of: [" + strings.Repeat("\"${all}\", ", n) + "]}}\n" +
			"variables:\n  all: {fn::length: \"" + times(n, "${r#.id}") + "\"}\n")
	}),
	resources("resources with a parent", "  one: {type: bare:index:Thing}\n", "  r#: {type: bare:index:Thing, options: {parent: \"${one}\"}}\n"),
	resources("aliases", "", "  r#: {type: bare:index:Thing, options: {aliases: [{name: a#}, {name: b#}]}}\n"),
	text("aliases of a resource", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {type: bare:index:Thing, options: {aliases: [" + times(n, "{name: a#}, ") + "]}}\n")
	}),
	resources("paths", "", "  r#: {type: bare:index:Thing, options: {ignoreChanges: [a, b]}}\n"),
	text("paths of a resource", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {type: bare:index:Thing, options: {ignoreChanges: [" + times(n, "a#, ") + "]}}\n")
	}),
	text("unknown paths of a resource", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {" + server + "}, options: {ignoreChanges: [" + times(n, "a#, ") + "]}}\n")
	}),
	text("unknown options of a resource", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {type: bare:index:Thing, options: {" + times(n, "a#: 1, ") + "}}\n")
	}),
	resources("providers of a component", "  p: {type: \"pulumi:providers:bare\"}\n", "  r#: {type: bare:index:Thing, options: {provider: \"${p}\"}}\n"),
	resources("a default provider", "  p: {type: \"pulumi:providers:bare\", defaultProvider: true}\n", "  r#: {type: bare:index:Thing}\n"),
	resources("many default providers", "", "  r#: {type: \"pulumi:providers:bare\", defaultProvider: true}\n"),
	resources("resources of unknown packages", "", "  r#: {type: \"unknown#:index:Thing\"}\n"),
	resources("resources of unknown types", "", "  r#: {type: \"cloud:index:Thing#\"}\n"),
	resources("resources that are read", "", "  r#: {type: bare:index:Thing, get: {id: \"x#\", state: {a: 1}}}\n"),
	text("what is known of a resource that is read", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n  r: {type: cloud:index:Server, get: {id: x, state: {" + times(n, "k#: 1, ") + "}}}\n")
	}),
	text("computed properties", func(b *strings.Builder, n int) {
		b.WriteString("variables:\n  all: {" + times(n, "k#: 1, ") + "}\nresources:\n  r: {type: bare:index:Thing, properties: \"${all}\"}\n")
	}),
	resources("timeouts", "", "  r#: {type: bare:index:Thing, options: {customTimeouts: {create: 5m}}}\n"),
	resources("wrong timeouts", "", "  r#: {type: bare:index:Thing, options: {customTimeouts: {create: 5x}}}\n"),
	text("actions", func(b *strings.Builder, n int) {
		b.WriteString("actions:\n" + times(n, "  a#: {function: bare:index:tell, arguments: {x: 1}}\n") + "resources:\n" + times(n, "  r#: {type: bare:index:Thing, options: {actions: {afterCreate: \"${a#}\"}}}\n"))
	}),
	text("unknown actions", func(b *strings.Builder, n int) {
		b.WriteString("actions:\n" + times(n, "  a#: {function: bare:index:tell, arguments: {x: 1}}\n") + "resources:\n" + times(n, "  r#: {type: bare:index:Thing, options: {actions: {afterCreate: \"${b#}\"}}}\n"))
	}),
	text("actions of one resource", func(b *strings.Builder, n int) {
		b.WriteString("actions:\n  a: {function: bare:index:tell, arguments: {x: 1}}\nresources:\n  r: {type: bare:index:Thing, options: {actions: {afterCreate: [" + times(n, "\"${a}\", ") + "]}}}\n")
	}),

	// Outputs.
	text("outputs", func(b *strings.Builder, n int) {
		b.WriteString("variables:\n  v: text\noutputs:\n" + times(n, "  o#: \"${v}\"\n"))
	}),
	text("outputs of resources", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n" + times(n, "  r#: {type: bare:index:Thing}\n") + "outputs:\n" + times(n, "  o#: \"${r#.id}\"\n"))
	}),
	text("an output of all resources", func(b *strings.Builder, n int) {
		b.WriteString("resources:\n" + times(n, "  r#: {type: bare:index:Thing}\n") + "outputs:\n  all: [" + times(n, "\"${r#.id}\", ") + "]\n")
	}),

	// Components.
	text("components", func(b *strings.Builder, n int) {
		b.WriteString("components:\n" + times(n, "  C#: {inputs: {a: {type: string}}, resources: {r#: {type: bare:index:Thing, properties: {a: \"${a}\"}}}, outputs: {o: \"${r#.id}\"}}\n") +
			"resources:\n" + times(n, "  c#: {type: \"grown:C#\", properties: {a: x}}\n"))
	}),
	text("components of one type", func(b *strings.Builder, n int) {
		b.WriteString("components:\n  C: {inputs: {name: {type: string}}, resources: {r: {type: bare:index:Thing, name: \"${name}-r\"}}}\n" +
			"resources:\n" + times(n, "  c#: {type: \"grown:C\", properties: {name: \"n#\"}}\n"))
	}),
	text("components with the same names", func(b *strings.Builder, n int) {
		b.WriteString("components:\n  C: {resources: {" + times(n, "r#: {type: bare:index:Thing}, ") + "}}\n" +
			"resources:\n" + times(n, "  c#: {type: \"grown:C\"}\n"))
	}),
	text("resources of a component", func(b *strings.Builder, n int) {
		b.WriteString("components:\n  C: {resources: {" + times(n, "r#: {type: bare:index:Thing}, ") + "}}\nresources:\n  c: {type: \"grown:C\"}\n")
	}),
	text("inputs of a component", func(b *strings.Builder, n int) {
		b.WriteString("components:\n  C: {inputs: {" + times(n, "i#: {type: string}, ") + "}, outputs: {" + times(n, "o#: \"${i#}\", ") + "}}\n" +
			"resources:\n  c: {type: \"grown:C\", properties: {" + times(n, "i#: x, ") + "}}\n")
	}),
	text("components that are not used", func(b *strings.Builder, n int) {
		b.WriteString("components:\n" + times(n, "  C#: {resources: {r: {type: bare:index:Thing}}}\n"))
	}),
	text("the same component", func(b *strings.Builder, n int) {
		b.WriteString("components:\n" + times(n, "  C: {resources: {r: {type: bare:index:Thing}}}\n"))
	}),
	text("components that are not there", func(b *strings.Builder, n int) {
		b.WriteString("components:\n" + times(n, "  C#: {resources: {r: {type: bare:index:Thing}}}\n") + "resources:\n" + times(n, "  c#: {type: \"grown:D#\"}\n"))
	}),

	// Configuration, providers, and packages.
	{"configuration", func(n int) (string, string) {
		return header + "config:\n" + times(n, "  k#: {type: string}\n") + "outputs:\n" + times(n, "  o#: \"${k#}\"\n"), times(n, "  grown:k#: x\n")
	}},
	{"defaults of the configuration", func(n int) (string, string) {
		return header + "config:\n" + times(n, "  k#: {type: string, default: x}\n"), ""
	}},
	{"configuration without values", func(n int) (string, string) {
		return header + "config:\n" + times(n, "  k#: {type: string}\n"), ""
	}},
	{"the same configuration", func(n int) (string, string) {
		return header + "config:\n" + times(n, "  k: {type: string, default: x}\n"), times(n, "  grown:k: x\n")
	}},
	{"configuration that is declared twice", func(n int) (string, string) {
		return header + "config:\n" + times(n, "  k#: {type: string, default: x}\n  grown:k#: y\n"), ""
	}},
	{"configuration in two places", func(n int) (string, string) {
		return header + "config:\n" + times(n, "  k#: {type: string, default: x}\n") + "configuration:\n" + times(n, "  k#: {type: string, default: x}\n"), ""
	}},
	{"configuration that is not declared", func(n int) (string, string) {
		return header, times(n, "  other:k#: x\n")
	}},
	{"a value of the configuration", func(n int) (string, string) {
		return header, "  grown:k: [" + times(n, "{a: #}, ") + "]\n"
	}},
	text("packages", func(b *strings.Builder, n int) {
		b.WriteString("plugins: {providers: [" + times(n, "{name: p#, path: p.wasm}, ") + "]}\npackages: {" + times(n, "p#: {source: p#, version: 1.0.0}, ") + "}\n")
	}),
	text("unknown packages", func(b *strings.Builder, n int) {
		b.WriteString("plugins: {providers: [" + times(n, "{name: p#, path: p.wasm}, ") + "]}\npackages: {" + times(n, "p#: {source: q#, version: 1.0.0}, ") + "}\n")
	}),
	text("providers", func(b *strings.Builder, n int) {
		b.WriteString("plugins: {providers: [" + times(n, "{name: p#, path: p.wasm}, ") + "]}\nresources: {" + times(n, "r#: {type: \"p#:index:Thing\"}, ") + "}\n")
	}),
	text("the same provider", func(b *strings.Builder, n int) {
		b.WriteString("plugins: {providers: [" + times(n, "{name: p, path: p.wasm}, ") + "]}\n")
	}),
	text("grants", func(b *strings.Builder, n int) {
		b.WriteString("plugins: {providers: [{name: p, path: p.wasm, grants: {env: [" + times(n, "V#, ") + "]}}]}\n")
	}),
	text("policies", func(b *strings.Builder, n int) {
		b.WriteString("policies: [" + times(n, "{name: p#, path: p.wasm}, ") + "]\n")
	}),
	text("limits", func(b *strings.Builder, n int) {
		b.WriteString("plugins: {limits: {" + times(n, "l#: 1, ") + "}}\n")
	}),
}
