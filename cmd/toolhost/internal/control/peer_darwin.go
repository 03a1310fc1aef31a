package control

func binaryOf(int) (binary, name string) { return "", "" }
