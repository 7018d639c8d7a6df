// Command lab is a provider for the tests of the command line. Its resources do
// what real ones do only sometimes: take long, fail, talk, crash, and let secrets
// slip.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/assets"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/kv"
	"github.com/husk-dev/husk/guest-sdk/tcp"
)

// Config is the lab's configuration, none of which is needed.
type Config struct {
	Site  *string           `husk:"site,replace" doc:"Where the lab is."`
	Frame *Frame            `husk:"frame" doc:"What labels are written between."`
	Marks []string          `husk:"marks,optional" doc:"What is written on every label."`
	Notes map[string]string `husk:"notes,optional,secret" doc:"What is known of things, by name."`
}

// Frame is around a label.
type Frame struct {
	Left  string `husk:"left"`
	Right string `husk:"right"`
}

// label decorates a name by the configuration.
func (c *Config) label(name string) string {
	frame := Frame{"<", ">"}
	if c.Frame != nil {
		frame = *c.Frame
	}
	for _, mark := range c.Marks {
		name += mark
	}
	if c.Site != nil {
		name += "@" + *c.Site
	}
	return frame.Left + name + frame.Right
}

// ThingInputs are a Thing's.
type ThingInputs struct {
	Name  string   `husk:"name,replace" doc:"What it is called."`
	Size  *int     `husk:"size,min=1,max=100" doc:"How large it is."`
	Parts []string `husk:"parts,optional" doc:"What it is made of."`
	Key   *string  `husk:"key,secret" doc:"What opens it."`
}

// ThingState is a Thing's.
type ThingState struct {
	ThingInputs
	Label string `husk:"label" doc:"The name, decorated."`
	Token string `husk:"token,secret" doc:"Made up by the provider."`
}

// Thing is a resource that does nothing, well.
type Thing struct{ config *Config }

func (t Thing) stateOf(in ThingInputs) ThingState {
	token := "token-of-" + in.Name
	if note, ok := t.config.Notes[in.Name]; ok {
		token = note
	}
	return ThingState{in, t.config.label(in.Name), token}
}

// Create makes a thing.
func (t Thing) Create(_ context.Context, r guest.CreateRequest[ThingInputs]) (guest.CreateResponse[ThingState], error) {
	return guest.CreateResponse[ThingState]{ID: "thing-" + r.Inputs.Name, State: t.stateOf(r.Inputs)}, nil
}

// Update changes a thing.
func (t Thing) Update(_ context.Context, r guest.UpdateRequest[ThingInputs, ThingState]) (guest.UpdateResponse[ThingState], error) {
	return guest.UpdateResponse[ThingState]{State: t.stateOf(r.Inputs)}, nil
}

// Read finds a thing as it is recorded. One that is not recorded, but is called one,
// exists as well, with a key.
func (t Thing) Read(_ context.Context, r guest.ReadRequest[ThingInputs, ThingState]) (guest.ReadResponse[ThingInputs, ThingState], error) {
	if r.State != nil && r.Inputs != nil {
		return guest.ReadResponse[ThingInputs, ThingState]{Inputs: *r.Inputs, State: *r.State}, nil
	}
	name, ok := strings.CutPrefix(r.ID, "thing-")
	if !ok {
		return guest.ReadResponse[ThingInputs, ThingState]{}, guest.NotFound("there is no such thing")
	}
	key := "key-of-" + name
	in := ThingInputs{Name: name, Parts: []string{"${lid}", "bottom"}, Key: &key}
	return guest.ReadResponse[ThingInputs, ThingState]{Inputs: in, State: t.stateOf(in)}, nil
}

// CrateInputs are a Crate's.
type CrateInputs struct {
	Label string `husk:"label,autoname=16" doc:"What is written on it."`
	Size  int    `husk:"size,optional,replace" doc:"How large it is."`
}

// List tells of a crate for each letter, one at a time.
func (Crate) List(_ context.Context, r guest.ListRequest) (guest.ListResponse, error) {
	letter := "a"
	if r.ContinuationToken != "" {
		letter = r.ContinuationToken
	}
	page := guest.ListResponse{Resources: []guest.ListedResource{{ID: "crate-" + letter, Name: "Crate " + letter}}}
	if letter < "c" && !r.Query.Has("one") {
		page.ContinuationToken = string(letter[0] + 1)
	}
	return page, nil
}

// CrateState is a Crate's.
type CrateState struct{ CrateInputs }

// Crate is a resource that has a name, by which nobody else may go.
type Crate struct{}

// Create makes a crate.
func (Crate) Create(_ context.Context, r guest.CreateRequest[CrateInputs]) (guest.CreateResponse[CrateState], error) {
	return guest.CreateResponse[CrateState]{ID: r.Inputs.Label, State: CrateState{r.Inputs}}, nil
}

// Update changes a crate.
func (Crate) Update(_ context.Context, r guest.UpdateRequest[CrateInputs, CrateState]) (guest.UpdateResponse[CrateState], error) {
	return guest.UpdateResponse[CrateState]{State: CrateState{r.Inputs}}, nil
}

// WaitInputs are a Wait's.
type WaitInputs struct {
	Begun string `husk:"begun" doc:"A file that is made when the creation begins."`
	Until string `husk:"until" doc:"A file that the creation waits for."`
}

// WaitState is a Wait's.
type WaitState struct{ WaitInputs }

// Wait is a resource whose creation lasts until a file appears.
type Wait struct{}

// patience bounds the wait, so that a test that goes wrong ends.
const patience = time.Minute

// Create waits.
func (Wait) Create(ctx context.Context, r guest.CreateRequest[WaitInputs]) (guest.CreateResponse[WaitState], error) {
	guest.Log(ctx).Info("waiting for " + r.Inputs.Until)
	if err := os.WriteFile(r.Inputs.Begun, nil, 0o644); err != nil {
		return guest.CreateResponse[WaitState]{}, err
	}
	for deadline := time.Now().Add(patience); ; {
		if _, err := os.Stat(r.Inputs.Until); err == nil {
			return guest.CreateResponse[WaitState]{ID: "waited", State: WaitState{r.Inputs}}, nil
		}
		if time.Now().After(deadline) {
			return guest.CreateResponse[WaitState]{}, errors.New(r.Inputs.Until + " did not appear")
		}
		select {
		case <-ctx.Done():
			return guest.CreateResponse[WaitState]{}, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TroubleInputs are a Trouble's.
type TroubleInputs struct {
	Kind string  `husk:"kind,oneof=fail|panic|talk" doc:"What goes wrong."`
	Key  *string `husk:"key,secret" doc:"Something that must not be shown."`
}

// TroubleState is a Trouble's.
type TroubleState struct{ TroubleInputs }

// Trouble is a resource that goes wrong.
type Trouble struct{}

// Create goes wrong.
func (Trouble) Create(ctx context.Context, r guest.CreateRequest[TroubleInputs]) (guest.CreateResponse[TroubleState], error) {
	switch r.Inputs.Kind {
	case "fail":
		return guest.CreateResponse[TroubleState]{}, errors.New("the lab is closed\ncome back tomorrow")
	case "panic":
		panic("the lab exploded")
	}
	log := guest.Log(ctx)
	log.Debug("a word for authors")
	log.Info("a word for users")
	log.Warning("mind the \x1b[31mpaint\x1b[0m")
	os.Stdout.WriteString("printed to stdout\n")
	os.Stderr.WriteString("printed to stderr\n")
	return guest.CreateResponse[TroubleState]{ID: "talked", State: TroubleState{r.Inputs}}, nil
}

// ReachInputs are a Reach's.
type ReachInputs struct {
	Address *string `husk:"address" doc:"A host and port to connect to."`
}

// ReachState is a Reach's.
type ReachState struct {
	ReachInputs
	Count int `husk:"count" doc:"How many were checked and made before, by what the lab keeps."`
}

// Reach is a resource that uses what the lab was granted.
type Reach struct{}

// Check counts.
func (Reach) Check(ctx context.Context, r guest.CheckRequest[ReachInputs]) ([]guest.CheckFailure, error) {
	if r.Inputs.Address != nil {
		return nil, nil
	}
	return nil, (&ReachState{}).reach(ctx)
}

// Create counts, and connects.
func (Reach) Create(ctx context.Context, r guest.CreateRequest[ReachInputs]) (guest.CreateResponse[ReachState], error) {
	state := ReachState{ReachInputs: r.Inputs}
	if err := state.reach(ctx); err != nil {
		return guest.CreateResponse[ReachState]{}, err
	}
	return guest.CreateResponse[ReachState]{ID: "reached by " + r.URN.Name(), State: state}, nil
}

// Delete connects once more, where there is an address.
func (Reach) Delete(ctx context.Context, r guest.DeleteRequest[ReachState]) error {
	if r.State.Address == nil {
		return nil
	}
	return r.State.reach(ctx)
}

func (s *ReachState) reach(ctx context.Context) error {
	if s.Address != nil {
		conn, err := tcp.DialContext(ctx, "tcp", *s.Address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	before, err := kv.Get(ctx, "count")
	if err != nil {
		return err
	}
	s.Count = len(before.Value)
	_, err = kv.Put(ctx, "count", append(before.Value, '|'), before.Revision)
	return err
}

// hostile is text that does what it says on a terminal, or hides what it says.
const hostile = "\x1b[2J\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\\x1b]0;title\x07\u009b31m\r\b\u202eesrever\u2066\u2028x\x7f\x00"

// HostileInputs are a Hostile's.
type HostileInputs struct {
	Fail  bool   `husk:"fail,default=false"`
	Check bool   `husk:"check,default=false"`
	Text  string `husk:"text,optional"`
}

// HostileState is a Hostile's.
type HostileState struct {
	HostileInputs
	Made map[string]string `husk:"made"`
}

// Hostile is a resource that says hostile things wherever it can say something.
type Hostile struct{}

// Check refuses.
func (Hostile) Check(_ context.Context, r guest.CheckRequest[HostileInputs]) ([]guest.CheckFailure, error) {
	if r.Inputs.Check {
		return []guest.CheckFailure{{Path: "text", Reason: hostile}}, nil
	}
	return nil, nil
}

// Create fails, or makes a hostile state.
func (Hostile) Create(ctx context.Context, r guest.CreateRequest[HostileInputs]) (guest.CreateResponse[HostileState], error) {
	log := guest.Log(ctx)
	log.Info(hostile)
	log.Error(hostile + "\n" + hostile)
	os.Stdout.WriteString(hostile + "\n")
	os.Stderr.WriteString(hostile + "\n")
	state := HostileState{r.Inputs, map[string]string{hostile: hostile}}
	if r.Inputs.Fail {
		return guest.CreateResponse[HostileState]{ID: hostile, State: state}, guest.InitFailed(hostile)
	}
	return guest.CreateResponse[HostileState]{ID: hostile, State: state}, nil
}

// Update changes what is hostile.
func (Hostile) Update(_ context.Context, r guest.UpdateRequest[HostileInputs, HostileState]) (guest.UpdateResponse[HostileState], error) {
	return guest.UpdateResponse[HostileState]{State: HostileState{r.Inputs, map[string]string{hostile: r.Inputs.Text}}}, nil
}

// Delete refuses.
func (Hostile) Delete(context.Context, guest.DeleteRequest[HostileState]) error {
	return errors.New(hostile)
}

// LabelArgs are those of the function label.
type LabelArgs struct {
	Name string `husk:"name"`
}

// LabelResult is that of the function label.
type LabelResult struct {
	Label string `husk:"label"`
}

// extend makes a package of things of the word's name.
func (c *Config) extend(_ context.Context, p guest.Parameters) (guest.Parameterized, error) {
	switch {
	case len(p.Args) > 1:
		return guest.Parameterized{}, errors.New("an annex has one word as its name")
	case len(p.Args) == 1:
		p.Name, p.Version, p.Value = p.Args[0], "0.1.0", []byte("annex "+p.Args[0])
	case string(p.Value) != "annex "+p.Name:
		return guest.Parameterized{}, errors.New("that is not the value of the annex " + p.Name)
	}
	return guest.Parameterized{Value: p.Value, Provider: guest.Provider{
		Name: p.Name, Version: p.Version,
		Resources: []guest.Resource{guest.ResourceOf(p.Name+":index:Thing", Thing{c})},
		Functions: []guest.Function{c.labelFunction(p.Name)},
	}}, nil
}

func (c *Config) labelFunction(pkg string) guest.Function {
	return guest.FunctionOf(pkg+":index:label", func(_ context.Context, args LabelArgs) (LabelResult, error) {
		return LabelResult{c.label(pkg + " " + args.Name)}, nil
	})
}

// ParcelInputs are a Parcel's.
type ParcelInputs struct {
	Letter *property.Asset   `husk:"letter" doc:"A text in it."`
	Box    *property.Archive `husk:"box" doc:"Files in it."`
}

// ParcelState is a Parcel's.
type ParcelState struct {
	ParcelInputs
	Contents []string `husk:"contents" doc:"What was found in it."`
	Packed   string   `husk:"packed" doc:"The SHA-256 of the box as a zip file."`
}

// Parcel is a resource that is opened.
type Parcel struct{}

func open(ctx context.Context, in ParcelInputs) (s ParcelState, err error) {
	s = ParcelState{ParcelInputs: in, Contents: []string{}}
	if in.Letter != nil {
		letter, err := assets.Open(ctx, *in.Letter)
		if err != nil {
			return s, err
		}
		text, err := io.ReadAll(letter)
		if err = errors.Join(err, letter.Close()); err != nil {
			return s, err
		}
		s.Contents = append(s.Contents, string(text))
	}
	if in.Box != nil {
		for file, err := range assets.Entries(ctx, *in.Box) {
			if err != nil {
				return s, err
			}
			text, err := io.ReadAll(file)
			if err != nil {
				return s, err
			}
			s.Contents = append(s.Contents, file.Name+": "+string(text))
		}
		packed, err := assets.OpenArchive(ctx, *in.Box, assets.Zip)
		if err != nil {
			return s, err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, packed)
		if err = errors.Join(err, packed.Close()); err != nil {
			return s, err
		}
		s.Packed = hex.EncodeToString(hash.Sum(nil))
	}
	return s, nil
}

// Create opens a parcel.
func (Parcel) Create(ctx context.Context, r guest.CreateRequest[ParcelInputs]) (guest.CreateResponse[ParcelState], error) {
	s, err := open(ctx, r.Inputs)
	return guest.CreateResponse[ParcelState]{ID: "parcel", State: s}, err
}

// Update opens another one.
func (Parcel) Update(ctx context.Context, r guest.UpdateRequest[ParcelInputs, ParcelState]) (guest.UpdateResponse[ParcelState], error) {
	s, err := open(ctx, r.Inputs)
	return guest.UpdateResponse[ParcelState]{State: s}, err
}

// Delete finds that what was in it cannot be had any more.
func (Parcel) Delete(ctx context.Context, r guest.DeleteRequest[ParcelState]) error {
	if letter := r.State.Letter; letter != nil {
		if _, err := assets.Open(ctx, *letter); !errors.Is(err, assets.ErrElided) {
			return errors.New("the letter is still there")
		}
	}
	return nil
}

func main() {
	config := &Config{}
	guest.Serve(guest.Provider{
		Name: "lab", Version: "1.2.3", Description: "Resources for tests.",
		Config: guest.ConfigOf(func(_ context.Context, c Config) error {
			*config = c
			return nil
		}),
		Extend:   config.extend,
		Mappings: []guest.Mapping{{Key: "terraform", Provider: "workshop", Data: []byte(`{"thing": "lab:index:Thing"}`)}},
		Resources: []guest.Resource{
			guest.ResourceOf("lab:index:Thing", Thing{config}),
			guest.ResourceOf("lab:index:Crate", Crate{}),
			guest.ResourceOf("lab:index:Wait", Wait{}),
			guest.ResourceOf("lab:index:Trouble", Trouble{}),
			guest.ResourceOf("lab:index:Excess", Excess{}),
			guest.ResourceOf("lab:index:Parcel", Parcel{}),
			guest.ResourceOf("lab:index:Reach", Reach{}),
			guest.ResourceOf("lab:index:Hostile", Hostile{}, guest.Doc("Says "+hostile)),
			guest.ResourceOf("lab:index:Leak", Leak{}),
			guest.ResourceOf("lab:index:Forger", Forger{}, guest.Doc("Says "+forged)),
			guest.ResourceOf("lab:index:Object", Object{}),
			guest.ResourceOf("lab:index:Safe", Safe{}),
		},
		Ephemerals: []guest.Ephemeral{guest.EphemeralOf("lab:index:key", Key{})},
		Actions:    []guest.Action{guest.ActionOf("lab:index:ring", ring)},
		Functions:  []guest.Function{config.labelFunction("lab")},
		Streams:    []guest.Stream{countFunction},
	})
}
