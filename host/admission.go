package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/jsonerror"
	"github.com/husk-dev/husk/internal/base/printable"
	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Reasons why no host runs a file. Others are *[SizeError], *[ImportError], *[MemoryError],
// *canon.VersionError, and *canon.SignatureError. All come inside a *[LoadError].
var (
	// ErrNotWasm is the error for a file that is not a WebAssembly module.
	ErrNotWasm = wasmfile.ErrNotWasm
	// ErrTruncated is a module that is cut off.
	ErrTruncated = wasmfile.ErrTruncated
	// ErrComponent is a component of the component model.
	ErrComponent = wasmfile.ErrComponent
	// ErrNotProvider is a module that exports the interface of no world: it is no provider, policy pack, or program.
	ErrNotProvider = canon.ErrNotProvider
	// ErrCommand is a module with a main function that runs once.
	ErrCommand = errors.New("the module is a command, not a provider: build it with `husk provider build`, or with -buildmode=c-shared")
)

// LoadError is a module that was refused.
type LoadError struct {
	// Path is the module's file, empty if it came from memory.
	Path string
	Err  error
	// Advice says how to raise the limit that the module exceeds, empty if it exceeds none.
	Advice string
}

func (e *LoadError) Error() string {
	// Names from the module are part of some errors: they must not forge lines.
	reason := strings.ReplaceAll(printable.Text(e.Err.Error()), "\n", " ")
	if e.Advice != "" {
		reason += "; " + e.Advice
	}
	if e.Path == "" {
		return "loading a provider module: " + reason
	}
	return "loading the provider module " + e.Path + ": " + reason
}

func (e *LoadError) Unwrap() error { return e.Err }

// Refused returns the error of a module that hosts of the configuration refuse for this reason of [Inspect].
func (c Config) Refused(path string, reason error) *LoadError {
	e := &LoadError{Path: path, Err: reason}
	if exceeded := exceededByModule(reason); exceeded != nil {
		e.Advice = c.advised("", exceeded).HowToRaise()
	}
	return e
}

// exceededByModule is the limit that a module exceeds, nil for none.
func exceededByModule(err error) *limit.ExceededError {
	if several, ok := errors.AsType[*RefusalError](err); ok {
		err = several.Reasons[0] // the one that is told
	}
	if size, ok := errors.AsType[*SizeError](err); ok {
		return &limit.ExceededError{Limit: limit.ModuleSize, Most: uint64(size.Limit), Needed: uint64(size.Size)}
	}
	if memory, ok := errors.AsType[*MemoryError](err); ok {
		return &limit.ExceededError{Limit: limit.Memory, Most: memory.Limit, Needed: memory.Needed}
	}
	if part, ok := errors.AsType[*wasmfile.LimitError](err); ok {
		return &limit.ExceededError{Limit: limit.OfModulePart(part.Field()), Most: part.Limit, Needed: part.Count}
	}
	return nil
}

// RefusalError is a module that is refused for more than one reason.
type RefusalError struct {
	// Reasons are in the order in which they were found.
	Reasons []error
}

func (e *RefusalError) Error() string {
	return fmt.Sprintf("%s (and %d more reasons, which `husk provider inspect` lists)", e.Reasons[0], len(e.Reasons)-1)
}

// Unwrap returns the reasons.
func (e *RefusalError) Unwrap() []error { return e.Reasons }

// refusal returns one error for all reasons.
func refusal(reasons ...error) error {
	all := flat(reasons)
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &RefusalError{all}
}

// flat returns the joined errors in place of each join.
func flat(errs []error) (all []error) {
	for _, err := range errs {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = append(all, flat(joined.Unwrap())...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// SizeError is a module that is too large. Both sizes are in bytes.
type SizeError struct {
	Size, Limit int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("the module takes %d bytes, the limit is %d", e.Size, e.Limit)
}

// MemoryError is a module that needs more memory than an instance may have, in bytes.
type MemoryError struct {
	Needed, Limit uint64
}

func (e *MemoryError) Error() string {
	memory, _ := limit.Named("memory")
	return fmt.Sprintf("the module needs %d MiB of memory to start, the limit is %s", (e.Needed+1<<20-1)>>20, memory.Format(e.Limit))
}

// ImportError is an import that no module may have.
type ImportError struct {
	Module, Name string
}

func (e *ImportError) Error() string {
	text := fmt.Sprintf("the module imports %q %q, which is not allowed: a provider may import functions of %s and %s only",
		e.Module, e.Name, wasi.ModuleName, canon.Package+" "+canon.Version)
	for _, f := range foreign {
		if strings.HasPrefix(e.Module, f.prefix) {
			return text + "; " + f.instead
		}
	}
	return text
}

// foreign are imports that other hosts have, by their prefixes, and how to build for this one.
var foreign = []struct{ prefix, instead string }{
	{"wasi:", "it was built for WASI 0.2: build it for wasm32-wasip1"},
	{"wasi_unstable", "it was built for a WASI that is older than its first version: build it for wasm32-wasip1 with a newer compiler"},
	{"gojs", "it was built for a browser: build it with GOOS=wasip1"},
	{"wbg", browser}, {"__wbindgen", browser}, {"wasm:js-string", browser},
}

const browser = "it was built for a browser: build it for wasm32-wasip1, without wasm-bindgen"

// Import is a function that a module imports.
type Import struct {
	Module, Name string
}

// Info describes a module without running it.
type Info struct {
	// Digest is `sha256:` and the module's hash in hexadecimal.
	Digest string
	// World is the module's world, by its exports.
	World canon.World
	// Size is the module's size in bytes.
	Size int
	// Manifest is nil if the module has none.
	Manifest *Manifest
	// Imports are in the order of the module.
	Imports []Import
	// Exports are the names of the exported functions, sorted.
	Exports []string
	// Memory is the size at the start, and MemoryLimit the most that an instance may have, both in bytes.
	Memory, MemoryLimit uint64
	// Contents counts the parts of the module.
	Contents Contents
}

// ContractVersion returns the version of the contract that the module was built for.
func (info *Info) ContractVersion() string { return info.World.VersionOf(info.Exports) }

// Contents counts what a module is made of.
type Contents struct {
	// Functions and Globals are the numbers that the module defines.
	Functions int `json:"functions"`
	Globals   int `json:"globals"`
	// LargestFunction is the code of one function in bytes.
	LargestFunction int `json:"largestFunction"`
	// Sections are the parts of the file in their order.
	Sections []Section `json:"sections"`
	// TableElements is how many elements its tables have at the start.
	TableElements int `json:"tableElements"`
	// DataSegments is how many parts of memory have contents at the start.
	DataSegments int `json:"dataSegments"`
	// CustomSections are the names of the sections that say something about the module.
	CustomSections []string `json:"customSections,omitempty"`
	// Start is set if code runs as soon as there is an instance.
	Start bool `json:"start"`
	// Features are the later parts of WebAssembly that it uses. Only [Inspect] sets them.
	Features []string `json:"features,omitempty"`
}

// Section is a part of a module's file.
type Section struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// Inspect describes a module without compiling or running it, as far as it can be read. The error is why a
// host of that configuration refuses it, a *[RefusalError] if there are several reasons.
func Inspect(wasm []byte, config Config) (Info, error) {
	module, info, err := admit(wasm, config.withDefaults())
	if module != nil {
		info.Contents.Features = wasmfile.Features(module)
	}
	return info, err
}

// admit checks a module before it is compiled.
func admit(wasm []byte, config Config) (*wasmfile.Module, Info, error) {
	info := Info{Digest: digestOf(wasm), Size: len(wasm)}
	if err := checkSize(int64(len(wasm)), config.limits.ModuleSize); err != nil {
		return nil, info, err
	}
	module, err := wasmfile.Read(wasm, config.limits.Module())
	if module == nil {
		return nil, info, err
	}
	info.describe(module)
	info.MemoryLimit = min(mostMemory(module), config.memoryBytes())
	var manifest, exports error
	info.Manifest, manifest = manifestOf(module)
	if err == nil { // otherwise some were not read
		exports = info.checkExports(module)
	}
	return module, info, refusal(err, meter.Check(module), exports, info.checkNeeds(module, config), manifest)
}

// mostMemory is the declared maximum of the module's memory, in bytes.
func mostMemory(module *wasmfile.Module) uint64 {
	most := uint64(mostPages()) * wasmPage
	for _, m := range module.Memories {
		if m.HasMax {
			most = min(most, uint64(m.Max)*wasmPage)
		}
	}
	return most
}

func (info *Info) describe(module *wasmfile.Module) {
	for _, e := range module.Exports {
		if e.Kind == api.ExternTypeFunc {
			info.Exports = append(info.Exports, e.Name)
		}
	}
	slices.Sort(info.Exports)
	for _, i := range module.Imports {
		info.Imports = append(info.Imports, Import{i.Module, i.Name})
	}
	for _, m := range module.Memories {
		info.Memory += uint64(m.Min) * wasmPage
	}
	c := &info.Contents
	c.Functions, c.DataSegments, c.Start = len(module.Bodies), len(module.Segments), module.HasStart
	c.Globals = len(module.Globals) - module.ImportedGlobals
	for _, b := range module.Bodies {
		c.LargestFunction = max(c.LargestFunction, b.End-b.Start)
	}
	for _, t := range module.Tables {
		c.TableElements += int(t.Min)
	}
	for _, s := range module.Sections {
		c.Sections = append(c.Sections, Section{wasmfile.SectionName(s.ID), s.End - s.Start})
	}
	for _, custom := range module.Customs {
		c.CustomSections = append(c.CustomSections, custom.Name)
	}
}

// checkExports decides whether the module may be a provider, a policy pack, or a program.
func (info *Info) checkExports(module *wasmfile.Module) error {
	exports := map[string]canon.Signature{}
	memory := false
	for _, e := range module.Exports {
		switch e.Kind {
		case api.ExternTypeFunc:
			exports[e.Name] = canon.Signature(e.Func)
		case api.ExternTypeMemory:
			memory = memory || e.Name == "memory"
		}
	}
	if _, command := exports["_start"]; command {
		return ErrCommand
	}
	var err error
	info.World, err = canon.CheckExports(exports)
	var version *canon.VersionError
	switch {
	case errors.Is(err, ErrNotProvider), errors.Is(err, canon.ErrTwoWorlds), errors.As(err, &version):
		return err // what more it lacks says nothing
	case !memory:
		return errors.Join(err, errors.New("the module does not export its memory under the name memory"))
	}
	return err
}

// checkNeeds decides whether the host meets the module's needs.
func (info *Info) checkNeeds(module *wasmfile.Module, config Config) error {
	var wrong []error
	for _, i := range module.Imports {
		wrong = append(wrong, checkImport(i))
	}
	if info.Memory > config.memoryBytes() {
		wrong = append(wrong, &MemoryError{Needed: info.Memory, Limit: config.limits.Memory})
	}
	return errors.Join(wrong...)
}

func checkImport(i wasmfile.Import) error {
	got := canon.Signature(i.Func)
	switch {
	case i.Kind != api.ExternTypeFunc:
	case strings.HasPrefix(i.Module, canon.Package+"/"):
		return canon.CheckImport(i.Module, i.Name, got)
	case i.Module == wasi.ModuleName:
		params, results, ok := wasi.Signature(i.Name)
		if !ok {
			break
		}
		want := canon.Signature{Params: params, Results: results}
		if !slices.Equal(got.Params, params) || !slices.Equal(got.Results, results) {
			return &canon.SignatureError{Name: i.Module + " " + i.Name, Want: &want, Got: &got}
		}
		return nil
	}
	return &ImportError{Module: i.Module, Name: i.Name}
}

// ManifestSection is the custom section that holds a module's manifest, as JSON.
const ManifestSection = "husk:provider"

// maxManifest bounds a manifest in bytes.
const maxManifest = 64 << 10

// Manifest is a module's description of itself, which can be read without running it. The handshake must agree with it.
type Manifest struct {
	// Name is the package's name, for example random.
	Name string `json:"name"`
	// Version is the package's semantic version, for example 4.16.0.
	Version string `json:"version"`
	// SDK is the SDK and its version, for messages only.
	SDK string `json:"sdk,omitempty"`
	// Requests are the capabilities that the provider asks for.
	Requests []CapabilityRequest `json:"requests,omitempty"`
	// Origin is the source of a ported module, nil for others.
	Origin *Origin `json:"origin,omitempty"`
}

// Origin is the provider for Terraform or Pulumi that a module was made from.
type Origin struct {
	// Module is the path of its Go module, and Version the version that was fetched, empty for a directory.
	Module  string `json:"module"`
	Version string `json:"version,omitempty"`
	// Checksum is the checksum of its files, as go.sum has it.
	Checksum string `json:"checksum"`
	// Licences are the SPDX identifiers of the licences in its files.
	Licences []string `json:"licences,omitempty"`
	// Kind names the SDK it was written with, for people.
	Kind string `json:"kind,omitempty"`
	// Go is the version of Go that compiled it.
	Go string `json:"go,omitempty"`
	// Shims are the changes of other modules that it was built with.
	Shims []string `json:"shims,omitempty"`
	// Raised are modules with the versions that the build raised them to, above the selected ones.
	Raised []string `json:"raised,omitempty"`
	// Only are the chosen types of the provider, with * for any text, if it was built without the others.
	Only []string `json:"only,omitempty"`
}

// printable makes the texts of the origin lines that control no terminal.
func (o *Origin) printable() {
	if o == nil {
		return
	}
	for _, text := range []*string{&o.Module, &o.Version, &o.Checksum, &o.Kind, &o.Go} {
		*text = printable.Line(*text)
	}
	for _, list := range [][]string{o.Licences, o.Shims, o.Raised, o.Only} {
		for i := range list {
			list[i] = printable.Line(list[i])
		}
	}
}

// CapabilityRequest is a capability that a provider asks its operator for.
type CapabilityRequest struct {
	// Capability is its name, see [grant.Names].
	Capability string `json:"capability"`
	// Scope is a directory, a variable, a URL, or a host and port, as in a grant. It is empty if the
	// configuration or the program decides.
	Scope string `json:"scope,omitempty"`
	// Reason is for people.
	Reason string `json:"reason,omitempty"`
	// Optional says that the provider is of use without it.
	Optional bool `json:"optional,omitempty"`
}

// AddManifest returns the module with the manifest, in place of one that it may have.
func AddManifest(wasm []byte, manifest Manifest) ([]byte, error) {
	if err := manifest.check(); err != nil {
		return nil, err
	}
	data, _ := json.Marshal(manifest) // never fails, because it has only texts and truth values
	if len(data) > maxManifest {
		return nil, fmt.Errorf("the manifest takes %d bytes, at most %d are possible", len(data), maxManifest)
	}
	return wasmfile.WithCustom(wasm, ManifestSection, data)
}

func (m Manifest) check() error {
	switch {
	case m.Name == "":
		return errors.New("the manifest has no name")
	case m.Version == "":
		return errors.New("the manifest has no version")
	case !isWord(m.Name):
		return fmt.Errorf("the manifest's name is %q: a name has letters, digits, and the characters . _ and -", m.Name)
	case strings.ContainsFunc(m.Version, unicode.IsSpace):
		return fmt.Errorf("the manifest's version is %q, with white space", m.Version)
	}
	return nil
}

// isWord reports whether a name can stand in a line of other words, and be taken for nothing else.
func isWord(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
}

// manifestOf reads the manifest of a module, nil where it has none.
func manifestOf(module *wasmfile.Module) (*Manifest, error) {
	var found *Manifest
	for _, custom := range module.Customs {
		if custom.Name != ManifestSection {
			continue
		}
		if found != nil {
			return nil, errors.New("the module has two manifests")
		}
		found = &Manifest{}
		if err := parseManifest(custom.Data, found); err != nil {
			return nil, fmt.Errorf("reading the module's manifest: %w", err)
		}
	}
	return found, nil
}

func parseManifest(data []byte, m *Manifest) error {
	if len(data) > maxManifest {
		return fmt.Errorf("it takes %d bytes, at most %d are possible", len(data), maxManifest)
	}
	if !utf8.Valid(data) {
		return errors.New("it is not valid UTF-8")
	}
	if err := intake.CheckJSON(data, m, maxManifest); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(m); err != nil {
		return jsonerror.Explain(data, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	m.Name, m.Version, m.SDK = printable.Line(m.Name), printable.Line(m.Version), printable.Line(m.SDK)
	for i := range m.Requests {
		r := &m.Requests[i]
		r.Capability, r.Scope, r.Reason = printable.Line(r.Capability), printable.Line(r.Scope), printable.Line(r.Reason)
	}
	m.Origin.printable()
	return m.check()
}
