package tfstate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// parseModule reads the address of a module, such as module.net["a"].module.zone[0].
func parseModule(text string) (steps []Step, err error) {
	for rest := text; rest != ""; {
		var step Step
		if step, rest, err = cutModule(rest); err != nil {
			return nil, fmt.Errorf("%q is not the address of a module: %w", text, err)
		}
		steps = append(steps, step)
		if len(steps) > maxDepth {
			return nil, fmt.Errorf("its module is nested more than %d levels deep", maxDepth)
		}
		if rest != "" && (rest[0] != '.' || len(rest) == 1) {
			return nil, fmt.Errorf("%q is not the address of a module", text)
		}
		rest = strings.TrimPrefix(rest, ".")
	}
	return steps, nil
}

// cutModule reads the first module of an address.
func cutModule(text string) (step Step, rest string, err error) {
	rest, ok := strings.CutPrefix(text, "module.")
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	if !ok || end == 0 {
		return step, "", fmt.Errorf("module.NAME is needed")
	}
	step.Name, rest = rest[:end], rest[end:]
	if !strings.HasPrefix(rest, "[") {
		return step, rest, nil
	}
	rest = rest[1:]
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return step, "", fmt.Errorf("a key is not closed")
		}
		key := unquoted(quoted)
		step.Key, rest = key, rest[len(quoted):]
	} else {
		digits, _, _ := strings.Cut(rest, "]")
		n, err := strconv.ParseUint(digits, 10, 31)
		if err != nil {
			return step, "", fmt.Errorf("an index is a number or in quotes")
		}
		step.Key, rest = int(n), rest[len(digits):]
	}
	if rest, ok = strings.CutPrefix(rest, "]"); !ok {
		return step, "", fmt.Errorf("a bracket is not closed")
	}
	return step, rest, nil
}

// unquoted returns a text in quotes as Terraform writes it: Go's escapes, and $${ and %%{ for ${ and %{.
func unquoted(quoted string) string {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		text = quoted
	}
	return strings.NewReplacer("$${", "${", "%%{", "%{").Replace(text)
}

// bracket returns a key as an address has it.
func bracket(key any) string {
	switch key := key.(type) {
	case int:
		return "[" + strconv.Itoa(key) + "]"
	case string:
		quoted, _ := json.Marshal(key)
		return "[" + string(quoted) + "]"
	}
	return ""
}

// moduleAddress returns the beginning of the addresses in a module.
func moduleAddress(steps []Step, keys bool) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString("module." + s.Name)
		if keys {
			b.WriteString(bracket(s.Key))
		}
		b.WriteByte('.')
	}
	return b.String()
}

// Block returns the address of the block that declares the resource, as dependencies have it.
func (r *Resource) Block() string { return moduleAddress(r.Module, false) + r.Type + "." + r.Name }

// withoutKeys returns an address as dependencies have it now. Those of old states may have keys.
func withoutKeys(address string) string {
	var b strings.Builder
	for address != "" {
		at := strings.IndexByte(address, '[')
		if at < 0 {
			b.WriteString(address)
			break
		}
		b.WriteString(address[:at])
		rest := address[at+1:]
		if quoted, err := strconv.QuotedPrefix(rest); err == nil && strings.HasPrefix(rest, `"`) {
			rest = rest[len(quoted):]
		}
		_, address, _ = strings.Cut(rest, "]")
	}
	return b.String()
}

// parseProvider reads the address of a provider configuration: provider["registry.terraform.io/hashicorp/aws"].west,
// maybe of a module, or provider.aws.west as Terraform 0.12 wrote it.
func parseProvider(text string) (p Provider, err error) {
	rest := text
	for strings.HasPrefix(rest, "module.") {
		if _, rest, err = cutModule(rest); err != nil {
			return p, fmt.Errorf("%q is not the address of a provider: %w", text, err)
		}
		rest = strings.TrimPrefix(rest, ".")
	}
	switch after, found := strings.CutPrefix(rest, `provider["`); {
	case found:
		p.Source, rest, found = strings.Cut(after, `"]`)
		if !found {
			return p, fmt.Errorf("%q is not the address of a provider", text)
		}
	case strings.HasPrefix(rest, "provider."):
		p.Source, rest, found = strings.Cut(strings.TrimPrefix(rest, "provider."), ".")
		if found {
			rest = "." + rest
		}
	default:
		return p, fmt.Errorf("%q is not the address of a provider", text)
	}
	if p.Alias = strings.TrimPrefix(rest, "."); p.Name() == "" || p.Alias == "" && rest != "" || p.Alias != "" && !strings.HasPrefix(rest, ".") {
		return p, fmt.Errorf("%q is not the address of a provider", text)
	}
	return p, nil
}
