package enginetest

// The types of every cloud.
const (
	Plain  = "test:index:Plain"
	Strict = "test:index:Strict" // replaced when "key" changes
	Single = "test:index:Single" // replaced when "key" changes, deleted first
)

// ProviderType is the type of the providers of a cloud.
const ProviderType = "pulumi:providers:test"

// Group is a type of components.
const Group = "proj:index:Group"

// The types of a cloud of [NewFiles].
const (
	File     = "test:index:File"     // known by its path, which nobody says
	Declared = "test:index:Declared" // known by its path, as its schema says
)

// NewFiles returns a cloud whose objects are known by their paths.
func NewFiles() *Cloud {
	cloud := NewCloud()
	cloud.Types[File] = Type{Replace: []string{"path", "mode"}, Identity: []string{"path"}}
	cloud.Types[Declared] = Type{Replace: []string{"path", "mode"}, Identity: []string{"path"}, Declared: true}
	return cloud
}
