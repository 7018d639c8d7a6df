package schema

import "github.com/husk-dev/husk/abi/property"

// Extension is the key of the members of this project in the "language" members of a package schema.
const Extension = "husk"

// AppendJSON appends the package schema as a JSON document in the format of Pulumi's metaschema. The
// same package gives the same bytes.
func (p *Package) AppendJSON(buf []byte) []byte {
	w := &writer{buf: buf}
	w.open('{')
	w.stringMember("name", p.Name)
	w.stringMember("displayName", p.DisplayName)
	w.stringMember("version", p.Version)
	w.stringMember("description", p.Description)
	w.stringsMember("keywords", p.Keywords)
	w.stringMember("homepage", p.Homepage)
	w.stringMember("license", p.License)
	w.stringMember("repository", p.Repository)
	w.stringMember("publisher", p.Publisher)
	w.stringsMember("allowedPackageNames", p.AllowedPackageNames)
	if b := p.Parameterization; b != nil {
		w.openMember("parameterization", '{')
		w.openMember("baseProvider", '{')
		w.stringMember("name", b.Name)
		w.stringMember("version", b.Version)
		w.close('}')
		w.key("parameter")
		w.base64(b.Parameter)
		w.close('}')
	}

	w.openMember("config", '{')
	w.properties("variables", &p.Config)
	w.stringsMember("defaults", required(&p.Config))
	w.close('}')

	if len(p.Types)+len(p.Enums) > 0 {
		w.openMember("types", '{')
		for _, t := range p.Types {
			w.key(t.Token)
			w.object(t)
		}
		for _, e := range p.Enums {
			w.key(e.Token)
			w.enum(e)
		}
		w.close('}')
	}

	w.openMember("provider", '{')
	w.stringMember("description", p.Config.Description)
	w.properties("inputProperties", &p.Config)
	w.stringsMember("requiredInputs", required(&p.Config))
	if p.SchemaCheckConfig || p.SchemaDiffConfig || p.SchemaConfigure || p.Deferred {
		w.beginExtension()
		w.boolMember("schemaCheck", p.SchemaCheckConfig)
		w.boolMember("schemaDiff", p.SchemaDiffConfig)
		w.boolMember("schemaConfigure", p.SchemaConfigure)
		w.boolMember("deferred", p.Deferred)
		w.endExtension()
	}
	w.close('}')

	w.openMember("resources", '{')
	for _, r := range p.Resources {
		w.key(r.Token)
		w.resource(r)
	}
	w.close('}')

	w.openMember("functions", '{')
	for _, f := range p.Functions {
		w.key(f.Token)
		w.function(f)
	}
	w.close('}')
	w.close('}')
	return w.buf
}

func (w *writer) resource(r *Resource) {
	w.open('{')
	w.stringMember("description", r.Description)
	w.stringMember("deprecationMessage", r.Deprecation)
	w.properties("properties", &r.Outputs)
	w.stringsMember("required", required(&r.Outputs))
	w.properties("inputProperties", &r.Inputs)
	w.stringsMember("requiredInputs", required(&r.Inputs))
	if len(r.Aliases) > 0 {
		w.openMember("aliases", '[')
		for _, token := range r.Aliases {
			w.open('{')
			w.stringMember("type", token)
			w.close('}')
		}
		w.close(']')
	}
	w.boolMember("isComponent", r.Component)
	if len(r.Methods) > 0 {
		w.openMember("methods", '{')
		for i := range r.Methods {
			w.stringMember(r.Methods[i].Name, r.Methods[i].Function)
		}
		w.close('}')
	}
	if r.DeleteBeforeReplace || len(r.Identity) > 0 || r.SchemaCheck || r.SchemaDiff {
		w.beginExtension()
		w.boolMember("deleteBeforeReplace", r.DeleteBeforeReplace)
		w.stringsMember("identity", r.Identity)
		w.boolMember("schemaCheck", r.SchemaCheck)
		w.boolMember("schemaDiff", r.SchemaDiff)
		w.endExtension()
	}
	w.close('}')
}

func (w *writer) function(f *Function) {
	w.open('{')
	w.stringMember("description", f.Description)
	w.stringMember("deprecationMessage", f.Deprecation)
	w.key("inputs")
	w.object(&f.Args)
	w.key("outputs")
	if f.Returns != nil {
		w.open('{')
		w.typeMembers(f.Returns)
		w.close('}')
	} else {
		w.object(&f.Result)
	}
	if f.Streams || f.Ephemeral || f.Action || f.SchemaCheck {
		w.beginExtension()
		w.boolMember("streams", f.Streams)
		w.boolMember("ephemeral", f.Ephemeral)
		w.boolMember("action", f.Action)
		w.boolMember("schemaCheck", f.SchemaCheck)
		w.endExtension()
	}
	w.close('}')
}

func (w *writer) object(o *Object) {
	w.open('{')
	w.stringMember("description", o.Description)
	w.stringMember("type", "object")
	w.properties("properties", o)
	w.stringsMember("required", required(o))
	w.close('}')
}

func (w *writer) enum(t *Type) {
	w.open('{')
	w.stringMember("type", enumType(t))
	w.openMember("enum", '[')
	for _, v := range t.Values {
		w.open('{')
		w.key("value")
		w.value(v)
		w.close('}')
	}
	w.close(']')
	w.close('}')
}

// enumType is the type that the values of an enum share.
func enumType(t *Type) string {
	for _, v := range t.Values {
		switch v.Kind() {
		case property.KindBool:
			return "boolean"
		case property.KindNumber:
			if !v.IsInteger() {
				return "number"
			}
		default:
			return "string"
		}
	}
	return "integer"
}

func required(o *Object) []string {
	var names []string
	for i := range o.Properties {
		if o.Properties[i].Required {
			names = append(names, o.Properties[i].Name)
		}
	}
	return names
}

func (w *writer) properties(member string, o *Object) {
	if len(o.Properties) == 0 {
		return
	}
	w.openMember(member, '{')
	for i := range o.Properties {
		p := &o.Properties[i]
		w.key(p.Name)
		w.property(p)
	}
	w.close('}')
}

func (w *writer) property(p *Property) {
	w.open('{')
	w.typeMembers(p.Type)
	w.stringMember("description", p.Description)
	w.stringMember("deprecationMessage", p.Deprecation)
	if p.HasDefault() {
		w.key("default")
		w.value(p.Default)
	}
	if !p.Const.IsNull() {
		w.key("const")
		w.value(p.Const)
	}
	w.boolMember("secret", p.Secret)
	w.boolMember("replaceOnChanges", p.ReplaceOnChanges)
	w.boolMember("willReplaceOnChanges", p.Replace && !p.ReplaceOnChanges)
	if p.Computed || p.Stable || p.WriteOnly || p.Minimum != nil || p.Maximum != nil || len(p.OneOf) > 0 {
		w.beginExtension()
		w.boolMember("computed", p.Computed)
		w.boolMember("stable", p.Stable)
		w.boolMember("writeOnly", p.WriteOnly)
		if p.Minimum != nil {
			w.key("minimum")
			w.number(*p.Minimum)
		}
		if p.Maximum != nil {
			w.key("maximum")
			w.number(*p.Maximum)
		}
		if len(p.OneOf) > 0 {
			w.key("oneOf")
			w.value(property.Array(p.OneOf...))
		}
		w.endExtension()
	}
	w.close('}')
}

func (w *writer) beginExtension() {
	w.openMember("language", '{')
	w.openMember(Extension, '{')
}

func (w *writer) endExtension() {
	w.close('}')
	w.close('}')
}

// typeMembers writes the members of a type into the open object, because a property of a schema is a
// type with further members.
func (w *writer) typeMembers(t *Type) {
	switch t.Kind {
	case KindBool:
		w.stringMember("type", "boolean")
	case KindInteger:
		w.stringMember("type", "integer")
	case KindNumber:
		w.stringMember("type", "number")
	case KindString:
		w.stringMember("type", "string")
	case KindArray:
		w.stringMember("type", "array")
		w.typeMember("items", t.Element)
	case KindMap:
		w.stringMember("type", "object")
		w.typeMember("additionalProperties", t.Element)
	case KindObject:
		w.stringMember("$ref", "#/types/"+t.Object.Token)
	case KindEnum:
		w.stringMember("$ref", "#/types/"+t.Token)
	case KindAsset:
		w.stringMember("$ref", "pulumi.json#/Asset")
	case KindArchive:
		w.stringMember("$ref", "pulumi.json#/Archive")
	case KindResource:
		w.stringMember("$ref", resourceReference(t.Token))
	case KindUnion:
		w.openMember("oneOf", '[')
		for _, alternative := range t.OneOf {
			w.open('{')
			w.typeMembers(alternative)
			w.close('}')
		}
		w.close(']')
	default:
		w.stringMember("$ref", "pulumi.json#/Any")
	}
}

func (w *writer) typeMember(name string, t *Type) {
	w.openMember(name, '{')
	w.typeMembers(t)
	w.close('}')
}

// resourceReference returns the reference to a resource. A token with a "#" is a reference to
// another package's document already. Pulumi's schemas have no type for any resource.
func resourceReference(token string) string {
	if token == "" {
		return "pulumi.json#/Any"
	}
	for i := range len(token) {
		if token[i] == '#' {
			return token
		}
	}
	return "#/resources/" + token
}
