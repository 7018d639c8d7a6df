package pulumiprogram

import (
	_ "embed"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/emptypb" // which the description names

	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// description holds Pulumi's published description of the services that a program calls, of the pinned
// version of its SDK, in which fields with properties are bytes: they are decoded by themselves, and
// fast. go test -update writes it anew. Pulumi's own package for it would bring all of gRPC along.
//
//go:embed protocol.binpb
var description []byte

var protocol = sync.OnceValue(func() *protoregistry.Files {
	var set descriptorpb.FileDescriptorSet
	err := proto.Unmarshal(description, &set)
	var files *protoregistry.Files
	if err == nil {
		files, err = protodesc.NewFiles(&set)
	}
	if err != nil {
		panic(fmt.Errorf("the description of Pulumi's protocol cannot be read: %w", err)) // a test reads it
	}
	return files
})

// newMessage returns an empty message with a name such as pulumirpc.TransformRequest.
func newMessage(name protoreflect.FullName) pulumiwire.Message {
	d, err := protocol().FindDescriptorByName(name)
	if err != nil {
		panic(err) // the description has all messages that this package names
	}
	return messageOf(d.(protoreflect.MessageDescriptor))
}

func messageOf(d protoreflect.MessageDescriptor) pulumiwire.Message {
	return pulumiwire.Message{Reflect: dynamicpb.NewMessage(d)}
}

// methodsOf returns the methods of the services of monitor and engine.
func methodsOf(services ...protoreflect.FullName) []protoreflect.MethodDescriptor {
	var methods []protoreflect.MethodDescriptor
	for _, name := range services {
		d, err := protocol().FindDescriptorByName(name)
		if err != nil {
			panic(err)
		}
		all := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range all.Len() {
			methods = append(methods, all.Get(i))
		}
	}
	return methods
}
