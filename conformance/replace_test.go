package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/testdata/notes"
)

// over writes a note over one that is there.
type over struct{ *notes.Provider }

func (p over) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	title, _ := request.Inputs.Get("title").Plain().AsString()
	if !request.Preview && ctx.Err() == nil {
		_ = os.Remove(filepath.Join(p.Folder, "note-"+title))
	}
	return p.Provider.Create(ctx, request)
}

// withNote changes what the schema says of notes.
func withNote(change func(*schema.Resource)) abi.GetSchemaResponse {
	pkg := *notes.Schema
	pkg.Resources = slices.Clone(pkg.Resources)
	note := *pkg.Resources[0]
	note.Inputs.Properties = slices.Clone(note.Inputs.Properties)
	change(&note)
	pkg.Resources[0] = &note
	return abi.GetSchemaResponse{Schema: string(pkg.AppendJSON(nil))}
}

// saysSo writes over what it replaces, and says so in its schema.
type saysSo struct{ over }

func (saysSo) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return withNote(func(note *schema.Resource) { note.DeleteBeforeReplace = true }), nil
}

// knownBy writes over what it replaces, and says by which inputs notes are known.
type knownBy struct {
	over
	inputs []string
}

func (p knownBy) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return withNote(func(note *schema.Resource) { note.Identity = p.inputs }), nil
}

// diffsSo writes over what it replaces, and says so in its diffs.
type diffsSo struct{ over }

func (p diffsSo) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := p.over.Diff(ctx, request)
	response.DeleteBeforeReplace = request.OldInputs.Get("title").EqualContents(request.News.Get("title"))
	return response, err
}

// counted keeps a note until it was deleted as often as it was created.
type counted struct {
	over
	more map[string]int
}

func (p counted) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.over.Create(ctx, request)
	if err == nil && !request.Preview {
		p.more[response.ID]++
	}
	return response, err
}

func (p counted) Delete(ctx context.Context, request abi.DeleteRequest) error {
	p.more[request.ID] = max(0, p.more[request.ID]-1)
	if p.more[request.ID] > 0 {
		return nil
	}
	return p.over.Delete(ctx, request)
}

// steady has nothing that replaces a note, and refuses two of one title.
type steady struct{ *notes.Provider }

func (steady) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return withNote(func(note *schema.Resource) {
		for i := range note.Inputs.Properties {
			note.Inputs.Properties[i].Replace = false
		}
	}), nil
}

func (p steady) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := p.Provider.Diff(ctx, request)
	for i, d := range response.DetailedDiff {
		if d.Kind == abi.DiffKindUpdateReplace {
			response.DetailedDiff[i].Kind = abi.DiffKindUpdate
		}
	}
	response.ReplaceKeys = nil
	return response, err
}

// reserved keeps a title for good, once it was used.
type reserved struct {
	saysSo
	used map[string]bool
}

func (p reserved) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	title, _ := request.Inputs.Get("title").Plain().AsString()
	if !request.Preview && p.used[title] {
		return abi.CreateResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "the title is taken for good")
	}
	p.used[title] = p.used[title] || !request.Preview
	return p.saysSo.Create(ctx, request)
}

func TestReplacements(t *testing.T) {
	const declare = "; say in the schema by which inputs the object is known (identity), or deleteBeforeReplace, so that the old copy is deleted first"
	for name, c := range map[string]struct {
		wrong func(*notes.Provider) abi.Provider
		found string
	}{
		"written over":            {func(p *notes.Provider) abi.Provider { return over{p} }, `replacing it by one with the same inputs: the new copy has the ID "note-ddxauuam" of the old one, and is deleted with it` + declare},
		"said by the schema":      {func(p *notes.Provider) abi.Provider { return saysSo{over{p}} }, ""},
		"known by its title":      {func(p *notes.Provider) abi.Provider { return knownBy{over{p}, []string{"title"}} }, ""},
		"known by too much":       {func(p *notes.Provider) abi.Provider { return knownBy{over{p}, []string{"text", "title"}} }, `replacing it by one with another text: the new copy has the ID "note-ddxauuam" of the old one, and is deleted with it` + declare},
		"known by something else": {func(p *notes.Provider) abi.Provider { return knownBy{over{p}, []string{"text"}} }, `replacing it by one with another text: the new copy has the ID "note-ddxauuam" of the old one, and is deleted with it` + declare},
		"said by diffs":           {func(p *notes.Provider) abi.Provider { return diffsSo{over{p}} }, ""},
		"still there":             {func(p *notes.Provider) abi.Provider { return counted{over{p}, map[string]int{}} }, `replacing it by one with the same inputs: the new copy has the ID "note-ddxauuam" of the old one, by which the old one is deleted` + declare},
		"refused beside the old":  {func(p *notes.Provider) abi.Provider { return steady{p} }, `it was never seen to work: create refuses a second one with the same inputs beside the first: there is a note of that title already (invalid-argument)` + declare},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]string{}
			if c.found != "" {
				want["replace"] = c.found
			}
			folder := t.TempDir()
			open := func(context.Context) (abi.Provider, error) { return c.wrong(&notes.Provider{Folder: folder}), nil }
			require.Equal(t, want, outcomes(run(t, open, conformance.Options{Only: []string{"replace", "create", "delete", "read"}})))
			left, err := contents(folder)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	// What cannot be made again cannot be replaced, and that is no fault.
	used := map[string]bool{}
	report := run(t, opened(t, func(p *notes.Provider) abi.Provider { return reserved{saysSo{over{p}}, used} }), conformance.Options{Only: []string{"replace"}})
	require.Empty(t, outcomes(report))
	require.Equal(t, 1, report.Count(conformance.Skipped))
}
