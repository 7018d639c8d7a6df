package guest

// checkMethods does nothing in a module: finding methods by reflection would keep all
// methods of all types in it, a tenth of a small one. Programs, which the tests of a
// provider are, do it.
func checkMethods(any, capabilities) error { return nil }
