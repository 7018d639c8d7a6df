package walktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
)

// walker is a user with one project, who walks.
type walker struct {
	t       *testing.T
	dir     string
	env     []string
	cloud   *cloud
	modules [2][]byte
	// husk is the file of the program, empty for that of this test.
	husk  string
	place place
	// project is the name of the project, which has the place for itself.
	project string

	// told are the objects of which husk said that it leaves them behind.
	told map[string]bool
	// outside are those that the stack has not made, and need not know of.
	outside map[string]bool
	// former are the names that resources had before others, by the later ones.
	former map[string][]string
	// drifted says that the world has changed since the last refresh of everything.
	drifted bool

	// killed are the commands that were killed, by process. What they have sent to a backend may take effect later.
	killed map[int]bool

	commands int
	// counts says how often what went wrong.
	counts map[string]int
	done   []string
}

// failure is what a walk found.
type failure struct{ error }

// failf ends the walk.
func (w *walker) failf(format string, args ...any) {
	panic(failure{fmt.Errorf(format+"\ndone so far:\n%s\nthe world:\n%s", append(args, strings.Join(w.done, "\n"), show(w.cloud.there()))...)})
}

func (w *walker) must(err error) {
	if err != nil {
		w.failf("%v", err)
	}
}

// event is a line that husk --json writes.
type event struct {
	Type, Severity, Message, Error string
	Step                           struct {
		Op      string
		URN     urn.URN
		ID      string
		Custom  bool
		Default bool `json:"defaultProvider"`
	}
	Changes map[string]int
	Result  string
}

// outcome is that of a command.
type outcome struct {
	args   []string
	text   string
	code   int
	killed bool
	events []event
	calls  []call
}

func (o outcome) String() string {
	return fmt.Sprintf("husk %s: exit code %d\n%s", strings.Join(o.args, " "), o.code, o.text)
}

// diagnostics are the messages of a command.
func (o outcome) diagnostics() string {
	var b strings.Builder
	for _, e := range o.events {
		if e.Message != "" || e.Error != "" {
			fmt.Fprintf(&b, "%s %s%s\n", e.Severity, e.Message, e.Error)
		}
	}
	return b.String()
}

// longest is the time after which a command hangs.
const longest = 3 * time.Minute

// lockedBy finds the process whose lock is in the way of a command.
var lockedBy = regexp.MustCompile(`is locked by another run: process (\d+) `)

// run runs husk, and kills it if the act asks for that. A backend may grant a killed command its lock after husk cancel found none.
// run cancels such a lock when another command finds it, and runs that command again.
func (w *walker) run(a act, args ...string) outcome {
	for {
		o := w.runOnce(a, args...)
		found := lockedBy.FindStringSubmatch(o.text)
		if o.code == 0 || found == nil {
			return o
		}
		pid, err := strconv.Atoi(found[1])
		w.must(err)
		if !w.killed[pid] {
			return o
		}
		delete(w.killed, pid) // it cannot ask again
		if len(o.calls) > 0 {
			w.failf("it has changed the world without the lock: %v", o)
		}
		w.counts["late lock"]++
		w.runOnce(act{}, "cancel", "--yes")
	}
}

// runOnce runs husk once.
func (w *walker) runOnce(a act, args ...string) outcome {
	w.commands++
	w.counts[args[0]]++
	ctx, cancel := context.WithTimeout(w.t.Context(), longest)
	defer cancel()
	name := w.husk
	if name == "" {
		name = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, name, args...)
	if w.husk == "" {
		cmd.Args[0] = "husk" // see TestMain
	}
	cmd.Dir, cmd.Env = w.dir, w.env
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	w.cloud.taken()
	n := a.Kill
	w.cloud.mu.Lock()
	w.cloud.faults = a.Faults
	w.cloud.at = func(done bool) {
		if n > 0 && done == a.Late {
			if n--; n == 0 {
				_ = cmd.Process.Kill() // which may have ended
			}
		}
	}
	err := cmd.Start() // the cloud waits until there is a process
	w.cloud.mu.Unlock()
	w.must(err)
	if a.Pause > 0 {
		timer := time.AfterFunc(time.Duration(a.Pause)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	w.cloud.mu.Lock()
	w.cloud.faults, w.cloud.at = nil, nil
	w.cloud.mu.Unlock()
	o := outcome{args: args, text: text.String(), calls: w.cloud.taken()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		o.code = exit.ExitCode()
		status, _ := exit.Sys().(syscall.WaitStatus)
		o.killed = status.Signaled() && status.Signal() == syscall.SIGKILL
	} else {
		w.must(err)
	}
	if o.killed {
		w.killed[cmd.Process.Pid] = true
		w.counts["killed"]++
	}
	if len(a.Faults) > 0 {
		w.counts["with faults"]++
	}
	for line := range strings.Lines(o.text) {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			o.events = append(o.events, e)
		}
	}
	if args[0] != "stack" {
		w.done = append(w.done, fmt.Sprintf("husk %s: exit code %d, killed %v, %v\n%s", strings.Join(args, " "), o.code, o.killed, o.calls, indented(o.diagnostics())))
	}
	if ctx.Err() != nil && w.t.Context().Err() == nil {
		w.failf("it hangs: %v", o)
	}
	for _, bad := range []string{"panic:", "goroutine ", "fatal error", "internal error"} {
		if strings.Contains(o.text, bad) && !strings.Contains(o.text, "the provider crashes after") {
			w.failf("%v", o)
		}
	}
	if !o.killed && !slices.Contains([]int{0, 1, 2, 3}, o.code) {
		w.failf("%v", o)
	}
	return o
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "goroutine ") && !strings.Contains(line, ".go:") && !strings.Contains(line, "({") { // of a crash
			b.WriteString("    " + line)
		}
	}
	return b.String()
}

// write writes the program and the provider.
func (w *walker) write(p program, version int) {
	w.must(os.WriteFile(filepath.Join(w.dir, "Husk.yaml"), []byte(p.yaml(w.project, w.cloud.address)), 0o644))
	w.must(os.WriteFile(filepath.Join(w.dir, "world.wasm"), w.modules[version-1], 0o644))
}

// walk does acts, and what comes at the end of all. It returns what it found.
func (w *walker) walk(acts []act) (err error) {
	defer func() {
		if f, ok := recover().(failure); ok {
			err = f.error
		}
	}()
	for _, a := range acts {
		w.act(a)
	}
	if len(acts) == 0 {
		return nil // there is no project
	}
	last := acts[len(acts)-1]
	w.settle(last.Program, last.Version)
	w.destroyAll()
	return nil
}

// act does one act.
func (w *walker) act(a act) {
	text, err := json.Marshal(a)
	w.must(err)
	w.done = append(w.done, string(text))
	if a.Do == "settle" {
		w.settle(a.Program, a.Version)
		return
	}
	w.prepare(a)
	was, world := w.recorded(), w.cloud.there()
	if a.Do == "lost login" {
		w.loseLogin(was, world)
		return
	}
	flags := w.flags(a)
	var preview *outcome
	if a.Preview {
		preview = w.preview(a, flags, was, world)
	}
	if a.Plan && preview != nil && preview.code == 0 {
		flags = append(flags, "--plan", "plan.json")
	}
	free := func() {}
	if a.Left > 0 && w.place.disk != "" {
		free = w.fill(a.Left - 1)
	}
	o := w.run(a, slices.Concat([]string{a.Do, "--yes", "--skip-preview", "--json", "--parallel", strconv.Itoa(a.Parallel)}, flags)...)
	free()
	if o.killed && w.place.url != "" {
		w.run(act{}, "cancel", "--yes") // its lock would end by itself, later
	}
	is := w.recorded()
	w.checkKnown(a, o, was, is)
	w.checkCalls(a, o, was, is, world)
	if preview != nil {
		w.checkPreviewed(a, *preview, o, was, is, world)
	}
	if o.code == 0 && !o.killed && !a.narrow() && len(a.Faults) == 0 && (a.Do == "refresh" || slices.Contains(a.Flags, "--refresh")) {
		w.drifted = false
	}
}

// loseLogin updates without the login to where the state is: that must not make everything again beside the project.
func (w *walker) loseLogin(was recorded, world map[string]object) {
	if w.place.url == "" || len(was.entries) == 0 {
		return
	}
	env := w.env
	w.env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "HUSK_BACKEND_URL=") })
	o := w.run(act{}, "up", "--yes", "--skip-preview", "--json")
	w.env = env
	if o.code == 0 || len(o.calls) > 0 {
		w.failf("an update without the login to the state was not refused: %v", o)
	}
	w.requireUnchanged("an update without the login", was, world)
}

// flags are those of an act.
func (w *walker) flags(a act) []string {
	flags := slices.Clone(a.Flags)
	for _, given := range []struct {
		flag  string
		names []string
	}{{"--target", a.Targets}, {"--exclude", a.Excludes}, {"--replace", a.Replace}} {
		for _, name := range given.names {
			flags = append(flags, given.flag, "**::"+name)
		}
	}
	return flags
}

// prepare changes the world, the program, and the provider as an act wants.
func (w *walker) prepare(a act) {
	p := a.Program
	for _, r := range p.Resources {
		if r.Alias == "" {
			continue
		}
		old := resource{Name: r.Alias, Type: r.Type}
		for i, part := range r.parts() {
			w.former[part] = append(append(w.former[part], old.parts()[i]), w.former[old.parts()[i]]...)
		}
	}
	w.write(p, a.Version)
	is := w.recorded()
	w.cloud.change(func(objects map[string]*object) {
		for _, r := range p.Resources {
			if id := importID(r.Name); r.Import && objects[id] == nil {
				objects[id] = &object{ID: id, Kind: r.Type, Region: p.Region, Key: 1, Subkind: r.Kind}
				if _, known := is.object(id); !known {
					w.outside[id] = true
				} else {
					w.drifted = true
				}
			} else if r.Import && w.outside[id] {
				objects[id].Subkind, objects[id].Region = r.Kind, p.Region // else it could not be imported
			}
		}
		for _, e := range is.entries {
			o := objects[e.ID]
			if !e.isObject() || e.Delete || o == nil {
				continue
			}
			if slices.Contains(a.Lose, e.URN.Name()) {
				w.cloud.remove(e.ID)
				w.drifted = true
			}
			if slices.Contains(a.Drift, e.URN.Name()) {
				o.Key = 9
				w.drifted = true
			}
		}
	})
}

// preview previews an update, which changes nothing.
func (w *walker) preview(a act, flags []string, was recorded, world map[string]object) *outcome {
	args := slices.Concat([]string{"preview", "--json", "--parallel", strconv.Itoa(a.Parallel)}, flags)
	if a.Plan {
		args = append(args, "--save-plan", "plan.json")
	}
	o := w.run(act{}, args...)
	w.requireUnchanged("a preview", was, world)
	return &o
}

// requireUnchanged requires that a command has changed nothing.
func (w *walker) requireUnchanged(what string, was recorded, world map[string]object) {
	if is := w.recorded(); is.String() != was.String() {
		w.failf("%s has changed the state:\n%s\nwas:\n%s", what, is, was)
	}
	if is := w.cloud.there(); show(is) != show(world) {
		w.failf("%s has changed the world, which was:\n%s", what, show(world))
	}
}

// checkKnown requires that the state knows of each object of the world, or a creation that is pending, or the user, because husk
// said that it leaves the object behind; and that none is there twice.
func (w *walker) checkKnown(a act, o outcome, was, is recorded) {
	known := map[string]entry{}
	for _, e := range is.entries {
		if !e.isObject() {
			continue
		}
		delete(w.outside, e.ID) // it was imported
		if other, twice := known[e.ID]; twice && !e.Delete && !other.Delete {
			w.failf("the object %s is in the state twice: %s and %s", e.ID, other.URN, e.URN)
		}
		known[e.ID] = e
	}
	for _, e := range o.events {
		if _, rest, ok := strings.Cut(e.Message, "the object \""); ok && strings.Contains(rest, "\" is retained") {
			id, _, _ := strings.Cut(rest, "\"")
			w.told[id] = true
		}
	}
	pending := map[string]int{}
	for _, u := range is.creating {
		pending[u.Name()+" "+u.Type()]++
	}
	unknown := w.cloud.there()
	maps.DeleteFunc(unknown, func(id string, object object) bool {
		if _, ok := known[id]; ok || w.outside[id] || w.told[id] {
			return true
		}
		if e, ok := was.object(id); o.killed && ok && w.mayRetain(a, e) {
			w.told[id] = true // it could not say so any more
			return true
		}
		creation := object.Maker + " " + object.typ()
		if pending[creation] == 0 {
			return false
		}
		pending[creation]--
		return true
	})
	// A creation that no object has under its own name is that of an object of a former name.
	for id, object := range unknown {
		creation := ""
		for _, name := range w.namesOf(object.Maker) {
			if possible := name + " " + object.typ(); pending[possible] > 0 {
				creation = possible
			}
		}
		if creation == "" {
			w.failf("nothing knows of the object %s, which %s made; the state is\n%s", id, object.Maker, is)
		}
		pending[creation]--
	}
}

// mayRetain reports whether the object of a resource may be left behind: the state or the program says so.
func (w *walker) mayRetain(a act, e entry) bool {
	i := a.Program.index(e.URN.Name())
	return e.RetainOnDelete || i >= 0 && a.Program.Resources[i].Retain
}

// namesOf are the names that the resource has or had that made an object under a name.
func (w *walker) namesOf(maker string) []string {
	out := []string{maker}
	for name, former := range w.former {
		if slices.Contains(former, maker) {
			out = append(out, name)
		}
	}
	return out
}

// checkCalls requires that a run made no object twice, and that each deletion was that of a step, of something that the stack
// had made and that was not protected.
func (w *walker) checkCalls(a act, o outcome, was, is recorded, world map[string]object) {
	created, steps := map[string]int{}, map[string]bool{}
	for _, e := range o.events {
		if e.Type == "step-started" && (strings.Contains(e.Step.Op, "delete") || strings.Contains(e.Step.Op, "replace")) {
			steps[e.Step.URN.Name()] = true
		}
	}
	for i, c := range o.calls {
		switch c.Method {
		case "create":
			if created[c.Name]++; created[c.Name] > 1 {
				w.failf("%s was made twice by %v", c.Name, o)
			}
		case "delete":
			e, ok := was.object(c.ID)
			switch {
			case !ok && created[c.Name] == 0 && world[c.ID].ID != "":
				w.failf("%s was deleted, which the state did not have", c.ID)
			case ok && e.Protect && !e.Delete && !w.unprotects(a, e):
				w.failf("%s was deleted, which is protected: %v", c.ID, o)
			case !o.killed && !steps[c.Name]:
				w.failf("%s was deleted by no step: %v", c.ID, o)
			case w.isAhead(a, o, c, created), w.goesAhead(a, o, e, was, created):
			default:
				for _, id := range c.Users {
					if len(a.Targets) > 0 && created[c.Name] > 0 {
						break // a replaced target leaves its users, and they its old copy, as in Pulumi
					}
					if e, ok := was.object(id); ok && !w.told[id] {
						w.failf("%s was deleted while %s %s uses it: %v", c.ID, e.URN, id, o)
					}
				}
				if created[c.Name] == 0 { // else the new one is what others depend on
					w.checkOrder(a, e, o, o.calls[:i], was, is, world)
				}
			}
		}
	}
}

// checkOrder requires that nothing that depends on what is deleted, or on the component that it is part of, is there after the calls
// before. What goes along with its owner has no call of its own.
func (w *walker) checkOrder(a act, gone entry, o outcome, before []call, was, is recorded, world map[string]object) {
	if gone.Delete {
		return // its successor is what others depend on
	}
	there, needs := w.cloud.there(), was.needs(gone)
	for _, e := range was.entries {
		depends := func(e entry) bool {
			return slices.Contains(e.Dependencies, gone.URN) || strings.HasSuffix(gone.Parent.Type(), ":"+group) && slices.Contains(e.Dependencies, gone.Parent)
		}
		late, recorded := is.object(e.ID)
		if a.Do == "up" && o.code == 0 && !a.narrow() && !slices.Contains(late.Dependencies, gone.URN) {
			late.Dependencies = nil // the program says which parts its components have by now
		}
		_, left := there[e.ID]
		deleted := func(c call) bool { return c.Method == "delete" && c.ID == e.ID }
		switch {
		case !e.isObject() || e.Delete || e.Parent == gone.Parent && e.Parent.Type() != urn.RootType || world[e.ID].ID == "" || w.told[e.ID] || !depends(e):
		case needs[e.URN]: // a part that needs what uses its component
		case recorded && !depends(late), slices.ContainsFunc(before, deleted), !left && !slices.ContainsFunc(o.calls, deleted):
		default:
			w.failf("%s was deleted before %s, which depends on it: %v", gone.URN, e.URN, o)
		}
	}
}

// isAhead reports whether an object was deleted before another one is made of its resource, so that others still used it.
func (w *walker) isAhead(a act, o outcome, c call, created map[string]int) bool {
	if created[c.Name] > 0 {
		return false // it was made before
	}
	if slices.ContainsFunc(o.calls, func(other call) bool { return other.Method == "create" && other.Name == c.Name }) {
		return true
	}
	return a.Do == "up" && (o.killed || o.code != 0) && slices.ContainsFunc(a.Program.Resources, func(r resource) bool {
		return slices.ContainsFunc(r.parts(), func(part string) bool { return slices.Contains(w.namesOf(c.Name), part) })
	})
}

// goesAhead reports whether an object was deleted with one that it needs, and that goes, or is retained, before another one is
// made: only the program's end tells that nobody wants it again.
func (w *walker) goesAhead(a act, o outcome, e entry, was recorded, created map[string]int) bool {
	needs := was.needs(e)
	return slices.ContainsFunc(was.entries, func(other entry) bool {
		return other.isObject() && needs[other.URN] && w.isAhead(a, o, call{Name: other.URN.Name()}, created)
	})
}

// unprotects reports whether an act deletes what is protected so far.
func (w *walker) unprotects(a act, e entry) bool {
	if slices.Contains(a.Flags, "--ignore-protect") {
		return true
	}
	if a.Do != "up" && !slices.Contains(a.Flags, "--run-program") {
		return false
	}
	for _, r := range a.Program.Resources {
		for _, part := range r.parts() {
			if part == e.URN.Name() || slices.Contains(w.former[part], e.URN.Name()) {
				return !r.Protect
			}
		}
	}
	return false
}

// steps are what a command did or would do, without what it left alone, by resource.
func (o outcome) steps() map[urn.URN][]string {
	out := map[urn.URN][]string{}
	for _, e := range o.events {
		if e.Type == "step-started" && !slices.Contains([]string{"same", "read", "refresh"}, e.Step.Op) {
			out[e.Step.URN] = append(out[e.Step.URN], e.Step.Op)
		}
	}
	return out
}

// replaces are the steps of a replacement.
var replaces = []string{"replace", "create-replacement", "delete-replaced"}

// allowed reports whether a preview that shows some steps of a resource allows another.
func allowed(shown []string, op string) bool {
	has := func(ops ...string) bool {
		return slices.ContainsFunc(ops, func(op string) bool { return slices.Contains(shown, op) })
	}
	switch op {
	case "update": // what may be replaced may be updated as well, or left alone
		return has(op) || has(replaces...)
	case "delete": // what goes may go ahead of a replacement, or at the end
		return has(op, "remove-pending-replace")
	case "delete-replaced", "remove-pending-replace":
		return has(op, "delete")
	default:
		return has(op)
	}
}

// checkPreviewed requires that an update did what its preview showed, and, with a plan, all of it or nothing.
func (w *walker) checkPreviewed(a act, preview, o outcome, was, is recorded, world map[string]object) {
	if preview.code != 0 {
		mayReplace := strings.Contains(preview.diagnostics(), "the resource is protected, but its change of provider needs a replacement")
		if o.code == 0 && !(mayReplace && slices.Contains(preview.args, "--save-plan")) { // a plan has what may come
			w.failf("the preview failed, and the update did not:\n%v\n%v", preview, o)
		}
		return
	}
	shown := preview.steps()
	for u, ops := range o.steps() {
		for _, op := range ops {
			if !allowed(shown[u], op) {
				w.failf("%s %s was not shown by the preview, which shows %v:\n%v\n%v", op, u, shown[u], preview, o)
			}
		}
	}
	if o.code == 0 {
		return
	}
	if w.drifted || strings.Contains(o.text, "it exists already") || strings.Contains(preview.text, "the update will fail then") {
		return // only the cloud knows, or the preview told
	}
	if a.Plan && (show(w.cloud.there()) != show(world) || is.String() != was.String()) {
		w.failf("a plan was carried out in part:\n%v\n%v", preview, o)
	}
	w.failf("the preview succeeded, and the update failed:\n%v\n%v", preview, o)
}

// unprotected is a program that protects nothing.
func unprotected(p program) program {
	p = p.clone()
	for i := range p.Resources {
		p.Resources[i].Protect = false
	}
	return p
}

// settle ends all faults, and has the stack find out what it left, as a careful user does. An update then makes the world what the
// program says, and a further one does nothing.
func (w *walker) settle(p program, version int) {
	p = unprotected(p)
	w.prepare(act{Program: p, Version: version})
	w.resolve()
	a := act{Do: "up", Program: p, Version: version, Flags: []string{"--refresh", "--update-on-import", "--ignore-protect"}}
	up := func() (outcome, recorded) {
		w.cloud.change(func(objects map[string]*object) {
			for id := range w.told {
				if o := objects[id]; o != nil && o.Kind == "Named" {
					w.cloud.remove(id) // it would be in the way of another one of its name
				}
			}
		})
		was, world := w.recorded(), w.cloud.there()
		o := w.run(act{}, append([]string{"up", "--yes", "--skip-preview", "--json"}, a.Flags...)...)
		is := w.recorded()
		w.checkKnown(a, o, was, is)
		w.checkCalls(a, o, was, is, world)
		return o, is
	}
	o, is := up()
	if o.code != 0 && strings.Contains(o.text, "is retained") && strings.Contains(o.text, "it exists already") {
		o, is = up() // without what was retained just now
	}
	if o.code != 0 && strings.Contains(o.text, "it exists already") && slices.ContainsFunc(is.entries, func(e entry) bool { return e.Delete }) {
		// The program went back to what an old copy is, which has the name until an update gets as far as its deletion. As in
		// Pulumi, only who deletes it first gets on.
		w.run(act{}, "destroy", "--yes", "--skip-preview", "--json", "--ignore-protect")
		o, is = up()
	}
	if o.code != 0 {
		w.failf("after all faults, the update fails: %v", o)
	}
	w.drifted = false
	if len(is.creating) > 0 {
		w.failf("after all faults, creations are pending: %v", is.creating)
	}
	w.requireReached(p, is)
	world := w.cloud.there()
	o = w.run(act{}, "preview", "--json")
	w.requireUnchanged("a preview", is, world)
	for kind, n := range o.events[len(o.events)-1].Changes {
		if o.code != 0 || n > 0 && kind != "same" && kind != "read" {
			w.failf("after an update something is left to do: %v", o)
		}
	}
}

// resolve has the state take over what creations that were cut off have made. What it cannot take over the user deletes by hand.
func (w *walker) resolve() {
	is := w.recorded()
	if len(is.creating) == 0 {
		return
	}
	objects := w.cloud.there()
	var ids []string
	for id := range objects {
		if _, known := is.object(id); !known && !w.outside[id] && !w.told[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	args := []string{"refresh", "--yes", "--skip-preview", "--json"}
	adopted := map[urn.URN]bool{}
	for _, id := range ids {
		taken := false
		for _, u := range is.creating {
			if !taken && !adopted[u] && u.Type() == objects[id].typ() && slices.Contains(w.namesOf(objects[id].Maker), u.Name()) {
				args = append(args, "--adopt-pending-creates", fmt.Sprintf("%s=%s", u, id))
				adopted[u], taken = true, true
			}
		}
		if !taken {
			w.cloud.change(func(map[string]*object) { w.cloud.remove(id) })
		}
	}
	if len(adopted) > 0 {
		o := w.run(act{}, args...)
		if o.code != 0 && !strings.Contains(o.text, "is not in the state any more") { // the provider is destroyed
			w.failf("the objects are not adopted: %v", o)
		}
		if o.code != 0 {
			for _, id := range ids {
				w.cloud.change(func(map[string]*object) { w.cloud.remove(id) })
			}
		}
	}
	if o := w.run(act{}, "refresh", "--yes", "--skip-preview", "--json", "--clear-pending-creates"); o.code != 0 {
		w.failf("the creations are not forgotten: %v", o)
	}
	w.checkKnown(act{}, outcome{}, is, w.recorded())
}

// requireReached requires that the stack is what a program says, and that each of its resources is one object.
func (w *walker) requireReached(p program, is recorded) {
	var want, got []string
	keys := map[string]resource{}
	for _, r := range p.Resources {
		want = append(want, r.parts()...)
		keys[r.Name] = r
	}
	objects := w.cloud.there()
	for _, e := range is.entries {
		if e.Delete || e.PendingReplacement {
			w.failf("%s is left half done", e.URN)
		}
		if !e.isObject() {
			continue
		}
		name := e.URN.Name()
		got = append(got, name)
		o, ok := objects[e.ID]
		if !ok {
			w.failf("%s has no object %s", e.URN, e.ID)
		}
		if r, ok := keys[name]; ok && r.Type != group && (o.Key != r.Key && !r.Ignore || o.Subkind != r.Kind) {
			w.failf("%s is not as the program says: %+v", e.URN, o)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		w.failf("the program has %v, and the stack %v", want, got)
	}
}

// destroyAll destroys the stack. What is left then was told.
func (w *walker) destroyAll() {
	w.resolve()
	was := w.recorded()
	if len(was.entries) == 0 {
		return
	}
	o := w.run(act{}, "destroy", "--yes", "--skip-preview", "--json", "--ignore-protect")
	is := w.recorded()
	w.checkKnown(act{Do: "destroy"}, o, was, is)
	if o.code != 0 || len(is.entries) > 0 {
		w.failf("not all is destroyed: %v\n%s", o, is)
	}
	for id := range w.cloud.there() {
		if !w.told[id] && !w.outside[id] {
			w.failf("%s is left", id)
		}
	}
}

// fill has the disk of the state be full but for some bytes, until it is told to give the space back.
func (w *walker) fill(left int) (free func()) {
	file := filepath.Join(w.place.disk, "ballast")
	var stat syscall.Statfs_t
	require.NoError(w.t, syscall.Statfs(w.place.disk, &stat))
	size := int64(stat.Bavail)*stat.Bsize - int64(left)
	require.NoError(w.t, os.WriteFile(file, make([]byte, min(max(size, 0), math.MaxInt32)), 0o600))
	return func() { require.NoError(w.t, os.Remove(file)) }
}
