// Package assets reads the contents of assets and archives that a provider was passed, wherever they are: texts, files, and URLs
// of the one who runs it. The host reads them, and no grant is needed, but only the call's inputs can be read, and only during
// the call. An old value, which was an input of an earlier call, has only its hash.
//
//	type BucketFileInputs struct {
//		Source property.Asset `husk:"source"`
//	}
//
//	func (BucketFile) Create(ctx context.Context, r guest.CreateRequest[BucketFileInputs]) (…) {
//		data, err := assets.Open(ctx, r.Inputs.Source)
//		if err != nil {
//			return …, err
//		}
//		defer data.Close()
//		…
//	}
//
// Everything is read as a stream: neither host nor provider have it in memory as a whole.
package assets
