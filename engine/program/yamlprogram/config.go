package yamlprogram

import (
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
)

type config struct {
	project string
	// byKey has the values by full name, byName by the names that the program declares.
	byKey, byName map[string]property.Value
}

// readConfig reads the configuration of a run as the project declares it. unknown are keys whose values are not known.
func readConfig(project *program.Project, run abi.RunContext, unknown []string) (*config, source.Diagnostics) {
	c := &config{project: run.Project, byKey: map[string]property.Value{}, byName: map[string]property.Value{}}
	types := map[string]program.ConfigType{}
	for _, d := range project.Config {
		types[d.Key] = d.Type
	}
	problems := map[string]error{}
	for _, entry := range run.Config {
		v, err := types[entry.Key].Parse(entry.Value)
		if err != nil {
			problems[entry.Key] = err
		}
		if entry.Secret {
			v = property.Secret(v)
		}
		c.byKey[entry.Key] = v
	}
	for _, key := range unknown {
		c.byKey[key] = property.Unknown
	}
	var ds source.Diagnostics
	for _, d := range project.Config {
		v, ok := c.byKey[d.Key]
		problem := problems[d.Key]
		switch {
		case !ok && d.Default.IsNull():
			e := d.File.Errorf(d.Position, "the configuration key %q has no value", d.Name)
			e.Detail = "set one with: " + setCommand(run.Project, d)
			ds, v = append(ds, e), property.Unknown // so that its uses are no mistakes as well
		case problem != nil:
			e := d.File.Errorf(d.Position, "the value of the configuration key %q cannot be used: %v", d.Name, problem)
			e.Detail = "set another with: " + setCommand(run.Project, d)
			ds, v = append(ds, e), property.Unknown
		case !ok:
			v = d.Default
		}
		if d.Secret {
			v = property.Secret(v)
		}
		c.byName[d.Name], c.byKey[d.Key] = v, v
	}
	return c, ds
}

func setCommand(project string, d program.ConfigDeclaration) string {
	flag := ""
	if d.Secret {
		flag = "--secret "
	}
	return fmt.Sprintf("husk config set %s%s <value>", flag, strings.TrimPrefix(d.Key, project+":"))
}

// configValue returns the value of a key that the program declares or the stack sets.
func (c *compilation) configValue(name string) (property.Value, bool) {
	if v, ok := c.config.byName[name]; ok {
		return v, true
	}
	if !strings.Contains(name, ":") {
		name = c.config.project + ":" + name
	}
	v, ok := c.config.byKey[name]
	return v, ok
}

func (c *config) names() []string {
	var names []string
	for name := range c.byName {
		names = append(names, name)
	}
	for key := range c.byKey {
		names = append(names, strings.TrimPrefix(key, c.project+":"))
	}
	return names
}
