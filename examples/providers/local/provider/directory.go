package provider

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/husk-dev/husk/guest-sdk/files"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// DirectoryInputs are the inputs of local:Directory.
type DirectoryInputs struct {
	Path                string `husk:"path,replace" doc:"Where the directory is, with forward slashes; relative to the project's directory, or absolute."`
	DirectoryPermission string `husk:"directoryPermission,default=0755" doc:"The permission bits of the directory, and of those above it that must be made, octal and in quotes."`
	Force               bool   `husk:"force,default=false" doc:"Whether to delete the directory with all that is in it. Otherwise it must be empty."`
}

// DirectoryState is the state of local:Directory.
type DirectoryState struct {
	DirectoryInputs
}

// Directory implements local:Directory.
type Directory struct{}

func (in DirectoryInputs) access() access {
	return access{path: in.Path, property: "path", write: true, directory: in.Path}
}

// Check brings the path and the permission into the form in which they are recorded.
func (Directory) Check(_ context.Context, r guest.CheckRequest[DirectoryInputs]) ([]guest.CheckFailure, error) {
	var f failures
	if r.Known("path") {
		var reason string
		if r.Inputs.Path, reason = cleanPath(r.Inputs.Path); reason != "" {
			f.add("path", reason)
		}
	}
	checkPermission(&f, "directoryPermission", &r.Inputs.DirectoryPermission, r.Known("directoryPermission"))
	return f, nil
}

// Preview fails if a grant is missing.
func (Directory) Preview(ctx context.Context, r guest.PreviewRequest[DirectoryInputs, DirectoryState]) (guest.PreviewResponse[DirectoryState], error) {
	return guest.PreviewResponse[DirectoryState]{}, r.Inputs.access().probe(ctx)
}

// Create makes the directory, or takes over one that exists. Its ID is its path.
func (d Directory) Create(ctx context.Context, r guest.CreateRequest[DirectoryInputs]) (guest.CreateResponse[DirectoryState], error) {
	var response guest.CreateResponse[DirectoryState]
	in := r.Inputs
	if in.Force {
		entries, err := os.ReadDir(in.Path)
		if err == nil && len(entries) > 0 {
			return response, guest.InvalidArgument("force", show(in.Path)+" holds "+inTheWay(entries)+
				" already, which force would delete with it one day; move that away, or leave out force")
		}
	}
	if err := d.ensure(ctx, in); err != nil {
		return response, err
	}
	response.ID, response.State = in.Path, DirectoryState{in}
	return response, nil
}

// Update sets the permission, and makes the directory anew should it be gone.
func (d Directory) Update(ctx context.Context, r guest.UpdateRequest[DirectoryInputs, DirectoryState]) (guest.UpdateResponse[DirectoryState], error) {
	return guest.UpdateResponse[DirectoryState]{State: DirectoryState{r.Inputs}}, d.ensure(ctx, r.Inputs)
}

func (Directory) ensure(ctx context.Context, in DirectoryInputs) error {
	if err := usable(in.Path); err != nil {
		return err
	}
	mode := permission(in.DirectoryPermission)
	created, err := makeDirectory(ctx, in.Path, mode)
	if err == nil && !created {
		err = files.SetMode(ctx, in.Path, mode)
	}
	return in.access().explain(ctx, err)
}

// Read finds what became of the directory.
func (Directory) Read(ctx context.Context, r guest.ReadRequest[DirectoryInputs, DirectoryState]) (guest.ReadResponse[DirectoryInputs, DirectoryState], error) {
	var response guest.ReadResponse[DirectoryInputs, DirectoryState]
	in := DirectoryInputs{Path: r.ID}
	if r.Inputs != nil {
		in = *r.Inputs
	} else if cleaned, reason := cleanPath(r.ID); reason != "" {
		return response, guest.InvalidArgument("id", "the ID of a directory is its path, and "+reason)
	} else {
		in.Path, response.ID = cleaned, cleaned
	}
	if err := usable(in.Path); err != nil {
		return response, err
	}
	reading := in.access()
	reading.write = false
	info, err := os.Stat(in.Path)
	if err == nil && !info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return response, reading.explain(ctx, err)
	}
	mode, err := files.Mode(ctx, in.Path)
	if err != nil {
		return response, reading.explain(ctx, err)
	}
	in.DirectoryPermission = formatPermission(mode)
	response.Inputs, response.State = in, DirectoryState{in}
	return response, nil
}

// Delete removes the directory, with force also its contents. A symbolic link to a directory is another
// object.
func (Directory) Delete(ctx context.Context, r guest.DeleteRequest[DirectoryState]) error {
	in := r.State.DirectoryInputs
	if err := usable(in.Path); err != nil {
		return err
	}
	info, err := os.Lstat(in.Path)
	if err == nil && !info.IsDir() {
		err = fs.ErrNotExist
	}
	switch {
	case err != nil:
	case in.Force:
		err = os.RemoveAll(in.Path)
	default:
		err = os.Remove(in.Path)
		if entries, readErr := os.ReadDir(in.Path); err != nil && readErr == nil && len(entries) > 0 {
			return guest.InvalidArgument("path", show(in.Path)+" is not empty: it holds "+inTheWay(entries)+
				"; move that away, or set force: true and run husk up before deleting the directory")
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return guest.NotFound(show(in.Path) + " does not exist")
	}
	return in.access().explain(ctx, err)
}
