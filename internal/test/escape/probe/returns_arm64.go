package main

// returns is a function that returns at once.
var returns = []byte{0xc0, 0x03, 0x5f, 0xd6}
