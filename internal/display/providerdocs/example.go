package providerdocs

import (
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// maxDepth bounds the objects inside of each other in an example. Required properties of a type may contain the type.
const maxDepth = 6

// exampleInputs returns lines of YAML with the required properties of an object.
func exampleInputs(o *schema.Object, indent string) []string {
	var lines []string
	for i := range o.Properties {
		if p := &o.Properties[i]; p.Required && !p.HasDefault() {
			lines = append(lines, exampleProperty(p, indent, 0)...)
		}
	}
	return lines
}

func exampleProperty(p *schema.Property, indent string, depth int) []string {
	key := indent + yamlKey(p.Name) + ":"
	value := exampleValue(p, depth)
	if !strings.Contains(value, "\n") {
		return []string{key + " " + value}
	}
	lines := []string{key}
	for line := range strings.SplitSeq(strings.Trim(value, "\n"), "\n") {
		lines = append(lines, indent+"  "+line)
	}
	return lines
}

// exampleValue returns a value that the property takes: in one line, or as lines that begin with a line end.
func exampleValue(p *schema.Property, depth int) string {
	switch {
	case !p.Const.IsNull():
		return scalar(p.Const)
	case len(p.OneOf) > 0:
		return scalar(p.OneOf[0])
	case p.Minimum != nil && (p.Type.Kind == schema.KindInteger || p.Type.Kind == schema.KindNumber):
		return scalar(property.Number(max(*p.Minimum, least(p.Maximum))))
	case p.Maximum != nil && *p.Maximum < 1:
		return scalar(property.Number(*p.Maximum))
	}
	return exampleOf(p.Type, p.Name, depth)
}

// least returns 1, or the maximum if that is less.
func least(maximum *float64) float64 {
	if maximum != nil && *maximum < 1 {
		return *maximum
	}
	return 1
}

func exampleOf(t *schema.Type, name string, depth int) string {
	if t == nil || depth > maxDepth {
		return "example"
	}
	switch t.Kind {
	case schema.KindBool:
		return "true"
	case schema.KindInteger, schema.KindNumber:
		return "1"
	case schema.KindArray:
		return block("- ", exampleOf(t.Element, name, depth+1))
	case schema.KindMap:
		return block("key: ", exampleOf(t.Element, name, depth+1))
	case schema.KindObject:
		var lines []string
		for i := range t.Object.Properties {
			if p := &t.Object.Properties[i]; p.Required && !p.HasDefault() {
				lines = append(lines, exampleProperty(p, "", depth+1)...)
			}
		}
		if len(lines) == 0 {
			return "{}"
		}
		return "\n" + strings.Join(lines, "\n")
	case schema.KindEnum:
		if len(t.Values) > 0 {
			return scalar(t.Values[0])
		}
	case schema.KindAsset:
		return "{fn::stringAsset: text of a file}"
	case schema.KindArchive:
		return "{fn::assetArchive: {name.txt: {fn::stringAsset: text of a file}}}"
	case schema.KindResource:
		return "${other}"
	case schema.KindUnion:
		if len(t.OneOf) > 0 {
			return exampleOf(t.OneOf[0], name, depth+1)
		}
	}
	return "example"
}

// block returns a value behind the mark of an element.
func block(mark, value string) string {
	if !strings.HasPrefix(value, "\n") {
		return "\n" + mark + value
	}
	lines := strings.Split(strings.Trim(value, "\n"), "\n")
	if !strings.HasPrefix(mark, "-") {
		return "\n" + strings.TrimRight(mark, " ") + "\n  " + strings.Join(lines, "\n  ")
	}
	return "\n" + mark + strings.Join(lines, "\n  ")
}

// scalar returns a value in one line of YAML.
func scalar(v property.Value) string {
	v = v.Plain()
	if text, ok := v.AsString(); ok {
		return yamlText(text)
	}
	return property.Render(v)
}

// yamlText returns a text as YAML takes it, in quotes if it could be anything else.
func yamlText(text string) string {
	plain := text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_' || r == '-' || r == '/' || '0' <= r && r <= '9')
	})
	first := text != "" && ('a' <= text[0] && text[0] <= 'z' || 'A' <= text[0] && text[0] <= 'Z')
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		first = false
	}
	if plain && first {
		return text
	}
	return property.Render(property.String(text))
}

func yamlKey(name string) string { return yamlText(name) }

// resourceExample returns a resource of a program.
func resourceExample(r *schema.Resource) string {
	lines := []string{"resources:", "  example:", "    type: " + schema.ShortToken(r.Token)}
	if inputs := exampleInputs(&r.Inputs, "      "); len(inputs) > 0 {
		lines = append(append(lines, "    properties:"), inputs...)
	}
	return strings.Join(lines, "\n") + "\n"
}

// functionExample returns a call of a function in a program.
func functionExample(f *schema.Function) string {
	token := schema.ShortToken(f.Token)
	if f.Action {
		lines := []string{"actions:", "  example:", "    function: " + token}
		if args := exampleInputs(&f.Args, "      "); len(args) > 0 {
			lines = append(append(lines, "    arguments:"), args...)
		}
		return strings.Join(lines, "\n") + "\n"
	}
	lines := []string{"variables:", "  example:", "    fn::invoke:", "      function: " + token}
	if args := exampleInputs(&f.Args, "        "); len(args) > 0 {
		lines = append(append(lines, "      arguments:"), args...)
	}
	return strings.Join(lines, "\n") + "\n"
}
