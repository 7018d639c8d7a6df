package pulumi

import (
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
)

// The severities of the protocol.
const (
	severityDebug protoreflect.EnumNumber = iota
	severityInfo
	severityWarning
	severityError
)

// engineMethods returns the methods that providers call on the engine itself. Messages go to the log of ctx.
func engineMethods(ctx context.Context) methods {
	return methods{
		"/pulumirpc.Engine/Log": func(_ context.Context, in, _ message) error {
			log, text := guest.Log(call.WithURN(ctx, urn.URN(in.text("urn")))), in.text("message")
			severity := in.enum("severity")
			switch {
			case in.bool("ephemeral"):
				log.Status(text)
			case severity == severityDebug:
				log.Debug(text)
			case severity == severityWarning:
				log.Warning(text)
			case severity == severityError:
				log.Error(text)
			default:
				log.Info(text)
			}
			return nil
		},
		// The stack has no resource that a provider may know.
		"/pulumirpc.Engine/GetRootResource": func(context.Context, message, message) error { return nil },
	}
}
