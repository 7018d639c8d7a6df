package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/blang/semver/v4"
	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"go.yaml.in/yaml/v3"
)

// PolicyPack says where a policy pack comes from and how its policies are enforced.
type PolicyPack struct {
	// Path is a .wasm file, or a directory of Go source; see [Project.Path].
	Path     string
	Settings map[string]analysis.Setting
	// Position is where the pack is listed.
	Position source.Position
}

// policies reads the list of policy packs: {path: dir, config: {...}}, or the path alone.
func (d *decoder) policies(n *yaml.Node) {
	for _, e := range d.Elements(n, "policies") {
		p := PolicyPack{Position: source.Of(e)}
		ok := true
		if e.Kind != yaml.MappingNode {
			p.Path, ok = d.path(e, "a policy pack")
		} else {
			ok = d.Read(e, "a policy pack",
				source.On("path", func(f source.Field) (ok bool) {
					p.Path, ok = d.path(f.Value, "the path of a policy pack")
					return ok
				}),
				source.KeyOf("config", &p.Settings, func(n *yaml.Node) (map[string]analysis.Setting, bool) {
					return policySettings(d.Report, n), true
				}),
			)
		}
		if ok && p.Path == "" {
			d.Add(d.File.Errorf(p.Position, "the policy pack has no path").
				With("path names a .wasm file, or a directory of Go source that is built when it is needed"))
			continue
		}
		d.project.Policies = append(d.project.Policies, p)
	}
}

// PolicyProgram is a policy pack of Pulumi: a program in Node.js or Python in place of a module.
type PolicyProgram struct {
	Program *Project
	// Version is the pack's version, empty for the one that the program says.
	Version string
}

// policyFile is the file that makes a directory a policy pack of Pulumi.
const policyFile = "PulumiPolicy.yaml"

// IsPolicyProgram reports whether a directory holds a policy pack of Pulumi, a program in another language than Go.
func IsPolicyProgram(root *projectroot.Root, dir string) bool {
	if _, err := root.Stat(filepath.Join(dir, policyFile)); err != nil {
		return false
	}
	entries, err := root.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".go" })
}

// ReadPolicyProgram reads the policy pack in a directory for which [IsPolicyProgram] holds. The error may be [source.Diagnostics].
func ReadPolicyProgram(root *projectroot.Root, dir string) (*PolicyProgram, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, policyFile)
	text, err := root.ReadFile(path, source.MaxFileSize)
	if err != nil {
		return nil, err
	}
	pack := &PolicyProgram{Program: &Project{Root: root, Dir: dir, ProgramDir: dir, File: source.NewFile(path, text)}}
	p := pack.Program
	n, err := source.Parse(p.File, text)
	if errors.Is(err, source.ErrEmpty) {
		return nil, fmt.Errorf("%s is empty: it says the runtime of the policy pack", path)
	}
	if err != nil {
		return nil, err
	}
	d := decoder{Report: &source.Report{File: p.File}, project: p}
	for _, f := range d.Fields(n, "a policy pack") {
		switch f.Name {
		case "runtime":
			d.runtime(f.Value)
		case "main":
			if main, ok := d.Text(f.Value, "main"); ok {
				p.ProgramDir = filepath.Join(dir, main)
			}
		case "version":
			if text, ok := d.Text(f.Value, "a policy pack's version"); ok {
				pack.Version, _ = d.version(f.Value, text, semver.ParseTolerant)
			}
		}
	}
	d.readRuntimeOptions()
	if !slices.Contains(runtimesOfPlugins, p.Runtime) {
		d.Add(p.File.Errorf(source.Of(n), "the policy pack is written for the runtime %q, and only those in Node.js and Python can be used as they are", p.Runtime).
			With("write it in one of these, or as a module with guest-sdk/policy"))
	}
	return pack, d.Diagnostics().Err()
}

// ReadPolicySettings reads how the policies of a pack are enforced, in the format of Pulumi's
// --policy-pack-config, as JSON or YAML: for each policy, or all, its level, or an object with
// enforcementLevel and the policy's properties. The error may be [source.Diagnostics].
func ReadPolicySettings(path string) (map[string]analysis.Setting, error) {
	text, err := source.Read(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration of a policy pack: %w", err)
	}
	if json.Valid(text) { // which may be indented with tabs; its strings hold none
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" "))
	}
	file := source.NewFile(path, text)
	root, err := source.Parse(file, text)
	if errors.Is(err, source.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &source.Report{File: file}
	settings := policySettings(r, root)
	return settings, r.Diagnostics().Err()
}

func policySettings(r *source.Report, n *yaml.Node) map[string]analysis.Setting {
	settings := make(map[string]analysis.Setting)
	for _, f := range r.Fields(n, "the configuration of a policy pack") {
		settings[f.Name] = policySetting(r, f)
	}
	return settings
}

// policySetting reads a level, or an object with enforcementLevel and properties.
func policySetting(r *source.Report, f source.Field) (s analysis.Setting) {
	if f.Value.Kind != yaml.MappingNode {
		s.Level = policyLevel(r, f.Value)
		return s
	}
	var properties []property.Entry
	for _, p := range r.Fields(f.Value, "the configuration of a policy") {
		if p.Name == "enforcementLevel" {
			s.Level = policyLevel(r, p.Value)
		} else if v, ok := r.Value(p.Value); ok {
			properties = append(properties, property.Entry{Key: p.Name, Value: v})
		}
	}
	s.Properties = property.NewMap(properties...)
	return s
}

func policyLevel(r *source.Report, n *yaml.Node) *abi.PolicyLevel {
	text, ok := r.Text(n, "the level of a policy")
	if !ok {
		return nil
	}
	for level := abi.PolicyLevelAdvisory; level <= abi.PolicyLevelDisabled; level++ {
		if level.String() == text {
			return &level
		}
	}
	r.Errorf(n, "%q is not a level of a policy: the levels are advisory, mandatory, remediate, and disabled", text)
	return nil
}
