package canon

// Params are the parameters of a call of an export as one record, as a module gets them.
func Params(world string, function int, mem Memory, args []uint64) ([]byte, error) {
	f := map[string][]*Function{
		"provider": providerFunctions[:], "policy": policyFunctions[:], "program": programFunctions[:],
	}[world][function]
	s := newServer(f, mem, args)
	return s.params, s.err
}
