// Package pulumigrpc speaks gRPC in Pulumi's protocol of providers: it serves its services, and calls them. It needs neither
// Pulumi's modules nor gRPC's: messages come from the published description, and connect carries them.
package pulumigrpc

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

// description holds Pulumi's published description of the services of providers, policy packs, the engine,
// and the resource monitor, of the pinned version of its SDK. Fields with properties are bytes in it: they are
// decoded by themselves, and fast. go test -update writes it anew.
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

// NewMessage returns an empty message with a name such as pulumirpc.CheckRequest.
func NewMessage(name protoreflect.FullName) pulumiwire.Message {
	d, err := protocol().FindDescriptorByName(name)
	if err != nil {
		panic(err) // the description has all messages that are named here
	}
	return messageOf(d.(protoreflect.MessageDescriptor))
}

func messageOf(d protoreflect.MessageDescriptor) pulumiwire.Message {
	return pulumiwire.Message{Reflect: dynamicpb.NewMessage(d)}
}

// method returns a method with a path such as /pulumirpc.ResourceProvider/Check.
func method(service, name string) protoreflect.MethodDescriptor {
	d, err := protocol().FindDescriptorByName(protoreflect.FullName(service).Append(protoreflect.Name(name)))
	if err != nil {
		panic(err) // as above
	}
	return d.(protoreflect.MethodDescriptor)
}

// The services of the protocol.
const (
	ResourceProvider = "pulumirpc.ResourceProvider"
	ResourceMonitor  = "pulumirpc.ResourceMonitor"
	Engine           = "pulumirpc.Engine"
	Analyzer         = "pulumirpc.Analyzer"
)

func pathOf(service, name string) string { return "/" + service + "/" + name }
