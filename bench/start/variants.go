package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/bench/internal/bareengine"
	"github.com/husk-dev/husk/bench/internal/peer"
	"github.com/husk-dev/husk/bench/internal/processor"
	"github.com/husk-dev/husk/bench/internal/programs"
	record "github.com/husk-dev/husk/bench/record/provider"
	"github.com/husk-dev/husk/host"
)

// prepared is the state before the measured start.
type prepared struct {
	// sdk, peer, and hosted are commands.
	sdk, peer, hosted string
	module            string // file
	dir               string
	caches            int
	question          bareengine.Question

	// host has the module loaded and used.
	host   *host.Host
	loaded *host.Module
	// provider has all of its instances in streams. last is the last one.
	provider *host.Provider
	last     abi.StreamHandle
}

// variable is one that every process has, so that it can be granted.
const variable = "PATH"

func prepare(ctx context.Context, dir string) (p *prepared, err error) {
	p = &prepared{dir: dir, module: filepath.Join(dir, "record.wasm"), question: bareengine.Small().Question(record.RecordType)}
	for dir, command := range map[string]*string{"./sdkpeer": &p.sdk, "./peer": &p.peer, "./hosted": &p.hosted} {
		if *command, err = programs.Command(ctx, dir); err != nil {
			return nil, err
		}
	}
	wasm, err := programs.Module(ctx, "./record")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(p.module, wasm, 0o600); err != nil {
		return nil, err
	}
	if p.host, err = host.New(ctx, host.NewConfig().WithCacheDir(p.warmCache())); err != nil {
		return nil, err
	}
	if p.loaded, err = p.host.LoadBytes(ctx, wasm); err == nil {
		p.provider, err = bareengine.Configure(ctx, p.loaded, host.ProviderOptions{})
	}
	if err == nil {
		p.last, err = p.stream(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	return p, nil
}

func (p *prepared) close(ctx context.Context) error { return p.host.Close(ctx) }

func (p *prepared) warmCache() string { return filepath.Join(p.dir, "cache") }

// native starts the native process that is made with Pulumi's SDK.
func (p *prepared) native(ctx context.Context) (wall, used time.Duration, err error) {
	return p.nativeProcess(ctx, p.sdk)
}

// bare starts the native process that is not.
func (p *prepared) bare(ctx context.Context) (wall, used time.Duration, err error) {
	return p.nativeProcess(ctx, p.peer)
}

func (p *prepared) nativeProcess(ctx context.Context, command string) (wall, used time.Duration, err error) {
	start, before := time.Now(), processor.Own()
	process, err := peer.Start(ctx, command, bareengine.Configuration())
	if err != nil {
		return 0, 0, err
	}
	if _, err := p.question.Check(ctx, process.Provider); err != nil {
		return 0, 0, errors.Join(err, process.Close())
	}
	wall, used = time.Since(start), processor.Own()-before+processor.Of(process.PID)
	return wall, used, process.Close()
}

// cold starts a process that hosts the module and has not seen it before.
func (p *prepared) cold(ctx context.Context) (wall, used time.Duration, err error) {
	p.caches++
	return p.process(ctx, filepath.Join(p.dir, fmt.Sprintf("cache%d", p.caches)))
}

// withoutImage starts a process that hosts the module. Machine code is in the cache; the
// module cannot begin with its base image, since it is granted a variable.
func (p *prepared) withoutImage(ctx context.Context) (wall, used time.Duration, err error) {
	return p.process(ctx, p.warmCache(), variable)
}

// withImage starts a process that hosts the module, with code and image in the cache.
func (p *prepared) withImage(ctx context.Context) (wall, used time.Duration, err error) {
	return p.process(ctx, p.warmCache())
}

// process measures until it has checked. Processor time includes its end.
func (p *prepared) process(ctx context.Context, cache string, variables ...string) (wall, used time.Duration, err error) {
	command := exec.CommandContext(ctx, p.hosted, append([]string{"start", p.module, cache}, variables...)...)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := command.Start(); err != nil {
		return 0, 0, err
	}
	_, unread := bufio.NewReader(out).ReadString('\n')
	wall = time.Since(start)
	if err := errors.Join(command.Wait(), unread); err != nil {
		return 0, 0, fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	return wall, command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

// configuration makes one more configuration of the module that is loaded.
func (p *prepared) configuration(ctx context.Context) (wall, used time.Duration, err error) {
	start, before := time.Now(), processor.Own()
	another, err := bareengine.Configure(ctx, p.loaded, host.ProviderOptions{})
	if err != nil {
		return 0, 0, err
	}
	if _, err := p.question.Check(ctx, another); err != nil {
		return 0, 0, errors.Join(err, another.Close())
	}
	wall, used = time.Since(start), processor.Own()-before
	return wall, used, another.Close()
}

// instance has a configuration start one more instance, since all others have streams.
func (p *prepared) instance(ctx context.Context) (wall, used time.Duration, err error) {
	start, before := time.Now(), processor.Own()
	if _, err := p.question.Check(ctx, p.provider); err != nil {
		return 0, 0, err
	}
	wall, used = time.Since(start), processor.Own()-before
	older := p.last
	if p.last, err = p.stream(ctx); err != nil { // in the instance that is idle now
		return 0, 0, err
	}
	return wall, used, p.provider.StreamClose(ctx, older) // which ends its instance
}

func (p *prepared) stream(ctx context.Context) (abi.StreamHandle, error) {
	return p.provider.StreamInvoke(ctx, abi.InvokeRequest{
		Token: record.Words, Args: property.NewMap(property.Entry{Key: "text", Value: property.String("a stream")}),
	})
}
