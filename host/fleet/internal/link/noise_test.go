package link

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/flynn/noise"

	"github.com/toolhost/toolhost/internal/test/require"
)

// The handshake is that of Noise, with the vectors for Noise_KK_25519_AESGCM_SHA256 that the library has.
func TestVectors(t *testing.T) {
	t.Parallel()
	const e1, e2 = "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254",
		"64b101b1d0be5a8704bd078f9895001fc03e8e9f9522f188dd128d9846d48466"
	for name, v := range map[string]struct{ prologue, payloads, first, second string }{
		"plain":    {first: "3f53f25dc2eca97efae6a4a4b847de06", second: "0f506ffcf6b2781821b24b70b8fad884"},
		"prologue": {prologue: "notsecret", first: "d05f754c90d580f21b243391fe987af4", second: "f8f3babbd403b9665488570810b364dd"},
		"payloads": {
			payloads: "test_msg_", first: "f076403f2e0cdd201c5aae9d1539c9ad90262eefea9c90a5397b",
			second: "f12abbcda56565bf3fa3254fe35ad97f3e9d5e25aa296741ec3e",
		},
		"both": {
			prologue: "notsecret", payloads: "test_msg_", first: "f076403f2e0cdd201c5a743d4aab448e6e3b29d4aa05628a5cbd",
			second: "f12abbcda56565bf3fa37b196488daf515b7434096aa1638346b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, server := counting(t, 0), counting(t, 1)
			hs := [2]*noise.HandshakeState{
				begin(t, caller, true, server, v.prologue, 0x20), begin(t, server, false, caller, v.prologue, 0x41),
			}
			var ciphers [2][2]*noise.CipherState // of the caller's packets and of the server's, at both
			for i, want := range []string{e1 + v.first, e2 + v.second} {
				var payload []byte
				if v.payloads != "" {
					payload = append([]byte(v.payloads), '0'+byte(i))
				}
				m, c1, c2, err := hs[i].WriteMessage(nil, payload)
				if err != nil || hex.EncodeToString(m) != want {
					t.Fatalf("message %d is %x, %v", i, m, err)
				}
				got, d1, d2, err := hs[1-i].ReadMessage(nil, m)
				if err != nil || !bytes.Equal(got, payload) {
					t.Fatalf("message %d has %q, %v", i, got, err)
				}
				ciphers = [2][2]*noise.CipherState{{c1, c2}, {d1, d2}}
			}
			for i, want := range []string{
				"0e79035855cdea04bc833d5ff63291042c6e12b0ac55ef2c4096deed1cbac2", "c6dbcc2ac8f85338732b71a58f4c3be89bdfa7b2da8a8506ec4f1d2d9299a0",
			} {
				text := []string{"yellowsubmarine", "submarineyellow"}[i]
				sealed, err := ciphers[0][i].Encrypt(nil, nil, []byte(text))
				if err != nil || hex.EncodeToString(sealed) != want {
					t.Errorf("packet %d is %x, %v", i, sealed, err)
				}
				if got, err := ciphers[1][i].Decrypt(nil, nil, sealed); err != nil || string(got) != text {
					t.Errorf("packet %d has %q, %v", i, got, err)
				}
			}
		})
	}
}

// bytesFrom returns 32 bytes that count from one on.
func bytesFrom(first byte) []byte {
	out := make([]byte, 32)
	for i := range out {
		out[i] = first + byte(i)
	}
	return out
}

// counting returns the instance whose secret half counts from a byte on.
func counting(t *testing.T, first byte) *Instance {
	t.Helper()
	key := require.Must(noise.DH25519.GenerateKeypair(bytes.NewReader(bytesFrom(first))))(t)
	return &Instance{key}
}

func begin(t *testing.T, self *Instance, caller bool, other *Instance, prologue string, ephemeral byte) *noise.HandshakeState {
	t.Helper()
	c := self.handshake(caller, other.Public(), []byte(prologue))
	c.Random = bytes.NewReader(bytesFrom(ephemeral))
	hs := require.Must(noise.NewHandshakeState(c))(t)
	return hs
}
