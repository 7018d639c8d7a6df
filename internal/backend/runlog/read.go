package runlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// silence is the time without a sign of life after which a deployment counts as cut off.
const silence = 15 * time.Second

// Record describes a record without reading all of it.
type Record struct {
	ID string
	Header
	// End is nil if the deployment runs, or was cut off.
	End *End
	// Running reports a sign of life in the last moments.
	Running bool
	// Took is the time until the end, or the last sign of life.
	Took time.Duration
	// Size changes with each new line.
	Size int64
}

// List returns the records in a directory, the newest first. It leaves out files that are none.
func List(dir string) ([]Record, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Record
	for _, entry := range slices.Backward(entries) {
		id, ok := strings.CutSuffix(entry.Name(), suffix)
		if !ok || !idPattern.Get().MatchString(id) {
			continue
		}
		if r, err := Describe(dir, id); err == nil {
			out = append(out, *r)
		}
	}
	return out, err
}

// Describe returns one record.
func Describe(dir, id string) (*Record, error) {
	name, err := path(dir, id)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoRecord
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r := &Record{ID: id, Size: info.Size()}
	first, err := bufio.NewReader(io.LimitReader(file, maxLine)).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: its first line is incomplete", filepath.Base(name))
	}
	var header line
	if err = json.Unmarshal(first, &header); err == nil {
		err = json.Unmarshal(header.Data, &r.Header)
	}
	if err != nil || header.Type != typeHeader {
		return nil, fmt.Errorf("%s: its first line is not a header", filepath.Base(name))
	}
	if r.End, r.Took, err = lastOf(file, info.Size()); err != nil {
		return nil, err
	}
	if r.End == nil {
		r.Took = max(0, info.ModTime().Sub(r.Start))
		r.Running = time.Since(info.ModTime()) < silence
	}
	return r, nil
}

// lastOf returns the end of a record, nil if it has none.
func lastOf(file *os.File, size int64) (*End, time.Duration, error) {
	tail := make([]byte, min(size, maxTail))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	tail, complete := bytes.CutSuffix(tail, []byte("\n"))
	if !complete {
		return nil, 0, nil
	}
	e, err := decode(tail[bytes.LastIndexByte(tail, '\n')+1:])
	if err != nil || e == nil {
		return nil, 0, nil // a longer line is not the end
	}
	return e.End, e.At, nil
}

// maxTail is more than an end has, unless its error is very long.
const maxTail = 256 << 10

// Reader reads a record, and later additions.
type Reader struct {
	file   *os.File
	offset int64
}

// Open opens a record.
func Open(dir, id string) (*Reader, error) {
	name, err := path(dir, id)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoRecord
	}
	return &Reader{file: file}, err
}

// Next returns the entries that were added since the last call. It skips lines that cannot be read.
func (r *Reader) Next() ([]Entry, error) {
	var out []Entry
	text := bufio.NewReaderSize(io.NewSectionReader(r.file, r.offset, maxRecord+2*maxEssential+maxTail), 64<<10)
	for {
		one, err := text.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil // the rest of the line comes later
		}
		if err != nil {
			return out, err
		}
		r.offset += int64(len(one))
		if e, err := decode(one); err == nil && e != nil {
			out = append(out, *e)
		}
	}
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
