package review

// Classify groups changes. It fails only where a package cannot be written.
func Classify(changes []Change) (*Report, error) {
	var of Classifier
	for i := range changes {
		c, err := Compare(changes[i])
		if err != nil {
			return nil, err
		}
		of.Add(changes[i].Variant, c)
	}
	return of.Report()
}
