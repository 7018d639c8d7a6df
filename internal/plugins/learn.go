package plugins

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// learner collects grants, by the names of providers. It is safe for concurrent use, and nil learns nothing.
type learner struct {
	mu sync.Mutex
	// used are the grants that cover uses, and required those without which a provider is refused.
	used, required map[string]map[string]grant.Text
}

func newLearner() *learner {
	return &learner{used: make(map[string]map[string]grant.Text), required: make(map[string]map[string]grant.Text)}
}

// use notes a use. The scope of a directory is the path of a file as the provider sees it.
func (l *learner) use(provider string, used grant.Text) { l.note(l.used, provider, used) }

// require notes a request of a provider, with the scope of a project file.
func (l *learner) require(provider string, r host.CapabilityRequest) {
	if c, _ := grant.Named(r.Capability); l != nil && !r.Optional && (r.Scope != "" || !c.HasScope()) {
		l.note(l.required, provider, grant.Text{Capability: r.Capability, Scope: r.Scope})
	}
}

func (l *learner) note(in map[string]map[string]grant.Text, provider string, text grant.Text) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in[provider] == nil {
		in[provider] = make(map[string]grant.Text)
	}
	in[provider][text.String()] = text
}

// WriteLearned writes the least grants that cover what the providers have done since the
// plugins were opened, as a project file has them. Grants that the file has already are kept.
func (p *Plugins) WriteLearned(file string) error {
	p.learner.mu.Lock()
	defer p.learner.mu.Unlock()
	earlier, err := program.LoadLearnedGrants(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the grants learned earlier: %w", err)
	}
	var written learnedFile
	for i := range p.project.Providers {
		declared := &p.project.Providers[i]
		if slices.ContainsFunc(written.Plugins.Providers, func(l learnedProvider) bool { return l.Name == declared.Name }) {
			continue // another version
		}
		var texts []grant.Text
		for _, l := range earlier {
			if l.Provider == declared.Name {
				texts = append(texts, withModes(l.Grants)...)
			}
		}
		granted, err := p.grants(withoutHeaders(declared))
		if err != nil {
			return err
		}
		texts = slices.AppendSeq(texts, maps.Values(p.learner.required[declared.Name]))
		for _, text := range p.learner.used[declared.Name] {
			if text.Capability == grant.NameFS {
				var ok bool
				if text.Scope, ok = p.directoryOf(granted.FS, text.Scope); !ok {
					continue // a directory above granted ones, which needs no grant
				}
			}
			texts = append(texts, text)
		}
		if len(texts) == 0 {
			continue
		}
		written.Plugins.Providers = append(written.Plugins.Providers, learnedProvider{declared.Name, learnedGrants(declared, texts)})
	}
	text := &bytes.Buffer{}
	text.WriteString("# The grants that the providers used. Copy them to the providers in the project file.\n")
	encoder := yaml.NewEncoder(text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(written), encoder.Close()); err != nil {
		return err
	}
	return atomicfile.Write(file, text.Bytes(), 0o644)
}

// withModes returns grants with the mode of a directory in its scope.
func withModes(grants []program.Grant) (texts []grant.Text) {
	for _, g := range grants {
		if g.Mode != "" {
			g.Scope += ":" + g.Mode
		}
		texts = append(texts, g.Text)
	}
	return texts
}

// directoryOf returns the directory with the file that a guest used, as the project file has it, and its mode.
// It lies in the grant by which the guest used the file. ok is false if there is none.
func (p *Plugins) directoryOf(granted []host.FSGrant, used string) (scope string, ok bool) {
	file, mode := grant.SplitMode(used)
	var by host.FSGrant
	for _, g := range granted {
		if within(g.GuestPath, file) && len(g.GuestPath) > len(by.GuestPath) {
			by = g
		}
	}
	if by.GuestPath == "" {
		return "", false
	}
	onHost := func(guest string) string {
		return filepath.Join(by.HostPath, filepath.FromSlash(strings.TrimPrefix(guest, by.GuestPath)))
	}
	isDir := func(guest string) bool {
		info, err := os.Stat(onHost(guest))
		return err == nil && info.IsDir()
	}
	dir := file
	if dir != by.GuestPath && (mode == grant.ModeReadWrite || !isDir(dir)) {
		dir = path.Dir(dir)
	}
	for mode == grant.ModeReadOnly && dir != by.GuestPath && !isDir(dir) {
		dir = path.Dir(dir) // a grant of a missing directory is refused
	}
	shown := onHost(dir)
	if rel, ok := strings.CutPrefix(dir+"/", grant.WorkingDirectory+"/"); ok {
		shown = path.Clean("./" + rel)
	}
	return shown + ":" + mode, true
}

// within reports whether a path is a directory or lies in it.
func within(dir, file string) bool {
	return dir == file || strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}

type learnedFile struct {
	Plugins struct {
		Providers []learnedProvider `yaml:"providers"`
	} `yaml:"plugins"`
}

type learnedProvider struct {
	Name   string         `yaml:"name"`
	Grants map[string]any `yaml:"grants"`
}

type learnedURL struct {
	URL     string            `yaml:"url"`
	Methods []string          `yaml:"methods,flow,omitempty"`
	Headers map[string]header `yaml:"headers,omitempty"`
}

type header struct {
	Prefix string `yaml:"prefix,omitempty"`
	Config string `yaml:"config,omitempty"`
	Env    string `yaml:"env,omitempty"`
}

// learnedGrants returns the least grants for the uses. Requests with the headers of a declared grant are not
// merged with others, which must not get them.
func learnedGrants(declared *program.ProviderPlugin, used []grant.Text) map[string]any {
	byHeaders := make([][]grant.Text, len(declared.Grants)+1)
	for _, text := range used {
		by := headersOf(declared, text)
		byHeaders[by] = append(byHeaders[by], text)
	}
	grants := make(map[string]any)
	list := func(name string, entry any) {
		entries, _ := grants[name].([]any)
		grants[name] = append(entries, entry)
	}
	for by, texts := range byHeaders {
		for _, text := range grant.Least(texts) {
			switch text.Capability {
			case grant.NameFS:
				list(text.Capability, text.Scope)
			case grant.NameHTTP:
				service := learnedURL{URL: text.Scope, Methods: text.Methods}
				if by < len(declared.Grants) {
					service.Headers = make(map[string]header)
					for _, h := range declared.Grants[by].Headers {
						service.Headers[h.Name] = header{h.Prefix, h.Config, h.Env}
					}
				}
				list(text.Capability, service)
			case grant.NameKV:
				grants[text.Capability] = true
			default:
				list(text.Capability, text.Scope)
			}
		}
	}
	return grants
}

// headersOf returns the index of the declared grant whose headers a use gets: the most specific one.
// The number of grants stands for none.
func headersOf(declared *program.ProviderPlugin, used grant.Text) int {
	by := len(declared.Grants)
	for i, g := range declared.Grants {
		if len(g.Headers) == 0 || used.Capability != grant.NameHTTP {
			continue
		}
		service, err := grant.ParseHTTP(g.Scope, g.Methods...)
		covers := err == nil && grant.Set{HTTP: []grant.HTTP{service}}.Fulfils(grant.NameHTTP, used.Scope) && service.Allows(used.Methods)
		if covers && (by == len(declared.Grants) || len(g.Scope) > len(declared.Grants[by].Scope)) {
			by = i
		}
	}
	return by
}
