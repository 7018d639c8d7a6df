package protocoltest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

var update = flag.Bool("update", false, "write each protocol.binpb anew")

// What Husk speaks is the protocol of the SDK that go.mod pins, with bytes in place of properties.
func TestTheProtocolIsThePublishedOne(t *testing.T) {
	for dir, files := range map[string][]protoreflect.FileDescriptor{
		"pulumigrpc": {
			pulumirpc.File_pulumi_provider_proto, pulumirpc.File_pulumi_resource_proto, pulumirpc.File_pulumi_engine_proto,
			pulumirpc.File_pulumi_errors_proto, pulumirpc.File_pulumi_analyzer_proto,
		},
		"pulumiprogram": {
			pulumirpc.File_pulumi_resource_proto, pulumirpc.File_pulumi_engine_proto, pulumirpc.File_pulumi_callback_proto,
			pulumirpc.File_pulumi_language_proto,
		},
	} {
		published, err := proto.MarshalOptions{Deterministic: true}.Marshal(describe(files...))
		require.NoError(t, err)
		file := filepath.Join("..", dir, "protocol.binpb")
		if *update {
			require.NoError(t, os.WriteFile(file, published, 0o644))
			continue
		}
		kept, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, published, kept, "run go test -C internal/pulumi/protocoltest . -update")
	}
}

// describe returns files with all that they import.
func describe(files ...protoreflect.FileDescriptor) *descriptorpb.FileDescriptorSet {
	set, seen := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		file := protodesc.ToFileDescriptorProto(f)
		for _, m := range file.MessageType {
			withBytes(m)
		}
		set.File = append(set.File, file)
	}
	for _, f := range files {
		add(f)
	}
	return set
}

// withBytes makes bytes of the fields that hold properties.
func withBytes(m *descriptorpb.DescriptorProto) {
	for _, f := range m.Field {
		switch f.GetTypeName() {
		case ".google.protobuf.Struct", ".google.protobuf.Value":
			if m.GetName() != "Struct" && m.GetName() != "Value" && m.GetName() != "ListValue" && m.GetName() != "FieldsEntry" {
				f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum(), nil
				if f.OneofIndex == nil { // so that no properties are not taken for none given
					f.Proto3Optional, f.OneofIndex = proto.Bool(true), proto.Int32(int32(len(m.OneofDecl)))
					m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + f.GetName())})
				}
			}
		}
	}
	for _, nested := range m.NestedType {
		withBytes(nested)
	}
}
