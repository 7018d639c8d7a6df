package state

import "context"

var contextForTests = context.Background()

// ForgetJSON makes the snapshot write its resources from their fields.
func (s *Snapshot) ForgetJSON() {
	for serial, v := range s.slots {
		v.json = sealedJSON{}
		s.slots[serial] = v
	}
	for op, v := range s.operations {
		v.json = sealedJSON{}
		s.operations[op] = v
	}
}

// DecodeRecord reads a journal record and returns its entries.
func (c *Codec) DecodeRecord(record []byte) ([]Entry, error) {
	sealed, err := c.decodeRecord(contextForTests, record)
	entries := make([]Entry, len(sealed))
	for i, e := range sealed {
		entries[i] = e.changes
	}
	return entries, err
}

// EncodeRecord returns the journal record of the entries.
func (c *Codec) EncodeRecord(entries ...Entry) ([]byte, error) {
	record := []byte{'['}
	for i, e := range entries {
		text, _, err := c.encodeEntry(contextForTests, e)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			record = append(record, ',')
		}
		record = append(record, text...)
	}
	return append(record, ']'), nil
}
