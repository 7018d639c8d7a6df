package state

// A JSON object with the member signatureKey is not an object but the value
// that the signature names (sdk/go/common/resource/sig in Pulumi).
const (
	signatureKey = "4dabf18193072939515e22adb298388d"

	secretSignature     = "1b47061264138c4ac30d75fd1eb44270"
	assetSignature      = "c44067f5952c0a294b673a41bacd8c17"
	archiveSignature    = "0def7320c3a5731c473e5ecbe6d01bc7"
	referenceSignature  = "5cf8f73096256a8f31e491e813e4eb8e"
	byteStringSignature = "803fd3297a5875dc03ca845dda5d2a98"
	// numberSignature is that of the numbers that JSON lacks: NaN and ±Inf.
	numberSignature = "8ad145fe-0d11-4827-bfd7-1abcbf086f5c"
)

// unknownSentinel is the string that stands for an unknown value in a state. The
// sentinels of other types are used on the wire only.
const unknownSentinel = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

// emptyTextHash is the hash of an asset whose text is empty, which Pulumi does
// not write: without it, an asset with a hash and no contents was elided.
const emptyTextHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// emptyArchiveHash is the hash of an archive without assets, by which it is told from
// one that was elided.
const emptyArchiveHash = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"

// maxDepth bounds the nesting of values. It is well over property.DefaultDepth,
// so that every value that a provider may return can be stored, and keeps the
// stack of the recursion under a megabyte.
const maxDepth = 1000

// The features of the format that make a deployment version 4, so that older
// readers refuse it (pkg/resource/stack/deployment.go in Pulumi).
const (
	featureRefreshBeforeUpdate = "refreshBeforeUpdate"
	featureViews               = "views"
	featureHooks               = "hooks"
	featureTaint               = "taint"
	featureReplaceWith         = "replaceWith"
	featureSnippets            = "snippets-prototype"
	featureExtensions          = "extensionParameterization"
	featureByteString          = "byteString"
)

func knownFeature(name string) bool {
	switch name {
	case featureRefreshBeforeUpdate, featureViews, featureHooks, featureTaint, featureReplaceWith,
		featureSnippets, featureExtensions, featureByteString:
		return true
	}
	return false
}
