package abi

// AllFeatures are the features of the newest version of the contract.
const AllFeatures = firstFeatures | FeaturesWriteOnly | FeaturesReadFirst

// firstFeatures are those of version 0.1.0.
const firstFeatures = FeaturesSecrets | FeaturesResourceReferences | FeaturesOutputs | FeaturesAutonaming | FeaturesPreview

// Since010 returns the features that version 0.1.0 of the contract has.
func (f Features) Since010() Features { return f & firstFeatures }
