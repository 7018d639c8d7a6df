package expr

import (
	"slices"
	"strings"
)

// Function is a built-in function.
type Function uint8

// The built-in functions, the same as in Pulumi YAML.
const (
	Join Function = iota
	Split
	Select
	ToJSON
	ToBase64
	FromBase64
	Secret
	ReadFile
	StringAsset
	FileAsset
	RemoteAsset
	FileArchive
	RemoteArchive
	AssetArchive
	StackReference
	Unsecret
	Length
	SingleOrNone
	SHA1
	FileBase64
	FileBase64SHA256
	ResourceName
	ResourceType
)

type signature struct {
	name string
	// args names the elements of the list that the function takes, nil for one argument.
	args []string
}

var signatures = [...]signature{
	Join:           {"fn::join", []string{"delimiter", "list"}},
	Split:          {"fn::split", []string{"delimiter", "text"}},
	Select:         {"fn::select", []string{"index", "list"}},
	ToJSON:         {name: "fn::toJSON"},
	ToBase64:       {name: "fn::toBase64"},
	FromBase64:     {name: "fn::fromBase64"},
	Secret:         {name: "fn::secret"},
	ReadFile:       {name: "fn::readFile"},
	StringAsset:    {name: "fn::stringAsset"},
	FileAsset:      {name: "fn::fileAsset"},
	RemoteAsset:    {name: "fn::remoteAsset"},
	FileArchive:    {name: "fn::fileArchive"},
	RemoteArchive:  {name: "fn::remoteArchive"},
	AssetArchive:   {name: "fn::assetArchive"},
	StackReference: {"fn::stackReference", []string{"stack", "output"}},

	Unsecret:         {name: "fn::unsecret"},
	Length:           {name: "fn::length"},
	SingleOrNone:     {name: "fn::singleOrNone"},
	SHA1:             {name: "fn::sha1"},
	FileBase64:       {name: "fn::filebase64"},
	FileBase64SHA256: {name: "fn::filebase64sha256"},
	ResourceName:     {name: "fn::pulumiResourceName"},
	ResourceType:     {name: "fn::pulumiResourceType"},
}

// String returns the function's name as programs write it: fn::join.
func (f Function) String() string { return signatures[f].name }

// Parameters returns the names of the elements of the list that a built-in function takes, none if it takes one value. ok is
// false for a name that is none of a built-in function.
func Parameters(name string) (parameters []string, ok bool) {
	f, ok := lookup(name)
	if !ok {
		return nil, false
	}
	return slices.Clone(signatures[f].args), true
}

const (
	functionPrefix = "fn::"
	invokeName     = "fn::invoke"
)

func functionNames() []string {
	names := []string{invokeName}
	for _, s := range signatures {
		names = append(names, s.name)
	}
	return names
}

// lookup returns the function of a name in any case: older programs write Fn::Join.
func lookup(name string) (Function, bool) {
	for f, s := range signatures {
		if strings.EqualFold(s.name, name) {
			return Function(f), true
		}
	}
	return 0, false
}

// IsFunction reports whether a key calls a function, in any case: older programs write Fn::Join.
func IsFunction(key string) bool {
	return len(key) > len(functionPrefix) && strings.EqualFold(key[:len(functionPrefix)], functionPrefix)
}
