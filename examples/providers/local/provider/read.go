package provider

import (
	"context"
	"io"
	"io/fs"
	"os"

	"github.com/husk-dev/husk/guest-sdk/files"
)

type foundFile struct {
	mode    fs.FileMode
	size    int64
	digests digests
	// content is nil if the file is too large.
	content  []byte
	tooLarge bool
}

// readFile reads a regular file. It returns errors of package os.
func readFile(ctx context.Context, path string) (foundFile, error) {
	var found foundFile
	info, err := os.Stat(path) // before opening it: that would wait for the other end of a pipe
	if err != nil {
		return found, err
	}
	if !info.Mode().IsRegular() {
		return found, errNotRegular
	}
	file, err := os.Open(path)
	if err != nil {
		return found, err
	}
	defer file.Close()
	if found.mode, err = files.Mode(ctx, path); err != nil {
		return found, err
	}
	digester := newDigester()
	if found.content, err = io.ReadAll(io.TeeReader(io.LimitReader(file, maxContent+1), digester)); err != nil {
		return found, err
	}
	found.size = int64(len(found.content))
	if found.size > maxContent {
		found.tooLarge, found.content = true, nil
		rest, err := io.Copy(digester, file)
		if err != nil {
			return found, err
		}
		found.size += rest
	}
	found.digests = digester.digests()
	return found, nil
}
