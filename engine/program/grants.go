package program

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/engine/program/source"
)

// Grant is something that a provider may use, as it is written.
type Grant struct {
	grant.Text
	// Mode is a directory's mode, which its scope does not contain.
	Mode string
	// Headers are added to the requests to a URL. The provider does not know them.
	Headers  []HeaderGrant
	Position source.Position
}

// HeaderGrant is a header whose value is the operator's: a credential, most often.
type HeaderGrant struct {
	Name string
	// Prefix is the text before the value, for example "Bearer ".
	Prefix string
	// Config is a key of the stack's configuration that has the rest, see [Project.ConfigKey], or
	// Env an environment variable.
	Config, Env string
	Position    source.Position
}

// grants reads {CAPABILITY: ...}, in the order of [grant.Names].
func (d *decoder) grants(n *yaml.Node) []Grant {
	written := make(map[string][]Grant)
	for _, f := range d.Fields(n, "grants") {
		c, ok := grant.Named(f.Name)
		if !ok {
			d.Unknown(f, "grants", grant.Names())
			continue
		}
		written[c.Name] = d.grantsOf(c, f.Value)
	}
	var all []Grant
	for _, name := range grant.Names() {
		all = append(all, written[name]...)
	}
	return all
}

// grantsOf reads the grants of one capability: a list, or whether it is granted.
func (d *decoder) grantsOf(c grant.Capability, n *yaml.Node) (all []Grant) {
	if !c.HasScope() {
		if granted, _ := d.Bool(n, "grants."+c.Name); granted {
			all = append(all, Grant{Text: grant.Text{Capability: c.Name}, Position: source.Of(n)})
		}
		return all
	}
	for _, e := range d.Elements(n, "grants."+c.Name) {
		g := Grant{Text: grant.Text{Capability: c.Name}, Position: source.Of(e)}
		if d.grant(c.Entry, e, &g) {
			all = append(all, g)
		}
	}
	return all
}

// grant reads one grant: {KEY: SCOPE, OPTION: ...}, or its short form, the scope alone.
func (d *decoder) grant(entry grant.Entry, n *yaml.Node, g *Grant) (ok bool) {
	if slices.Contains(entry.Options, grant.OptionMode) {
		g.Mode = grant.ModeReadOnly
	}
	if n.Kind != yaml.MappingNode || entry.Key == "" {
		if g.Scope, ok = d.Text(n, entry.Noun); !ok {
			return false
		}
		if g.Mode != "" {
			g.Scope, g.Mode = grant.SplitMode(g.Scope)
		}
	} else {
		for _, f := range d.Fields(n, entry.Noun) {
			if !d.grantField(entry, f, g) {
				return false
			}
		}
	}
	if g.Scope == "" && entry.Missing != "" {
		d.Errorf(n, "%s", entry.Missing)
		return false
	}
	if g.Capability == grant.NameFS && !d.mayName(n, g.Scope, entry.Noun) {
		return false
	}
	if entry.Check != nil {
		if err := entry.Check(g.Scope); err != nil {
			d.Errorf(n, "%s", err)
			return false
		}
	}
	return true
}

func (d *decoder) grantField(entry grant.Entry, f source.Field, g *Grant) (ok bool) {
	switch {
	case f.Name == entry.Key:
		g.Scope, ok = d.Text(f.Value, entry.KeyNoun+" of "+entry.Noun)
		return ok
	case !slices.Contains(entry.Options, f.Name):
		d.Unknown(f, entry.Noun, append([]string{entry.Key}, entry.Options...))
		return false
	}
	switch f.Name {
	case grant.OptionMode:
		g.Mode, ok = d.Text(f.Value, "the mode of "+entry.Noun)
		if ok && g.Mode != grant.ModeReadOnly && g.Mode != grant.ModeReadWrite {
			d.Errorf(f.Value, "the mode is ro (read only) or rw (read and write), not %q", g.Mode)
			ok = false
		}
		return ok
	case grant.OptionMethods:
		for _, e := range d.Elements(f.Value, "methods") {
			method, ok := d.Text(e, "an HTTP method")
			if !ok {
				return false
			}
			g.Methods = append(g.Methods, method)
		}
		if g.Methods == nil {
			d.Errorf(f.Value, "no method is listed; leave methods out to grant all")
			return false
		}
	case grant.OptionHeaders:
		for _, h := range d.Fields(f.Value, "the headers of "+entry.Noun) {
			header, ok := d.headerGrant(h)
			if !ok {
				return false
			}
			g.Headers = append(g.Headers, header)
		}
	}
	return true
}

// headerGrant reads Authorization: {prefix: "Bearer ", config: token}, or env for config.
func (d *decoder) headerGrant(field source.Field) (HeaderGrant, bool) {
	const what = "a header"
	h := HeaderGrant{Name: field.Name, Position: source.Of(field.Key)}
	if field.Value.Kind != yaml.MappingNode {
		d.Add(d.File.Errorf(source.Of(field.Value), "the value of the header %s is to come from elsewhere", h.Name).
			With("{config: KEY} takes it from the stack's configuration, and {env: NAME} from the environment; prefix is the text before it"))
		return h, false
	}
	if !d.Read(field.Value, what, d.TextKey("config", &h.Config, what), d.TextKey("env", &h.Env, what), d.TextKey("prefix", &h.Prefix, what)) {
		return h, false
	}
	if (h.Config == "") == (h.Env == "") {
		d.Errorf(field.Value, "the header %s is to have its value from one of config and env", h.Name)
		return h, false
	}
	return h, true
}
