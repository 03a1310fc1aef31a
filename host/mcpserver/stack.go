package mcpserver

// stackOfCall is what a call needs of a stack, in bytes, from the chain to the plugin.
const stackOfCall = 24 << 10

// roomy has the stack of a goroutine, of which the SDK begins one for each request, grow once to what a call
// needs. It would double four times on the way, and each time all frames are copied: a tenth of a call.
//
//go:noinline
func roomy() { touch(&[stackOfCall]byte{}) }

//go:noinline
func touch(*[stackOfCall]byte) {}
