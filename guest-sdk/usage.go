package guest

// usage says what to do with a provider that was built or run as a program.
func usage(p Provider) string {
	return p.Name + " " + p.Version + ` is a provider for husk, which runs it as a WebAssembly module. Build one with

	husk provider build . -o ` + p.Name + `.wasm

or without husk

	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o ` + p.Name + `.wasm .
`
}

// rawUsage is usage for a provider that does not say who it is before it is asked.
const rawUsage = `this is a provider for husk, which runs it as a WebAssembly module. Build one with

	husk provider build .
`
