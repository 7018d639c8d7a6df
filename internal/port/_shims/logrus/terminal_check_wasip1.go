package logrus

func isTerminal(int) bool { return false }
