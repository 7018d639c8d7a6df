package policy

// usage says what to do with a pack that was built or run as a program.
func usage(p Pack) string {
	return p.Name + " " + p.Version + ` is a policy pack for husk, which runs it as a WebAssembly module. Build one with

	husk provider build . -o ` + p.Name + `.wasm

or without husk

	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o ` + p.Name + `.wasm .
`
}
