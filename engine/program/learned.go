package program

import (
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
)

// LearnedGrants are the grants that cover a provider's uses in deployments.
type LearnedGrants struct {
	Provider string
	Grants   []Grant
}

// LoadLearnedGrants reads a file that has the key plugins of a project file, with nothing but the names and
// grants of providers. The error may be [source.Diagnostics].
func LoadLearnedGrants(path string) ([]LearnedGrants, error) {
	text, err := source.Read(path)
	if err != nil {
		return nil, err
	}
	file := source.NewFile(filepath.Base(path), text)
	root, err := source.Parse(file, text)
	if err != nil {
		return nil, err
	}
	var learned []LearnedGrants
	d := decoder{Report: &source.Report{File: file}, project: &Project{Root: projectroot.New(filepath.Dir(path), projectroot.Trusted)}}
	provider := func(n *yaml.Node) {
		var l LearnedGrants
		d.Read(n, "a provider", d.TextKey("name", &l.Provider, "a provider's name"),
			source.KeyOf("grants", &l.Grants, func(n *yaml.Node) ([]Grant, bool) { return d.grants(n), true }))
		learned = append(learned, l)
	}
	d.Read(root, "a file of learned grants", source.On("plugins", func(f source.Field) bool {
		return d.Read(f.Value, "plugins", source.On("providers", func(f source.Field) bool {
			for _, e := range d.Elements(f.Value, "plugins.providers") {
				provider(e)
			}
			return true
		}))
	}))
	return learned, d.Diagnostics().Err()
}
