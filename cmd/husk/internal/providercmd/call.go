package providercmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/cmd/husk/internal/calldoc"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/property/propertyliteral"
)

type callFlags struct {
	askFlags
	preview, show bool
}

func (f *callFlags) addTo(cmd *cobra.Command) {
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&f.preview, "preview", false, "call as in a preview: nothing is changed")
	cli.AddShowSecrets(cmd, &f.show)
}

// documentHelp describes the syntax of arguments.
const documentHelp = "JSON or YAML, as in '{length: 3}'; a file, as in @args.yaml; or - for standard input. Secrets, assets,\n" +
	"and the like are objects with one member, such as {fn::secret: VALUE} or {fn::asset: {text: TEXT}}.\n\n" +
	"A provider of the project has the grants of the project file and the configuration of the stack; the\n" +
	"flags add to these. Values that it stores with the grant kv are discarded, and no state records the call."

func (a commands) providerCall() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use: "call FILE|NAME METHOD [REQUEST]", Short: "Call a method of a provider, such as check or read",
		Long: "Call a method of a provider, and show its response. The methods are " + strings.Join(calldoc.Names(), ", ") + ".\n\n" +
			"The request has the members of the contract, in camel case, such as type, name, inputs, olds, news, id, and\n" +
			"state. If a resource has no name or URN, husk makes one up. The request is " + documentHelp + "\n\n" +
			"The command calls the method alone: create does not check its inputs first, and the object that it makes\n" +
			"stays.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.HasPrefix(args[1], "stream-") {
				return cli.Usagef("%s: husk provider invoke begins a stream, and shows its results", args[1])
			}
			method, err := calldoc.Find(args[1])
			if err != nil {
				return cli.Usage(err)
			}
			document, err := a.readDocument(args[2:])
			if err != nil {
				return err
			}
			request, err := method.Read(document)
			if err != nil {
				return cli.Usagef("the request: %w", err)
			}
			if f.preview {
				preview := calldoc.Field[bool](request, "Preview")
				if preview == nil {
					return cli.Usagef("--preview: the method %s has no previews", method.Name)
				}
				*preview = true
			}
			return a.openProvider(cmd.Context(), args[0], &f.askFlags, func(p *calledProvider) error {
				return a.callMethod(cmd.Context(), p, method, request, f.show)
			})
		},
	}
	f.addTo(cmd)
	return cmd
}

func (a commands) callMethod(ctx context.Context, p *calledProvider, method calldoc.Method, request any, show bool) error {
	if method.Name != abi.MethodHandshake && method.Name != abi.MethodParameterize {
		if err := p.introduce(ctx); err != nil {
			return err
		}
	}
	if !method.Unconfigured() {
		if err := p.configure(ctx); err != nil {
			return err
		}
		if err := completeIdentity(ctx, p, request); err != nil {
			return err
		}
	}
	for _, m := range calldoc.Maps(request) {
		a.Secrets.LearnComputed(m)
	}
	response, err := method.Call(ctx, p, request)
	if err != nil {
		return err
	}
	for _, m := range calldoc.Maps(response) {
		a.Secrets.LearnFrom(m)
	}
	if show {
		a.Secrets.Show()
	}
	return a.writeResponse(calldoc.Shown(response, show))
}

// completeIdentity completes the type of a resource, and makes up its name and URN if they are missing.
func completeIdentity(ctx context.Context, p abi.Provider, request any) error {
	typ, name, at := calldoc.Field[string](request, "Type"), calldoc.Field[string](request, "Name"), calldoc.Field[urn.URN](request, "URN")
	if typ == nil || *typ == "" {
		return nil
	}
	var err error
	if *typ, err = typeOf(ctx, p, *typ); err != nil {
		return err
	}
	if name != nil && *name == "" {
		*name = "called"
	}
	if at != nil && *at == "" {
		*at = urn.New("dev", "call", "", *typ, *name)
	}
	return nil
}

func (a commands) providerInvoke() *cobra.Command {
	var f callFlags
	var stream bool
	cmd := &cobra.Command{
		Use: "invoke FILE|NAME TOKEN [ARGS]", Short: "Call a function of a provider",
		Long: "Call a function of a provider, and show its result. If a function streams its results, the command shows\n" +
			"each one as it arrives, with --json on a line of its own. The arguments are " + documentHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			document, err := a.readDocument(args[2:])
			if err != nil {
				return err
			}
			given, err := propertyliteral.DecodeMap(document)
			if err != nil {
				return cli.Usagef("the arguments: %w", err)
			}
			a.Secrets.LearnComputed(given)
			return a.askProvider(cmd.Context(), args[0], &f.askFlags, func(p abi.Provider) error {
				request := abi.InvokeRequest{Token: args[1], Args: given, Preview: f.preview}
				function, err := functionOf(cmd.Context(), p, request.Token)
				if err != nil {
					return err
				}
				if function != nil {
					request.Token = function.Token
				}
				if stream || function != nil && function.Streams {
					return a.writeStream(cmd.Context(), p, request, f.show)
				}
				response, err := p.Invoke(cmd.Context(), request)
				if err == nil {
					err = failed("the arguments of "+request.Token, response.Failures)
				}
				if err != nil {
					return err
				}
				return a.writeResponse(a.shownResult(response.Result, f.show))
			})
		},
	}
	f.addTo(cmd)
	cmd.Flags().BoolVar(&stream, "stream", false, "read results one by one, even if the provider's schema does not declare a stream")
	return cmd
}

// shownResult returns the result of a function as plain JSON values.
func (a commands) shownResult(result property.Map, show bool) map[string]any {
	a.Secrets.LearnFrom(result)
	if show {
		a.Secrets.Show()
	}
	return calldoc.ShownMap(result, show)
}

// writeStream writes the results of a function as they come.
func (a commands) writeStream(ctx context.Context, p abi.Provider, request abi.InvokeRequest, show bool) (err error) {
	handle, err := p.StreamInvoke(ctx, request)
	if err != nil {
		return err
	}
	for {
		item, err := p.StreamNext(ctx, handle)
		if err != nil || item.Result == nil {
			return err
		}
		shown := a.shownResult(*item.Result, show)
		if a.JSON {
			err = a.WriteJSONBy(shown, "")
		} else {
			err = a.writeResponse(shown)
		}
		if err != nil {
			return errors.Join(err, p.StreamClose(context.WithoutCancel(ctx), handle))
		}
	}
}

func (a commands) writeResponse(shown map[string]any) error {
	if a.JSON {
		return a.WriteJSON(shown)
	}
	return cli.Writing(display.WriteProperties(a.Out, "Result", shown))
}

// readDocument reads an object of JSON or YAML from an argument, a file, or standard input. It is
// empty if there is no argument.
func (a commands) readDocument(args []string) (document map[string]any, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	text, from := []byte(args[0]), args[0]
	switch file, isFile := strings.CutPrefix(args[0], "@"); {
	case isFile:
		from = file
		if text, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
	case args[0] == "-":
		from = "standard input"
		read, err := a.ReadAll()
		if err != nil {
			return nil, err
		}
		text = []byte(read)
	}
	if err := yaml.Unmarshal(text, &document); err != nil { // JSON is YAML, too
		return nil, cli.Usagef("%s: must be an object in JSON or YAML: %w", from, err)
	}
	return document, nil
}
