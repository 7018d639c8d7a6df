package provider

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/files"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// Errors that the system lacks.
var (
	errNotRegular   = errors.New("is not a regular file")
	errIsDirectory  = errors.New("is a directory")
	errNotDirectory = errors.New("is not a directory")
)

// access is an attempted access to a path.
type access struct {
	path string
	// property is the one that holds the path.
	property string
	// write is false where reading is enough.
	write bool
	// directory is the one to grant where the access is refused.
	directory string
}

func (a access) refusal(kind abi.ErrorKind, message string) error {
	e := abi.NewError(kind, message)
	e.Path = a.property
	return e
}

// explain returns an error of package os for people: what happened to which path, and what to do.
func (a access) explain(ctx context.Context, err error) error {
	name := show(a.path)
	invalid := func(message string) error { return guest.InvalidArgument(a.property, name+" "+message) }
	switch {
	case err == nil:
		return nil
	case errors.Is(err, abi.ErrDenied), isNotGranted(err), errors.Is(err, syscall.EROFS):
		return a.refuse(ctx, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, abi.ErrNotFound):
		return guest.NotFound(name + " does not exist")
	case errors.Is(err, fs.ErrPermission):
		verb := "read"
		if a.write {
			verb = "change"
		}
		return a.refusal(abi.ErrorKindDenied, name+": permission denied; the user who runs husk may not "+verb+" it")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return a.refusal(abi.ErrorKindUnavailable, name+" was not written: the disk is full, or the user's quota is; what was there before is unchanged; free some space and run again")
	case errors.Is(err, errIsDirectory), errors.Is(err, syscall.EISDIR):
		return invalid("is a directory; choose another path, or move it away")
	case errors.Is(err, errNotDirectory), errors.Is(err, syscall.ENOTDIR):
		return guest.InvalidArgument(a.property, name+": it, or a directory above it, is a file; choose another path, or move that away")
	case errors.Is(err, errNotRegular), errors.Is(err, syscall.ENOTSUP):
		return invalid("is not a regular file but a device, a pipe, or the like; choose another path, or move it away")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return invalid("is too long for a path")
	case errors.Is(err, syscall.ELOOP):
		return invalid("leads through symbolic links that go in circles")
	}
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err // without the name of a temporary file
	} else if inner, ok := errors.AsType[*os.LinkError](err); ok {
		err = inner.Err
	}
	return a.refusal(abi.ErrorKindInternal, name+": "+err.Error())
}

// refuse returns the error of a path that is not granted, or read-only, with the grant to add.
func (a access) refuse(ctx context.Context, err error) error {
	reason := show(a.path) + " is on a read-only file system"
	if denial := a.refusalOfHost(ctx, err); denial != nil {
		reason = denial.Message
	} else if !errors.Is(err, syscall.EROFS) {
		reason = show(a.path) + " is not inside a granted directory"
	}
	if link := firstLink(a.path); link != "" && isNotGranted(err) {
		return a.refusal(abi.ErrorKindDenied, reason+"\n"+show(link)+
			" is a symbolic link that leads out of the granted directory; use the path that it leads to, and grant that")
	}
	mode := "ro"
	if a.write {
		mode = "rw"
	}
	return a.refusal(abi.ErrorKindDenied, reason+
		"\nto grant it, add to this provider's grants, in the project file or with --grant:\n"+
		"  fs:\n    - path: "+show(a.directory)+"\n      mode: "+mode)
}

// refusalOfHost returns the reason of the host, which knows the grants; nil for none.
func (a access) refusalOfHost(ctx context.Context, err error) *abi.Error {
	if denial, ok := errors.AsType[*abi.Error](err); ok && denial.Kind == abi.ErrorKindDenied {
		return denial
	}
	_, asked := files.Mode(ctx, a.path)
	if errors.Is(err, syscall.EROFS) {
		asked = files.SetMode(ctx, a.path, 0o600)
	}
	if denial, ok := errors.AsType[*abi.Error](asked); ok && denial.Kind == abi.ErrorKindDenied {
		return denial
	}
	return nil
}

func firstLink(p string) string {
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		if info, err := os.Lstat(p[:i]); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return p[:i]
		}
	}
	return ""
}

// fileAccess is access to a file, whose directory must be granted.
func fileAccess(p string, write bool) access {
	return access{path: p, property: "path", write: write, directory: path.Dir(p)}
}

// probe fails if the path cannot be written without a grant. Opening changes nothing.
func (a access) probe(ctx context.Context) error {
	if info, err := os.Lstat(a.path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // opening a pipe would wait for its other end
	}
	file, err := os.OpenFile(a.path, os.O_WRONLY, 0)
	if err == nil {
		return file.Close()
	}
	if isNotGranted(err) || errors.Is(err, syscall.EROFS) {
		return a.refuse(ctx, err)
	}
	return nil
}

func inTheWay(entries []os.DirEntry) string {
	const shown = 3
	var names []string
	for _, entry := range entries[:min(len(entries), shown)] {
		names = append(names, show(entry.Name()))
	}
	list := strings.Join(names, ", ")
	if len(entries) > shown {
		list += ", and more"
	}
	return list
}
