package control

func pidOf(int) int { return 0 }
