// Command spy is a provider that looks for whatever it can read, and tells it all.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/guest-sdk/guest"
	_ "github.com/husk-dev/husk/guest-sdk/http" // http.DefaultTransport is the host's
	"github.com/husk-dev/husk/guest-sdk/kv"
)

// LookInputs are a Look's.
type LookInputs struct {
	Paths []string `husk:"paths" doc:"Files and directories to look at."`
	URLs  []string `husk:"urls" doc:"Addresses to ask."`
	Texts []string `husk:"texts" doc:"Whatever the program has found."`
	// The text is reversed: it is not to be in what the module was given.
	Processes []string `husk:"processes,optional" doc:"Directories of processes, whose memory is searched."`
	Text      string   `husk:"text,optional" doc:"What is searched for, from its end to its begin."`
}

// LookState is a Look's.
type LookState struct {
	LookInputs
	Found string `husk:"found" doc:"All that was found."`
}

// Look is a resource that tells what can be read.
type Look struct{}

// Create looks.
func (Look) Create(ctx context.Context, r guest.CreateRequest[LookInputs]) (guest.CreateResponse[LookState], error) {
	found := look(ctx, r.Inputs)
	guest.Log(ctx).Info(found)
	return guest.CreateResponse[LookState]{ID: "looked", State: LookState{r.Inputs, found}}, nil
}

// KeepInputs are a Keep's.
type KeepInputs struct {
	Secret string `husk:"secret,secret" doc:"What is stored and written, and not told."`
	Text   string `husk:"text" doc:"What is told."`
	Dir    string `husk:"dir" doc:"A directory, in which a file with the secret is written. If there is a file until in it, it is not waited for."`
	Fail   bool   `husk:"fail,default=false" doc:"Whether the creation fails."`
}

// KeepState is a Keep's.
type KeepState struct{ KeepInputs }

// Keep is a resource that leaves what it gets wherever it can, and stays until it may go.
type Keep struct{}

// Create leaves what it got.
func (Keep) Create(ctx context.Context, r guest.CreateRequest[KeepInputs]) (guest.CreateResponse[KeepState], error) {
	in := r.Inputs
	guest.Log(ctx).Info(in.Text)
	os.Stdout.WriteString(in.Text + "\n")
	if in.Fail {
		return guest.CreateResponse[KeepState]{}, errors.New(in.Text)
	}
	if _, err := kv.Put(ctx, in.Text, []byte(in.Secret), 0); err != nil {
		return guest.CreateResponse[KeepState]{}, err
	}
	if err := os.WriteFile(filepath.Join(in.Dir, "kept"), []byte(in.Secret), 0o644); err != nil {
		return guest.CreateResponse[KeepState]{}, err
	}
	for {
		if _, err := os.Stat(filepath.Join(in.Dir, "until")); err == nil {
			return guest.CreateResponse[KeepState]{ID: in.Text, State: KeepState{in}}, nil
		}
		select {
		case <-ctx.Done():
			return guest.CreateResponse[KeepState]{}, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// most bounds what is found in one place, in bytes.
const most = 64 << 10

func look(ctx context.Context, in LookInputs) string {
	var b strings.Builder
	say := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintln(&b, text[:min(len(text), most)])
	}
	say("environment: %q", os.Environ())
	say("arguments: %q", os.Args)
	dir, err := os.Getwd()
	say("directory: %s %v", dir, err)
	for _, root := range in.Paths {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				say("%s: %v", path, err)
				return nil
			}
			target, err := os.Readlink(path)
			if err == nil {
				say("%s leads to %s", path, target)
			}
			if !entry.IsDir() && filepath.Ext(path) != ".wasm" {
				text, err := os.ReadFile(path)
				say("%s: %q %v", path, text, err)
			}
			return nil
		})
		say("%s: %v", root, err)
	}
	for _, process := range in.Processes {
		text := []byte(in.Text)
		slices.Reverse(text)
		say("memory of %s: %v", process, search(process, text, say))
	}
	keys, err := kv.Keys(ctx, "", "", 1000)
	say("keys: %q %v", keys, err)
	for _, key := range keys {
		item, err := kv.Get(ctx, key)
		say("%s: %q %v", key, item.Value, err)
	}
	for _, url := range in.URLs {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			say("%s: %v", url, err)
			continue
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			say("%s: %v", url, err)
			continue
		}
		say("%s: %s", url, resp.Status)
		_ = resp.Body.Close()
	}
	return b.String()
}

// search tells what is around a text in the memory of a process.
func search(process string, text []byte, say func(string, ...any)) error {
	maps, err := os.ReadFile(filepath.Join(process, "maps"))
	if err != nil {
		return err
	}
	memory, err := os.Open(filepath.Join(process, "mem"))
	if err != nil {
		return err
	}
	defer memory.Close()
	part := make([]byte, 1<<20)
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var rights string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); err != nil || !strings.HasPrefix(rights, "rw") {
			continue
		}
		for ; from < to; from += int64(len(part)) {
			n, _ := memory.ReadAt(part[:min(int64(len(part)), to-from)], from) // nothing of what cannot be read
			if at := bytes.Index(part[:n], text); at >= 0 {
				say("memory of %s: %q", process, part[at:min(n, at+100)])
			}
		}
	}
	return nil
}

func main() {
	guest.Serve(guest.Provider{
		Name: "spy", Version: "1.0.0", Description: "A provider that looks for whatever it can read.",
		Resources: []guest.Resource{guest.ResourceOf("spy:index:Look", Look{}), guest.ResourceOf("spy:index:Keep", Keep{})},
	})
}
