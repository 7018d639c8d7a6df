package model_test

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

// scenario is what a test of the model does to one stack: plain data, so that a
// failing one can be printed and pasted.
type scenario []act

// act is one operation on the stack.
type act struct {
	Do      string // up, refresh, destroy, or import
	Program modelProgram
	// RunProgram, ContinueOnError, and RefreshFirst are options of the deployment.
	RunProgram, ContinueOnError, RefreshFirst bool
	// Judged says that a policy adds a note to each resource.
	Judged bool
	// Taint and Replace name resources to replace.
	Taint, Replace []string
	// Drift and Lose name resources whose objects change or vanish before a refresh.
	Drift, Lose []string
	// Fail holds the calls of providers that fail, such as "create a"; Half those that
	// have their effect, but report that it is not healthy.
	Fail, Half []string
	// Answer is how those of Fail answer.
	Answer answer
	// Upgrade is the version of the provider's module.
	Upgrade int
	// Twice has the state the program's own provider twice, as another tool may leave it: its bits say which of both are
	// old copies.
	Twice int
	// Targets are the resources to work on, Excludes those to leave alone, with
	// Dependents also what depends on them.
	Targets, Excludes []string
	Dependents        bool
	// CrashAt is the write of the state at which the process dies, 0 for none; with
	// Late that write is still done.
	CrashAt int
	Late    bool
}

// answer is how a call of a provider fails.
type answer string

// The answers. Those of calls that have had their effect come last.
const (
	refused       answer = ""
	notFound      answer = "not found"     // in the wrong project
	unimplemented answer = "unimplemented" // in this version
	unavailable   answer = "unavailable"
	lost          answer = "lost"     // on its way
	misled        answer = "misled"   // done, but nothing is found afterwards
	nameless      answer = "nameless" // half done, without an ID
	damaged       answer = "damaged"  // done, but what was made cannot be read
)

var answers = []answer{refused, notFound, unimplemented, unavailable, lost, misled, nameless, damaged}

func (a answer) hasEffect() bool { return slices.Index(answers, a) >= slices.Index(answers, lost) }

// err is the error of a call. What has no other answer for a call is lost.
func (a answer) err(call, id string) error {
	creates, deletes := strings.HasPrefix(call, "create "), strings.HasPrefix(call, "delete ")
	half := func(id string) error {
		return &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{ID: id, Reasons: []string{"it cannot be read"}}}
	}
	switch {
	case a == refused:
		return errors.New("the cloud refuses")
	case a == notFound, a == misled && !creates:
		return abi.NewError(abi.ErrorKindNotFound, "there is no such project")
	case a == unimplemented:
		return abi.NewError(abi.ErrorKindUnimplemented, "not in this version")
	case a == nameless && !deletes:
		return half("")
	case a == damaged && !deletes:
		return half(id)
	default:
		return abi.NewError(abi.ErrorKindUnavailable, "no answer")
	}
}

// policies are those of the act.
func (a act) policies(t testing.TB) []analysis.Pack {
	if !a.Judged {
		return nil
	}
	noted := enginetest.Notes()
	noted.Remedy = func(_ context.Context, r enginetest.ResourceRequest) (policy.Remedy, error) {
		if !strings.HasPrefix(r.Resource.Type, "test:index:") || r.Resource.Properties.Has("note") {
			return policy.Remedy{}, nil
		}
		inputs := r.Resource.Properties.With("note", property.String("by the house"))
		return policy.Remedy{Inputs: &inputs}, nil
	}
	p, err := policy.New(policy.Pack{Name: "house", Version: "1.0.0", Policies: []policy.Policy{policy.Of(noted)}})
	require.NoError(t, err)
	return []analysis.Pack{{Policy: p}}
}

// quiet reports whether nothing goes wrong in the act.
func (a act) quiet() bool { return a.CrashAt == 0 && len(a.Fail)+len(a.Half) == 0 }

// modelResource is one resource of a random program.
type modelResource struct {
	Name, Type string
	Key        int
	// Alias is an earlier name.
	Alias string
	// From, After, Owner, and With are earlier resources of the program: those whose
	// computed property is an input, those that it depends on without taking anything,
	// the one (counted from 1) that it is deleted with, and the ones that it is
	// replaced with.
	From, After, With []int
	Owner             int
	Trigger           int // a replacement trigger, 0 for none
	DeleteFirst       bool
	Retain            bool
	Ignore            bool // changes of the key, and of those of all parts
	// Parts is the number of parts, each with the key.
	Parts   int
	Protect bool
	// Region has the resource use the program's own provider, Other its other one.
	Region, Other bool
	// Path is what objects of the types file and declared are known by.
	Path string
	// Parent is an earlier resource, counted from 1; 0 for the stack. A resource that Moved had the parent Was before.
	Parent, Was int
	Moved       bool
	// Read has an object read that the stack does not manage, and Import one taken over.
	Read   string
	Import bool
}

// kinds of resources: components have the type group, and all others are custom.
func (r modelResource) isComponent() bool { return r.Type == enginetest.Group }

func (r modelResource) hasPath() bool {
	return r.Type == enginetest.File || r.Type == enginetest.Declared
}

// modelProgram is a random program.
type modelProgram struct {
	// Region configures the program's own provider, OtherRegion the other one, which is there
	// where a resource uses it.
	Region, OtherRegion int
	Resources           []modelResource
}

// vague is a type whose provider cannot tell what differs.
const vague = "test:index:Vague"

// outside are objects that no stack manages, which programs read.
var outside = []string{"ext1", "ext2"}

// importID is that of the object that a resource takes over: there is one in each region.
func (m modelProgram) importID(r modelResource) string { return r.Name + "-in" + m.regionOf(r) }

// called returns the names of the resources, with those of owners more often: what happens to them happens to others.
func (m modelProgram) called() (names []string) {
	for _, r := range m.Resources {
		names = append(names, r.Name)
		if r.Owner > 0 && !m.Resources[r.Owner-1].isComponent() {
			names = append(names, slices.Repeat([]string{m.Resources[r.Owner-1].Name}, 4)...)
		}
	}
	return names
}

// regionOf is the region of a resource's provider, which may be that of its parent.
func (m modelProgram) regionOf(r modelResource) string {
	switch {
	case r.Region:
		return fmt.Sprint(m.Region)
	case r.Other:
		return fmt.Sprint(m.OtherRegion)
	case r.Parent > 0:
		return m.regionOf(m.Resources[r.Parent-1])
	default:
		return ""
	}
}

// ownerOf returns the resource that another is deleted with, counted from 1, which may be the one of its parent.
func (m modelProgram) ownerOf(r modelResource) int {
	if r.Owner > 0 || r.Parent == 0 {
		return r.Owner
	}
	return m.ownerOf(m.Resources[r.Parent-1])
}

// isInObject reports whether a resource is below one that is no component.
func (m modelProgram) isInObject(r modelResource) bool {
	return r.Parent > 0 && (!m.Resources[r.Parent-1].isComponent() || m.isInObject(m.Resources[r.Parent-1]))
}

// hasObject reports whether a resource, counted from 1, has an object of its own.
func (m modelProgram) hasObject(at int) bool {
	return at > 0 && !m.Resources[at-1].isComponent() && !m.Resources[at-1].hasPath()
}

func (m modelProgram) program() enginetest.Program {
	return func(p *enginetest.Run) error {
		own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", m.Region))
		if err != nil {
			return err
		}
		var other enginetest.Resource
		if slices.ContainsFunc(m.Resources, func(r modelResource) bool { return r.Other }) {
			if other, err = p.Custom(enginetest.ProviderType, "other", enginetest.Props("region", m.OtherRegion)); err != nil {
				return err
			}
		}
		made := make([]enginetest.Resource, len(m.Resources))
		for i, r := range m.Resources {
			options := func(o *abi.ResourceOptions) {
				r.options(o, made)
				switch {
				case r.isComponent():
				case r.Region:
					o.Provider = own.Reference()
				case r.Other:
					o.Provider = other.Reference()
				}
				if r.Import {
					o.ImportID = m.importID(r)
				}
			}
			if made[i], err = m.register(p, r, made, options); err != nil {
				return err
			}
		}
		return nil
	}
}

func (m modelProgram) register(p *enginetest.Run, r modelResource, made []enginetest.Resource, options enginetest.OptionsOf) (enginetest.Resource, error) {
	var parent urn.URN
	if r.Parent > 0 {
		parent = made[r.Parent-1].URN
	}
	var o abi.ResourceOptions
	options(&o)
	switch {
	case r.Read != "":
		resp, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{
			ID: r.Read, Type: r.Type, Name: r.Name, Parent: parent, Options: abi.ResourceOptions{Dependencies: o.Dependencies},
		})
		return enginetest.Resource{RegisterResourceResponse: abi.RegisterResourceResponse{URN: resp.URN, ID: r.Read, State: resp.State}}, err
	case r.isComponent():
		o.ReplacementTrigger, o.DeletedWith, o.RetainOnDelete, o.IgnoreChanges = nil, "", nil, nil
		resp, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
			Type: r.Type, Name: r.Name, Parent: parent, Inputs: enginetest.Props("key", r.Key), Options: o,
		})
		return enginetest.Resource{RegisterResourceResponse: resp}, err
	}
	inputs := enginetest.Props("key", r.Key)
	if r.Parts > 0 {
		inputs = inputs.With("parts", property.Array(slices.Repeat([]property.Value{property.Object(inputs)}, r.Parts)...))
	}
	for _, from := range r.From {
		if v := made[from].Out("made"); !m.Resources[from].isComponent() {
			inputs = inputs.With("from"+m.Resources[from].Name, v)
		}
	}
	if owner := m.ownerOf(r); owner > 0 && !m.Resources[owner-1].isComponent() {
		inputs = inputs.With("owner", made[owner-1].Out("made"))
	}
	if m.hasObject(r.Parent) {
		inputs = inputs.With("in", made[r.Parent-1].Out("made"))
	}
	for _, at := range r.After { // what it uses of the parts of a component, which nothing but the component says
		for part := range made {
			if made[part].URN != "" && m.isPart(part, at) && !m.Resources[part].isComponent() && !m.isBelow(r, at) {
				address := property.Output{Value: made[part].Out("made").Plain(), Dependencies: []string{string(made[at].URN)}}
				inputs = inputs.With("uses"+m.Resources[part].Name, property.OutputOf(address))
			}
		}
	}
	if r.hasPath() {
		inputs = inputs.With("path", property.String(r.Path))
	}
	resp, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{
		Type: r.Type, Name: r.Name, Custom: true, Parent: parent, Inputs: inputs, Options: o,
	})
	return enginetest.Resource{RegisterResourceResponse: resp}, err
}

// isPart reports whether a resource is below a component, by components alone.
func (m modelProgram) isPart(part, component int) bool {
	for at := m.Resources[part].Parent; at > 0 && m.Resources[at-1].isComponent(); at = m.Resources[at-1].Parent {
		if at-1 == component {
			return true
		}
	}
	return false
}

func (m modelProgram) isBelow(r modelResource, component int) bool {
	for at := r.Parent; at > 0; at = m.Resources[at-1].Parent {
		if at-1 == component {
			return true
		}
	}
	return false
}

func (r modelResource) options(o *abi.ResourceOptions, made []enginetest.Resource) {
	urnsOf := func(indexes []int) (out []urn.URN) {
		for _, i := range indexes {
			out = append(out, made[i].URN)
		}
		return out
	}
	o.Dependencies, o.ReplaceWith = urnsOf(r.After), urnsOf(r.With)
	if r.Owner > 0 {
		o.DeletedWith = made[r.Owner-1].URN
	}
	if r.DeleteFirst {
		o.DeleteBeforeReplace = &r.DeleteFirst
	}
	if r.Retain {
		o.RetainOnDelete = &r.Retain
	}
	if r.Protect {
		o.Protect = &r.Protect
	}
	if r.Trigger > 0 {
		trigger := property.Number(float64(r.Trigger))
		o.ReplacementTrigger = &trigger
	}
	if r.Ignore {
		o.IgnoreChanges = []string{"key", "parts[*].key"}
	}
	if r.Alias != "" {
		o.Aliases = []abi.Alias{enginetest.AliasName(r.Alias)}
	}
	if !r.Moved {
		return
	}
	names := []string{""}
	if r.Alias != "" {
		names = append(names, r.Alias)
	}
	for _, name := range names {
		before := abi.AliasSpec{Name: name, NoParent: r.Was == 0}
		if r.Was > 0 {
			before.ParentURN = made[r.Was-1].URN
		}
		o.Aliases = append(o.Aliases, abi.Alias{Case: abi.AliasCaseSpec, Spec: before})
	}
}

var modelNames = []string{"a", "b", "c", "d", "e", "f"}

// selectable are all names that selections may have: those of resources and of providers.
var selectable = append(slices.Clone(modelNames), "own", "other")

func drawProgram(t *rapid.T) modelProgram {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(modelNames), 0, len(modelNames), rapid.ID).Draw(t, "names")
	free := slices.DeleteFunc(slices.Clone(modelNames), func(n string) bool { return slices.Contains(names, n) })
	m := modelProgram{Region: rapid.IntRange(0, 2).Draw(t, "region"), OtherRegion: rapid.IntRange(0, 1).Draw(t, "other region")}
	rarely := func(what string) bool { return rapid.IntRange(0, 5).Draw(t, what) == 5 } // a failing case shrinks to none
	often := func(what string) bool { return rapid.IntRange(0, 2).Draw(t, what) == 2 }
	net := often("net")          // a component, a part of it, and a user of it
	var owners, components []int // indexes of those that others can be deleted with, and of components, from 1
	for i, name := range names {
		earlier := func(what string) []int {
			if i == 0 {
				return nil
			}
			return rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 2), rapid.ID).Draw(t, what)
		}
		r := modelResource{
			Name: name, Type: rapid.SampledFrom([]string{enginetest.Plain, enginetest.Strict, enginetest.Single, vague, enginetest.Plain, enginetest.Strict, enginetest.File, enginetest.Declared, enginetest.Group}).Draw(t, "type"),
			Key: rapid.IntRange(0, 2).Draw(t, "key"), After: earlier("after"), DeleteFirst: rarely("delete first"), Protect: rarely("protect"),
		}
		if net && i < 3 {
			r.Type = []string{enginetest.Group, enginetest.Single, enginetest.Strict}[i]
		}
		switch {
		case net && i == 1:
			r.Parent = 1
		case net && i == 2:
			r.After = []int{0}
		case len(components) > 0 && rarely("parent"):
			r.Parent = rapid.SampledFrom(components).Draw(t, "parent")
		default:
			if at := rapid.IntRange(0, i).Draw(t, "at"); m.hasObject(at) && m.Resources[at-1].Read == "" && rarely("child") {
				r.Parent = at
			}
		}
		if len(free) > 0 && rarely("alias") {
			r.Alias, free = free[0], free[1:]
		}
		switch {
		case r.isComponent():
			r.DeleteFirst = false
			components = append(components, i+1)
			owners = append(owners, i+1)
			m.Resources = append(m.Resources, r)
			continue
		case (!net || i > 2) && rarely("read"):
			r = modelResource{Name: name, Type: enginetest.Plain, Parent: r.Parent, After: r.After, Read: rapid.SampledFrom(outside).Draw(t, "read")}
			owners = append(owners, i+1)
			m.Resources = append(m.Resources, r)
			continue
		}
		r.From, r.Retain, r.Ignore = earlier("from"), rarely("retain"), rarely("ignore")
		if rarely("parts") {
			r.Parts, r.Ignore = rapid.IntRange(1, 3).Draw(t, "parts"), rapid.Bool().Draw(t, "ignore")
		}
		if r.hasPath() {
			paths := []string{"x", "y"}
			if r.Type == enginetest.Declared {
				paths = []string{"p", "q"} // objects of other types are other objects
			}
			r.Path = rapid.SampledFrom(paths).Draw(t, "path")
			r.Retain = false // who has retained an object that others have as well is not told apart
		} else if r.Region = rarely("region"); !r.Region {
			r.Other = rarely("other")
		}
		if rarely("trigger") {
			r.Trigger = rapid.IntRange(1, 2).Draw(t, "trigger")
		}
		if rarely("with") {
			r.With = earlier("with")
		}
		if len(owners) > 0 && !r.hasPath() && often("owner") {
			r.Owner = rapid.SampledFrom(owners).Draw(t, "owner")
		}
		if r.Type == enginetest.Plain && r.Owner == 0 && rarely("import") {
			r.Import = true
		}
		owners = append(owners, i+1)
		m.Resources = append(m.Resources, r)
	}
	m.takeNothingOfShared()
	m.place()
	return m
}

// drawEdit is a program as somebody has edited it: the same resources but for some that are gone, with other inputs and
// options here and there.
func drawEdit(t *rapid.T, before modelProgram) modelProgram {
	sometimes := func(what string, odds int) bool { return rapid.IntRange(1, odds).Draw(t, what) == odds }
	m := modelProgram{Region: before.Region, OtherRegion: before.OtherRegion, Resources: slices.Clone(before.Resources)}
	if sometimes("another region", 6) {
		m.Region = rapid.IntRange(0, 2).Draw(t, "region")
	}
	parents := []int{0} // to move to
	for i := range m.Resources {
		r := &m.Resources[i]
		if r.Read != "" {
			continue
		}
		odds := 6
		if r.Parent > 0 && m.Resources[r.Parent-1].isComponent() {
			odds = 2
		}
		if others := slices.DeleteFunc(slices.Clone(parents), func(p int) bool { return p == r.Parent }); len(others) > 0 && sometimes("moves", odds) {
			r.Moved, r.Was, r.Parent = true, r.Parent, rapid.SampledFrom(others).Draw(t, "parent")
		}
		if r.isComponent() {
			parents = append(parents, i+1)
		}
		if r.Type == enginetest.Single && !r.Moved || sometimes("another key", 3) { // whose early deletion others have to go before
			r.Key = rapid.IntRange(0, 2).Draw(t, "key")
		}
		if r.Parts > 0 && sometimes("other parts", 2) {
			r.Parts = rapid.IntRange(1, 3).Draw(t, "parts")
		}
		if r.isComponent() {
			continue
		}
		if sometimes("protects or not", 8) {
			r.Protect = !r.Protect
		}
		if sometimes("deletes first or not", 8) {
			r.DeleteFirst = !r.DeleteFirst
		}
		if sometimes("retains or not", 8) {
			r.Retain = !r.Retain && !r.hasPath()
		}
	}
	if n := len(m.Resources); n > 0 && sometimes("without the last", 4) {
		m.Resources = m.Resources[:n-1]
	}
	m.place()
	return m
}

// place takes resources out of others whose objects cannot be what the parent hands down: its provider, and how it ends.
func (m modelProgram) place() {
	for i, r := range m.Resources {
		if (r.Read != "" || r.Import || r.hasPath()) && m.isInObject(r) {
			m.Resources[i].Parent, m.Resources[i].Moved = 0, false
		}
	}
}

// takeNothingOfShared leaves out what is taken from objects of several resources: what they are
// made of depends on who came last.
func (m modelProgram) takeNothingOfShared() {
	owners := make(map[string]int)
	for _, r := range m.Resources {
		owners[r.Path]++
	}
	for i, r := range m.Resources {
		if r.Owner > 0 && m.Resources[r.Owner-1].Path != "" && owners[m.Resources[r.Owner-1].Path] > 1 {
			m.Resources[i].Owner = 0
		}
	}
	for i, r := range m.Resources {
		m.Resources[i].From = slices.DeleteFunc(r.From, func(from int) bool {
			path := m.Resources[from].Path
			return path != "" && owners[path] > 1
		})
	}
}

func drawScenario(t *rapid.T) scenario {
	some := func(what string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(selectable), 0, 2, rapid.ID).Draw(t, what)
	}
	var out scenario
	calls := func(what string, least int, now modelProgram, methods ...string) (calls []string) {
		made, had := now.called(), []string{"a"} // what there is to delete
		for _, a := range out {
			if a.Do == "up" {
				had = append(a.Program.called(), "a")
			}
		}
		for range rapid.IntRange(least, 2).Draw(t, what) {
			method, names := rapid.SampledFrom(methods).Draw(t, what), had
			if method != "delete" {
				names = append(slices.Clone(made), had...)
			}
			calls = append(calls, method+" "+rapid.SampledFrom(names).Draw(t, what))
		}
		return calls
	}
	for range rapid.IntRange(1, 6).Draw(t, "acts") {
		a := act{Do: rapid.SampledFrom([]string{"up", "up", "up", "refresh", "destroy", "import"}).Draw(t, "do")}
		if n := len(out); n > 0 && rapid.IntRange(0, 2).Draw(t, "edited") == 2 {
			a.Program = drawEdit(t, out[n-1].Program)
		} else {
			a.Program = drawProgram(t)
		}
		a.Upgrade = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "upgrade")
		if rapid.IntRange(0, 15).Draw(t, "twice") == 15 {
			a.Twice = rapid.IntRange(1, 3).Draw(t, "twice")
		}
		switch a.Do {
		case "up":
			a.RefreshFirst = rapid.IntRange(0, 5).Draw(t, "refresh first") == 5
			imports := slices.ContainsFunc(a.Program.Resources, func(r modelResource) bool { return r.Import })
			a.Judged = rapid.IntRange(0, 3).Draw(t, "judged") == 3 && !imports // what is imported is never corrected
			if rapid.IntRange(0, 3).Draw(t, "ask") == 3 {
				a.Taint, a.Replace = some("taint"), some("replace")
			}
			if a.RefreshFirst {
				a.Drift, a.Lose = some("drift"), some("lose")
			}
		case "refresh":
			a.Drift, a.Lose = some("drift"), some("lose")
			fallthrough
		case "destroy":
			a.RunProgram = rapid.IntRange(0, 2).Draw(t, "run program") == 2
		}
		troubles := []int{0, 1, 2, 3, 4, 5}
		switch {
		case a.Do == "destroy": // as each scenario ends without trouble
			troubles = []int{0, 3, 4, 4, 4, 5}
		case slices.ContainsFunc(a.Program.Resources, func(r modelResource) bool { return r.Moved }): // which is recorded before the rest is
			troubles = []int{0, 3, 3, 4, 4, 5}
		}
		switch rapid.SampledFrom(troubles).Draw(t, "trouble") {
		case 5:
			if a.Do == "import" {
				break
			}
			if a.Dependents = rapid.Bool().Draw(t, "dependents"); rapid.Bool().Draw(t, "target") {
				if a.Targets = some("targets"); len(a.Replace) > 0 { // as with --target-replace
					a.Targets = a.Replace
				}
			} else {
				a.Excludes = some("excludes")
			}
		case 4:
			var possible []answer
			switch a.Do {
			case "up":
				a.Fail = calls("fail", 0, a.Program, "create", "update", "delete", "delete", "read", "check", "diff")
				a.Half, possible = calls("half", 0, a.Program, "create", "update"), answers
			case "destroy": // of which nothing is half done
				a.Fail, possible = calls("fail", 1, a.Program, "delete"), answers[:slices.Index(answers, nameless)]
			case "refresh": // which has no effect
				a.Fail, possible = calls("fail", 1, a.Program, "read"), answers[:slices.Index(answers, lost)]
			case "import":
				a.Fail, possible = calls("fail", 1, a.Program, "read", "check"), answers[:slices.Index(answers, lost)]
			}
			a.Answer = rapid.SampledFrom(possible).Draw(t, "answer")
			a.ContinueOnError = rapid.Bool().Draw(t, "continue")
		case 3:
			a.CrashAt, a.Late = rapid.IntRange(1, 14).Draw(t, "crash"), rapid.Bool().Draw(t, "late")
		}
		out = append(out, a)
	}
	return out
}

// source is a Go test of the scenario.
func (s scenario) source() string {
	var b strings.Builder
	b.WriteString("// What was wrong, in a sentence.\nfunc TestModelFound(t *testing.T) {\nrunScenario(t, scenario")
	writeLiteral(&b, reflect.ValueOf(s))
	b.WriteString(")\n}\n")
	formatted, err := format.Source([]byte(b.String()))
	if err != nil {
		return b.String()
	}
	return string(formatted)
}

// writeLiteral writes a composite literal without its type and without zero fields.
func writeLiteral(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		b.WriteString("{")
		for _, e := range v.Seq2() {
			if e.Kind() == reflect.Struct {
				b.WriteString("\n")
			}
			writeLiteral(b, e)
			b.WriteString(", ")
		}
		if v.Len() > 0 && v.Index(0).Kind() == reflect.Struct {
			b.WriteString("\n")
		}
		b.WriteString("}")
	case reflect.Struct:
		b.WriteString("{")
		for field, f := range v.Fields() {
			if f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
				continue
			}
			b.WriteString(field.Name + ": ")
			if f.Kind() == reflect.Slice || f.Kind() == reflect.Struct {
				b.WriteString(strings.ReplaceAll(f.Type().String(), "model_test.", ""))
			}
			writeLiteral(b, f)
			b.WriteString(", ")
		}
		b.WriteString("}")
	default:
		fmt.Fprintf(b, "%#v", v.Interface())
	}
}
