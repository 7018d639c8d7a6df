package reloop

// Propose rewrites functions without a proof.
var Propose = propose
