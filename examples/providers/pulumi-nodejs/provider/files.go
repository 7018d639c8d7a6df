package provider

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// errno is an error with a code of Node.js.
type errno struct {
	code string
	text string
}

func (e *errno) Error() string { return e.text }

// codes maps errors of the file system to Node.js's codes and texts.
var codes = []struct {
	is         error
	code, text string
}{
	{syscall.ENOTEMPTY, "ENOTEMPTY", "directory not empty"}, // before fs.ErrExist, which it is, too
	{fs.ErrNotExist, "ENOENT", "no such file or directory"}, {fs.ErrExist, "EEXIST", "file already exists"},
	{syscall.ENOTDIR, "ENOTDIR", "not a directory"}, {syscall.EISDIR, "EISDIR", "illegal operation on a directory"}, {syscall.EROFS, "EROFS", "read-only file system"},
}

// files serves the module fs in granted directories.
func files(argument string) (map[string]any, error) {
	var q struct {
		Syscall, Path, To, Data             string
		Mode                                *fs.FileMode
		Append, Exclusive, Recursive, Force bool
	}
	if err := json.Unmarshal([]byte(argument), &q); err != nil {
		return nil, err
	}
	answer := map[string]any{}
	err := func() (err error) {
		switch q.Syscall {
		case "open":
			var data []byte
			if data, err = os.ReadFile(q.Path); err == nil {
				answer["data"] = base64.StdEncoding.EncodeToString(data)
			}
		case "write":
			data, err := base64.StdEncoding.DecodeString(q.Data)
			if err != nil {
				return err
			}
			flag, mode := os.O_WRONLY|os.O_CREATE, fs.FileMode(0o666)
			switch {
			case q.Append:
				flag |= os.O_APPEND
			case q.Exclusive:
				flag |= os.O_EXCL
			default:
				flag |= os.O_TRUNC
			}
			if q.Mode != nil {
				mode = q.Mode.Perm()
			}
			f, err := os.OpenFile(q.Path, flag, mode)
			if err != nil {
				return err
			}
			_, err = f.Write(data)
			return errors.Join(err, f.Close())
		case "stat", "lstat":
			look := os.Stat
			if q.Syscall == "lstat" {
				look = os.Lstat
			}
			info, err := look(q.Path)
			if err != nil {
				return err
			}
			answer["kind"], answer["mode"], answer["size"], answer["time"] = kindOf(info.Mode()), info.Mode().Perm(), info.Size(), info.ModTime().UnixMilli()
		case "access":
			_, err = os.Stat(q.Path)
		case "scandir":
			entries, err := os.ReadDir(q.Path)
			if err != nil {
				return err
			}
			names := make([][2]string, len(entries))
			for i, e := range entries {
				names[i] = [2]string{e.Name(), kindOf(e.Type())}
			}
			answer["names"] = names
		case "mkdir":
			if q.Recursive {
				return os.MkdirAll(q.Path, 0o777)
			}
			return os.Mkdir(q.Path, 0o777)
		case "mkdtemp":
			answer["path"], err = os.MkdirTemp(path.Dir(q.Path), path.Base(q.Path))
		case "rm", "rmdir", "unlink":
			info, err := os.Lstat(q.Path)
			switch {
			case q.Force && errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case q.Recursive:
				return os.RemoveAll(q.Path)
			case info.IsDir() && q.Syscall != "rmdir":
				return syscall.EISDIR
			case !info.IsDir() && q.Syscall == "rmdir":
				return syscall.ENOTDIR
			}
			return os.Remove(q.Path)
		case "rename":
			return os.Rename(q.Path, q.To)
		case "realpath":
			_, err = os.Stat(q.Path)
			answer["path"] = path.Clean(q.Path)
		case "readlink":
			answer["path"], err = os.Readlink(q.Path)
		default:
			return fmt.Errorf("there is no %s of files in the sandbox of a dynamic provider", q.Syscall)
		}
		return err
	}()
	if err == nil {
		return answer, nil
	}
	for _, c := range codes {
		if errors.Is(err, c.is) {
			return nil, &errno{c.code, fmt.Sprintf("%s: %s, %s '%s'", c.code, c.text, q.Syscall, q.Path)}
		}
	}
	return nil, &errno{"EACCES", fmt.Sprintf("EACCES: permission denied, %s '%s' (%v)", q.Syscall, q.Path, err)}
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "dir"
	case mode&fs.ModeSymlink != 0:
		return "link"
	case mode.IsRegular():
		return "file"
	}
	return "other"
}

// compress serves the module zlib.
func compress(argument string) (map[string]any, error) {
	var q struct {
		Form, Data string
		Opens      bool
		Level      int
	}
	if err := json.Unmarshal([]byte(argument), &q); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(q.Data)
	if err != nil {
		return nil, err
	}
	if q.Form == "any" { // a header says which
		q.Form = "zlib"
		if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			q.Form = "gzip"
		}
	}
	var out []byte
	if q.Opens {
		out, err = expanded(q.Form, data)
	} else {
		out, err = compressed(q.Form, data, q.Level)
	}
	if err != nil {
		return nil, &errno{"Z_DATA_ERROR", err.Error()}
	}
	return map[string]any{"data": base64.StdEncoding.EncodeToString(out)}, nil
}

// mostExpanded limits decompressed data in bytes, because the engine holds several copies of it.
const mostExpanded = longestBody

func expanded(form string, data []byte) ([]byte, error) {
	var r io.Reader
	var err error
	switch form {
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(data))
	case "zlib":
		r, err = zlib.NewReader(bytes.NewReader(data))
	default:
		r = flate.NewReader(bytes.NewReader(data))
	}
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, mostExpanded+1))
	if err == nil && len(out) > mostExpanded {
		err = fmt.Errorf("it expands to more than %d MiB, which is all that a dynamic provider takes", mostExpanded>>20)
	}
	return out, err
}

func compressed(form string, data []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch form {
	case "gzip":
		w, err = gzip.NewWriterLevel(&out, level)
	case "zlib":
		w, err = zlib.NewWriterLevel(&out, level)
	default:
		w, err = flate.NewWriter(&out, level)
	}
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}
