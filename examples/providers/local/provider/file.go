package provider

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// FileInputs are the inputs of local:File.
type FileInputs struct {
	Path string `husk:"path,replace" doc:"Where the file is, with forward slashes; relative to the project's directory, or absolute."`
	content
	FilePermission      string `husk:"filePermission,default=0644" doc:"The file's permission bits, octal and in quotes."`
	DirectoryPermission string `husk:"directoryPermission,default=0755" doc:"The permission bits of directories that must be made for the file, octal and in quotes."`
}

// FileState is the state of local:File.
type FileState struct {
	FileInputs
	digests
}

// File implements local:File.
type File struct{}

// Check brings the path and the permissions into the form in which they are recorded.
func (File) Check(_ context.Context, r guest.CheckRequest[FileInputs]) ([]guest.CheckFailure, error) {
	var f failures
	in := r.Inputs
	if r.Known("path") {
		var reason string
		if in.Path, reason = cleanFilePath(in.Path); reason != "" {
			f.add("path", reason)
		}
	}
	in.content.check(&f, r.Known)
	checkPermission(&f, "filePermission", &in.FilePermission, r.Known("filePermission"))
	checkPermission(&f, "directoryPermission", &in.DirectoryPermission, r.Known("directoryPermission"))
	return f, nil
}

// Preview foretells the digests, and fails if a grant is missing.
func (File) Preview(ctx context.Context, r guest.PreviewRequest[FileInputs, FileState]) (guest.PreviewResponse[FileState], error) {
	if err := fileAccess(r.Inputs.Path, true).probe(ctx); err != nil {
		return guest.PreviewResponse[FileState]{}, err
	}
	return guest.PreviewResponse[FileState]{State: stateOf(r.Inputs), Known: digestNames()}, nil
}

// Create writes the file, in place of one that is there. Its ID is its path.
func (f File) Create(ctx context.Context, r guest.CreateRequest[FileInputs]) (guest.CreateResponse[FileState], error) {
	if err := f.write(ctx, r.Inputs); err != nil {
		return guest.CreateResponse[FileState]{}, err
	}
	return guest.CreateResponse[FileState]{ID: r.Inputs.Path, State: stateOf(r.Inputs)}, nil
}

// Update writes the file anew.
func (f File) Update(ctx context.Context, r guest.UpdateRequest[FileInputs, FileState]) (guest.UpdateResponse[FileState], error) {
	if err := f.write(ctx, r.Inputs); err != nil {
		return guest.UpdateResponse[FileState]{}, err
	}
	return guest.UpdateResponse[FileState]{State: stateOf(r.Inputs)}, nil
}

func (File) write(ctx context.Context, in FileInputs) error {
	if err := usable(in.Path); err != nil {
		return err
	}
	_, err := makeDirectory(ctx, path.Dir(in.Path), permission(in.DirectoryPermission))
	if err == nil {
		err = writeFile(ctx, in.Path, in.bytes(), permission(in.FilePermission))
	}
	return fileAccess(in.Path, true).explain(ctx, err)
}

func stateOf(in FileInputs) FileState {
	return FileState{FileInputs: in, digests: digestsOf(in.bytes())}
}

// Read reads the file. A missing one, or another kind of object, does not exist.
func (File) Read(ctx context.Context, r guest.ReadRequest[FileInputs, FileState]) (guest.ReadResponse[FileInputs, FileState], error) {
	var response guest.ReadResponse[FileInputs, FileState]
	in := FileInputs{Path: r.ID, DirectoryPermission: "0755"}
	if r.Inputs != nil {
		in = *r.Inputs
	} else if cleaned, reason := cleanFilePath(r.ID); reason != "" {
		return response, guest.InvalidArgument("id", "the ID of a file is its path, and "+reason)
	} else {
		in.Path, response.ID = cleaned, cleaned
	}
	if err := usable(in.Path); err != nil {
		return response, err
	}
	found, err := readFile(ctx, in.Path)
	if errors.Is(err, errNotRegular) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return response, fileAccess(in.Path, false).explain(ctx, err)
	}
	in.content = in.content.found(found)
	in.FilePermission = formatPermission(found.mode)
	response.Inputs = in
	response.State = FileState{FileInputs: in, digests: found.digests}
	return response, nil
}

// Delete removes the file, but no directory.
func (File) Delete(ctx context.Context, r guest.DeleteRequest[FileState]) error {
	if err := usable(r.State.Path); err != nil {
		return err
	}
	info, err := os.Lstat(r.State.Path)
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist // the file is gone; the object there now is not its
	}
	if err == nil {
		err = os.Remove(r.State.Path)
	}
	return fileAccess(r.State.Path, true).explain(ctx, err)
}
