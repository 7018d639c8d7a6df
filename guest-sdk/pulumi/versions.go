package pulumi

// OldestSDK is the oldest version of github.com/pulumi/pulumi/sdk/v3 that the package builds with. It
// needs no build tags for newer ones.
const OldestSDK = "v3.60.0"
