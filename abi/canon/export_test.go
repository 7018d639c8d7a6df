package canon

// Params are the parameters of a call of an export as one record, as a module gets them.
func Params(world string, function int, mem Memory, args []uint64) ([]byte, error) {
	functions := providerFunctions[:]
	if world == "policy" {
		functions = policyFunctions[:]
	}
	f := functions[function]
	s := newServer(f, mem, args)
	return s.params, s.err
}
