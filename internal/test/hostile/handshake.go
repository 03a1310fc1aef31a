package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// How a plugin may begin.
const (
	HalfLine    plugintest.Mode = "halfline"    // writes half a handshake line, and no more
	HalfAndGone plugintest.Mode = "halfandgone" // writes half a handshake line and exits with 4
	LongLine    plugintest.Mode = "longline"    // begins with a line of 70 KB
	Control     plugintest.Mode = "control"     // writes a line that would rewrite a terminal, and exits with 4
	NetRPC      plugintest.Mode = "netrpc"      // speaks go-plugin's older protocol, and says so
	OldNetRPC   plugintest.Mode = "oldnetrpc"   // speaks it, and does not say so, as it was older still
	Foreign     plugintest.Mode = "foreign"     // announces a socket elsewhere; leaves "dialled" if it is dialled
	Dots        plugintest.Mode = "dots"        // announces a socket that is elsewhere after "/.."
	Linked      plugintest.Mode = "linked"      // announces a symbolic link to a socket elsewhere
	NoSocket    plugintest.Mode = "nosocket"    // announces a plain file
	Nowhere     plugintest.Mode = "nowhere"     // announces a socket that is not there
	ExitAfter   plugintest.Mode = "exitafter"   // exits with 0 as soon as it has shaken hands
	TwoShakes   plugintest.Mode = "twoshakes"   // shakes hands, and again with a socket elsewhere
	Certificate plugintest.Mode = "certificate" // shakes hands with a certificate that the host did not ask for
	BadFields   plugintest.Mode = "badfields"   // shakes hands with nonsense after that
)

// Dialled is the file that [Foreign] and similar modes leave if the host connects to the
// socket.
const Dialled = "dialled"

func handshakeModes() map[plugintest.Mode]func() {
	return map[plugintest.Mode]func(){
		HalfLine:    func() { warn(); shout("1|1|un"); plugintest.Hang() },
		HalfAndGone: func() { warn(); shout("1|1|un"); os.Exit(4) },
		LongLine:    func() { warn(); shout(strings.Repeat("x", 70_000) + "\n"); plugintest.Hang() },
		Control:     func() { warn(); shout("\x1b[2J\x1b]0;owned\x07\u202egnp|\x9b31m\r\n"); os.Exit(4) },
		NetRPC: server{shake: func(address string) string {
			warn()
			return "1|1|unix|" + address + "|netrpc\n"
		}}.serve,
		OldNetRPC: server{shake: func(address string) string {
			warn()
			return "1|1|unix|" + address + "\n"
		}}.serve,
		Foreign: func() { warn(); shout(honest(trap())); plugintest.Hang() },
		Dots: func() {
			warn()
			up := strings.Repeat("/..", strings.Count(socketDir(), "/"))
			shout(honest(socketDir() + up + trap()))
			plugintest.Hang()
		},
		Linked: func() {
			warn()
			link := filepath.Join(socketDir(), "linked")
			must(os.Symlink(trap(), link))
			shout(honest(link))
			plugintest.Hang()
		},
		NoSocket: func() {
			warn()
			path := filepath.Join(socketDir(), "file")
			must(os.WriteFile(path, nil, 0o600))
			shout(honest(path))
			plugintest.Hang()
		},
		Nowhere:   func() { warn(); shout(honest(filepath.Join(socketDir(), "none"))); plugintest.Hang() },
		ExitAfter: func() { warn(); shout(honest(listen(filepath.Join(socketDir(), "s")).Addr().String())); os.Exit(0) },
		TwoShakes: server{shake: func(address string) string { return honest(address) + honest(trap()) }}.serve,
		Certificate: server{shake: func(address string) string {
			warn()
			return strings.TrimSpace(honest(address)) + certificate() + "\n"
		}}.serve,
		BadFields: server{shake: func(address string) string {
			warn()
			return strings.TrimSpace(honest(address)) + strings.Repeat("not a certificate ", 5) + "|maybe|" + strings.Repeat("|", 100) + "\n"
		}}.serve,
	}
}

func socketDir() string { return os.Getenv("PLUGIN_UNIX_SOCKET_DIR") }

// trap is a socket in the workspace that notes who connects to it.
func trap() string {
	wd, err := os.Getwd()
	must(err)
	l := listen("trap") // its whole path may be too long for a socket's address
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
			leave(Dialled)
		}
	}()
	return filepath.Join(wd, "trap")
}

// certificate is one as go-plugin's handshake has it.
func certificate() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(err)
	return fmt.Sprint(base64.RawStdEncoding.EncodeToString(der))
}
