package pq

func userCurrent() (string, error) { return "", ErrCouldNotDetectUsername }
