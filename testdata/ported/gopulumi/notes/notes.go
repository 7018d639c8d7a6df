// Package notes has a resource, a function, and a component that each use what is special about
// pulumi-go-provider's providers. Notes are kept nowhere: the state is all there is of them.
package notes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	provider "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Provider returns the provider.
func Provider() (provider.Provider, error) {
	return infer.NewProviderBuilder().
		WithNamespace("example").
		WithConfig(infer.Config(Config{})).
		WithResources(infer.Resource(Note{})).
		WithFunctions(infer.Function(Count{})).
		WithComponents(infer.ComponentF(NewBinder)).
		WithModuleMap(map[tokens.ModuleName]tokens.ModuleName{"notes": "index"}).
		Build()
}

// Config is the provider's configuration.
type Config struct {
	Author string `pulumi:"author"`
	Key    string `pulumi:"key,optional" provider:"secret"`
}

// Annotate describes the configuration.
func (c *Config) Annotate(a infer.Annotator) {
	a.Describe(&c.Author, "Who writes the notes.")
}

// Note is a resource.
type Note struct{}

// NoteArgs are the inputs of a note.
type NoteArgs struct {
	Title string            `pulumi:"title" provider:"replaceOnChanges"`
	Text  string            `pulumi:"text" provider:"secret"`
	Tags  []string          `pulumi:"tags,optional"`
	Links map[string]string `pulumi:"links,optional"`
	Color string            `pulumi:"color,optional"`
	// Torn has the note be there, but not as it should be.
	Torn bool `pulumi:"torn,optional"`
}

// Annotate sets defaults.
func (n *NoteArgs) Annotate(a infer.Annotator) {
	a.Describe(&n.Title, "The first line.")
	a.SetDefault(&n.Color, "yellow")
}

// NoteState is the state of a note.
type NoteState struct {
	NoteArgs
	Words  int    `pulumi:"words"`
	Author string `pulumi:"author"`
}

func state(ctx context.Context, in NoteArgs) NoteState {
	return NoteState{NoteArgs: in, Words: len(strings.Fields(in.Text)), Author: infer.GetConfig[Config](ctx).Author}
}

// Check refuses titles of several lines.
func (Note) Check(ctx context.Context, r infer.CheckRequest) (infer.CheckResponse[NoteArgs], error) {
	in, failures, err := infer.DefaultCheck[NoteArgs](ctx, r.NewInputs)
	if strings.Contains(in.Title, "\n") {
		failures = append(failures, provider.CheckFailure{Property: "title", Reason: "it has more than one line"})
	}
	return infer.CheckResponse[NoteArgs]{Inputs: in, Failures: failures}, err
}

// Create waits for nothing but the end of its context, if the note asks for that.
func (Note) Create(ctx context.Context, r infer.CreateRequest[NoteArgs]) (infer.CreateResponse[NoteState], error) {
	response := infer.CreateResponse[NoteState]{ID: "note-" + r.Inputs.Title, Output: state(ctx, r.Inputs)}
	if r.DryRun {
		return response, nil
	}
	provider.GetLogger(ctx).Info("wrote " + r.Inputs.Title)
	switch r.Inputs.Text {
	case "wait":
		<-ctx.Done()
		return infer.CreateResponse[NoteState]{}, ctx.Err()
	case "fail":
		return infer.CreateResponse[NoteState]{}, errors.New("the pencil broke")
	}
	if r.Inputs.Torn {
		return response, infer.ResourceInitFailedError{Reasons: []string{"the paper is torn"}}
	}
	return response, nil
}

// Update rewrites the note.
func (Note) Update(ctx context.Context, r infer.UpdateRequest[NoteArgs, NoteState]) (infer.UpdateResponse[NoteState], error) {
	return infer.UpdateResponse[NoteState]{Output: state(ctx, r.Inputs)}, nil
}

// Read finds the notes that have an ID, of a title.
func (Note) Read(ctx context.Context, r infer.ReadRequest[NoteArgs, NoteState]) (infer.ReadResponse[NoteArgs, NoteState], error) {
	title, found := strings.CutPrefix(r.ID, "note-")
	if !found {
		return infer.ReadResponse[NoteArgs, NoteState]{}, nil
	}
	r.Inputs.Title = title
	if r.Inputs.Color == "" {
		r.Inputs.Color = "yellow"
	}
	return infer.ReadResponse[NoteArgs, NoteState]{ID: r.ID, Inputs: r.Inputs, State: state(ctx, r.Inputs)}, nil
}

// Delete forgets the note.
func (Note) Delete(context.Context, infer.DeleteRequest[NoteState]) (infer.DeleteResponse, error) {
	return infer.DeleteResponse{}, nil
}

// Count is a function.
type Count struct{}

// CountArgs are the arguments of the function.
type CountArgs struct {
	Text string `pulumi:"text"`
}

// CountResult is what the function returns.
type CountResult struct {
	Words int `pulumi:"words"`
}

// Invoke counts words.
func (Count) Invoke(_ context.Context, r infer.FunctionRequest[CountArgs]) (infer.FunctionResponse[CountResult], error) {
	return infer.FunctionResponse[CountResult]{Output: CountResult{Words: len(strings.Fields(r.Input.Text))}}, nil
}

// Binder is a component of notes.
type Binder struct {
	pulumi.ResourceState

	Words pulumi.IntOutput         `pulumi:"words"`
	IDs   pulumi.StringArrayOutput `pulumi:"ids"`
}

// BinderArgs are the inputs of a binder.
type BinderArgs struct {
	Count int                `pulumi:"count"`
	Text  pulumi.StringInput `pulumi:"text"`
}

// note is the resource as components know it.
type note struct {
	pulumi.CustomResourceState

	Words pulumi.IntOutput `pulumi:"words"`
}

// NewBinder makes as many notes as it is asked for. They do not depend on each other.
func NewBinder(ctx *pulumi.Context, name string, args BinderArgs, opts ...pulumi.ResourceOption) (*Binder, error) {
	binder := &Binder{}
	if err := ctx.RegisterComponentResource(provider.GetTypeToken(ctx), name, binder, opts...); err != nil {
		return nil, err
	}
	_ = ctx.Log.Info("binding "+name, &pulumi.LogArgs{Resource: binder})
	words, ids := pulumi.IntArray{}, pulumi.StringArray{}
	for i := range args.Count {
		var made note
		err := ctx.RegisterResource("notes:index:Note", fmt.Sprintf("%s-%d", name, i), pulumi.Map{
			"title": pulumi.Sprintf("%s-%d", name, i), "text": args.Text,
		}, &made, pulumi.Parent(binder))
		if err != nil {
			return nil, err
		}
		words, ids = append(words, made.Words), append(ids, made.ID().ToStringOutput())
	}
	binder.IDs = ids.ToStringArrayOutput()
	binder.Words = words.ToIntArrayOutput().ApplyT(func(each []int) (sum int) {
		for _, n := range each {
			sum += n
		}
		return sum
	}).(pulumi.IntOutput)
	return binder, nil
}
