package abi

// AllFeatures are the features of the newest version of the contract.
const AllFeatures = firstFeatures | FeaturesWriteOnly | AnnouncedFeatures

// firstFeatures are the features of version 0.1.0.
const firstFeatures = FeaturesSecrets | FeaturesResourceReferences | FeaturesOutputs | FeaturesAutonaming | FeaturesPreview

// AnnouncedFeatures are newer than the first modules of their version of the contract, which refuse a handshake with a flag
// that they do not know. A module announces each that it knows by an export (see [AnnouncedBy]), and is offered no others.
const AnnouncedFeatures = FeaturesReadFirst

// Since010 returns the features that version 0.1.0 of the contract has.
func (f Features) Since010() Features { return f & firstFeatures }

// AnnouncedBy returns the [AnnouncedFeatures] that a module announces by the names of its exports, such as
// husk:feature/read-first. Nobody calls these functions.
func AnnouncedBy(exports []string) (known Features) {
	for _, name := range exports {
		if name == "husk:feature/read-first" {
			known |= FeaturesReadFirst
		}
	}
	return known
}
