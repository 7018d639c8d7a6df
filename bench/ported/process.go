package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/husk-dev/husk/bench/internal/memory"
)

// build builds the provider as a program and as a module.
func (p *provider) build(ctx context.Context, dir string) (program, wasm string, err error) {
	program, wasm = filepath.Join(dir, "provider"), filepath.Join(dir, "provider.wasm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", p.module)
	download.Dir = dir
	text, err := download.Output()
	var downloaded struct{ Dir string }
	if err = errors.Join(err, json.Unmarshal(text, &downloaded)); err != nil {
		return "", "", fmt.Errorf("fetching %s: %w", p.module, err)
	}
	source := filepath.Join(dir, "source")
	if err := os.CopyFS(source, os.DirFS(downloaded.Dir)); err != nil {
		return "", "", err
	}
	for _, c := range []*exec.Cmd{
		exec.CommandContext(ctx, "go", "-C", source, "build", "-mod=mod", "-ldflags=-s -w", "-o", program, "."),
		exec.CommandContext(ctx, "go", "run", "-C", "..", "./cmd/husk/husk-full", "provider", "port", p.module, "-o", wasm),
	} {
		c.Stderr = os.Stderr
		if err := c.Run(); err != nil {
			return "", "", fmt.Errorf("%s: %w", c, err)
		}
	}
	return program, wasm, nil
}

// askProcess starts the process, and returns the time until it was configured, the time of one validation
// and plan, and its resident memory in bytes, 0 if the system does not tell it.
func (p *provider) askProcess(ctx context.Context, program string) (start, ask time.Duration, resident uint64, err error) {
	begun := time.Now()
	c := exec.CommandContext(ctx, program)
	c.Env = append(os.Environ(), "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		"PLUGIN_PROTOCOL_VERSIONS=5,6", "PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000")
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, 0, 0, err
	}
	if err := c.Start(); err != nil {
		return 0, 0, 0, err
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	fields := strings.Split(strings.TrimSpace(line), "|") // core protocol, protocol, network, address, grpc
	if err != nil || len(fields) < 5 {
		return 0, 0, 0, errors.Join(err, fmt.Errorf("the program begins with %q", line))
	}
	conn, err := grpc.NewClient(fields[2]+":"+fields[3], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(256<<20)))
	if err != nil {
		return 0, 0, 0, err
	}
	defer conn.Close()
	version, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0, 0, 0, err
	}
	s := service{conn: conn, version: version}
	if start, ask, err = p.askService(ctx, s, begun); err != nil {
		return 0, 0, 0, err
	}
	resident, err = memory.Resident(c.Process.Pid)
	if errors.Is(err, fs.ErrNotExist) { // there is no /proc
		err = nil
	}
	return start, ask, resident, err
}

// askService puts the questions to a service that began at that time.
func (p *provider) askService(ctx context.Context, s service, begun time.Time) (start, ask time.Duration, err error) {
	schemas, err := s.call(ctx, s.named("GetProviderSchema", "GetSchema"), nil)
	if err != nil {
		return 0, 0, err
	}
	configuration, err := complete(schemas, "", p.config)
	if err != nil {
		return 0, 0, err
	}
	if _, err := s.call(ctx, s.named("ValidateProviderConfig", "PrepareProviderConfig"), fields{1: configuration}); err != nil {
		return 0, 0, err
	}
	if _, err := s.call(ctx, s.named("ConfigureProvider", "Configure"), fields{1: []byte("1.9.0"), 2: configuration}); err != nil {
		return 0, 0, err
	}
	start = time.Since(begun)
	inputs, err := complete(schemas, p.resource, p.inputs)
	if err != nil {
		return 0, 0, err
	}
	null := fields{2: []byte("null")}.encode()
	begun = time.Now()
	for range calls {
		if _, err := s.call(ctx, s.named("ValidateResourceConfig", "ValidateResourceTypeConfig"), fields{1: []byte(p.resource), 2: inputs}); err != nil {
			return 0, 0, err
		}
		_, err := s.call(ctx, "PlanResourceChange", fields{1: []byte(p.resource), 2: null, 3: inputs, 4: inputs})
		if err != nil {
			return 0, 0, err
		}
	}
	return start, time.Since(begun) / calls, nil
}

// service is a provider's service, in version 5 or 6 of Terraform's protocol.
type service struct {
	conn    *grpc.ClientConn
	version int
}

// named returns the name of a method in the service's version.
func (s service) named(six, five string) string {
	if s.version == 5 {
		return five
	}
	return six
}

// call calls a method. Diagnostics of the severity error are an error.
func (s service) call(ctx context.Context, method string, request fields) ([]byte, error) {
	var response []byte
	name := fmt.Sprintf("/tfplugin%d.Provider/%s", s.version, method)
	if err := s.conn.Invoke(ctx, name, request.encode(), &response); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return response, nil
}

// complete returns a DynamicValue of an object with all attributes and blocks of a type, or of the
// configuration if the type is empty.
func complete(schemas []byte, typ string, given map[string]any) ([]byte, error) {
	var block []byte
	// The response has the provider's schema as field 1, and the resources' schemas as entries of field 2.
	each(schemas, func(number protowire.Number, value []byte) {
		switch {
		case typ == "" && number == 1:
			each(value, func(number protowire.Number, value []byte) {
				if number == 2 {
					block = value
				}
			})
		case typ != "" && number == 2:
			var key string
			var schema []byte
			each(value, func(number protowire.Number, value []byte) {
				if number == 1 {
					key = string(value)
				} else {
					schema = value
				}
			})
			if key == typ {
				each(schema, func(number protowire.Number, value []byte) {
					if number == 2 {
						block = value
					}
				})
			}
		}
	})
	if block == nil {
		return nil, fmt.Errorf("the provider has no %q", typ)
	}
	object := make(map[string]any)
	// A block has attributes as field 2 and nested blocks as field 3, with their names as field 1.
	each(block, func(number protowire.Number, value []byte) {
		if number != 2 && number != 3 {
			return
		}
		each(value, func(inner protowire.Number, name []byte) {
			if inner != 1 {
				return
			}
			if object[string(name)] = given[string(name)]; number == 3 && object[string(name)] == nil && nests(value) {
				object[string(name)] = []any{}
			}
		})
	})
	text, err := json.Marshal(object)
	return fields{2: text}.encode(), err
}

// nests reports whether a nested block is a list or set, which is empty if it is not given.
func nests(block []byte) bool {
	for len(block) > 0 {
		number, kind, n := protowire.ConsumeTag(block)
		block = block[n:]
		if number == 3 && kind == protowire.VarintType {
			nesting, _ := protowire.ConsumeVarint(block)
			return nesting == 2 || nesting == 3
		}
		block = block[max(protowire.ConsumeFieldValue(number, kind, block), 0):]
	}
	return false
}

// each calls f with each field of a message that has a length.
func each(message []byte, f func(protowire.Number, []byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		if kind == protowire.BytesType {
			if value, m := protowire.ConsumeBytes(message); m >= 0 {
				f(number, value)
			}
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return
		}
		message = message[n:]
	}
}

// fields are the fields of a message that have a length.
type fields map[protowire.Number][]byte

func (f fields) encode() []byte {
	var message []byte
	for number := protowire.Number(1); int(number) <= 8; number++ {
		if value, ok := f[number]; ok {
			message = protowire.AppendBytes(protowire.AppendTag(message, number, protowire.BytesType), value)
		}
	}
	return message
}

// raw is a codec of messages that are encoded already.
type raw struct{}

var _ encoding.CodecV2 = raw{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (raw) Name() string { return "proto" }
