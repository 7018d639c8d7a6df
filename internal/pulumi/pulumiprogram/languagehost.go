package pulumiprogram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// languageHost returns the name of the program that runs programs of a runtime for Pulumi.
func languageHost(runtime string) string { return "pulumi-language-" + runtime }

// Find returns why programs of a runtime cannot be run, nil if they can. Those that husk does not start
// itself need the language host of the runtime in PATH.
func Find(runtime string) error {
	if isOwn(runtime) {
		return nil
	}
	if strings.ContainsFunc(runtime, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}) {
		return fmt.Errorf("there is no runtime with the name %q", runtime)
	}
	if _, err := exec.LookPath(languageHost(runtime)); err != nil {
		return fmt.Errorf("husk runs the runtime %q through its language host %s, which is not in PATH: install it, for example with Pulumi",
			runtime, languageHost(runtime))
	}
	return nil
}

// hosted returns the command for a program that the language host of its runtime runs.
func (p *Program) hosted(ctx context.Context, run abi.RunContext) (launch, error) {
	path, err := exec.LookPath(languageHost(p.project.Runtime))
	if err != nil {
		return nil, Find(p.project.Runtime)
	}
	dir, _ := p.dir()
	return func(address string) command {
		// The host prints the port of its service as its first line.
		cmd := exec.Command(path, address)
		cmd.Dir, cmd.Env = dir, named.ProgramEnvironment()
		return command{Cmd: cmd, drive: func(_ context.Context, port string) (how string, err error) {
			port = strings.TrimSpace(port)
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				return fmt.Sprintf("could not be run: %s printed %q in place of the port of its service", languageHost(p.project.Runtime), port), nil
			}
			return p.drive(ctx, "127.0.0.1:"+port, languageHost(p.project.Runtime), p.request(run, address))
		}}
	}, nil
}

// joined returns the command for a program that another process runs.
func (p *Program) joined(run abi.RunContext) (launch, error) {
	if err := checkHere(p.options.Client); err != nil {
		return nil, fmt.Errorf("the address %q of the process that runs the program %w", p.options.Client, err)
	}
	return func(address string) command {
		return command{drive: func(ctx context.Context, _ string) (how string, err error) {
			request := p.request(run, address)
			request.SetTexts("args", []string{address}) // where the engine is
			return p.drive(ctx, p.options.Client, "the process that runs the program", request)
		}}
	}, nil
}

// request returns the request to run a program, whose services are at an address.
func (p *Program) request(run abi.RunContext, address string) pulumiwire.Message {
	dir, file := p.dir()
	request := newMessage("pulumirpc.RunRequest")
	for name, text := range map[string]string{
		"project": run.Project, "stack": run.Stack, "organization": run.Organization,
		"pwd": dir, "program": file, "monitor_address": address,
	} {
		request.Set(name, text)
	}
	n, _ := strconv.ParseInt(parallel(run), 10, 32) // it is a number of 32 bits
	request.Set("parallel", int32(n))
	request.Set("dryRun", run.DryRun)
	var secrets []string
	for _, e := range run.Config {
		request.SetText("config", e.Key, e.Value)
		if e.Secret {
			secrets = append(secrets, e.Key)
		}
	}
	request.SetTexts("configSecretKeys", secrets)
	info := request.Make("info")
	info.Set("root_directory", filepath.Clean(p.project.Dir))
	info.Set("program_directory", dir)
	info.Set("entry_point", file)
	var options []property.Entry
	for _, o := range p.project.RuntimeOptions {
		v := property.String(o.Value)
		if b, err := strconv.ParseBool(o.Value); err == nil && o.Value == strconv.FormatBool(b) {
			v = property.Bool(b)
		}
		options = append(options, property.Entry{Key: o.Name, Value: v})
	}
	info.SetProperties("options", property.NewMap(options...))
	return request
}

// drive has a host run the program, and returns how that has ended, as in [process.how].
func (p *Program) drive(ctx context.Context, address, host string, request pulumiwire.Message) (how string, err error) {
	response := newMessage("pulumirpc.RunResponse")
	err = callHost(ctx, address, "Run", request.Reflect.Interface(), response.Reflect.Interface())
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", host, err)
	case response.Text("error") != "":
		return "failed: " + response.Text("error"), nil
	case response.Bool("bail"):
		return "failed, and its language host does not say why", nil
	}
	return "", nil
}

// callHost calls a method of a language host.
func callHost(ctx context.Context, address, method string, in, out proto.Message) error {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	client := connect.NewClient[encoded, encoded](&http.Client{Transport: transport},
		"http://"+address+"/pulumirpc.LanguageRuntime/"+method, connect.WithGRPC(), connect.WithCodec(codec{}))
	text, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := client.CallUnary(ctx, connect.NewRequest(&encoded{text}))
	if status, ok := errors.AsType[*connect.Error](err); ok {
		return errors.New(status.Message())
	} else if err != nil {
		return err
	}
	return proto.Unmarshal(answer.Msg.bytes, out)
}
