package relooper

// Propose rewrites functions without a proof.
var Propose = propose
