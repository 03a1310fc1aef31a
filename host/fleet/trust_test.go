package fleet_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// serve runs a NATS server of a test.
func serve(t *testing.T, o server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	s := require.Must(server.NewServer(&o))(t)
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(require.Ceiling) {
		t.Fatal("the server does not accept connections")
	}
	return s.ClientURL()
}

// refused returns the error of a host that cannot join.
func refused(t *testing.T, c fleet.Config) error {
	t.Helper()
	h := require.Must(host.New())(t)
	t.Cleanup(func() { _ = h.Close(t.Context()) })
	f, err := fleet.Join(t.Context(), h, c)
	if err == nil {
		_ = f.Close(t.Context())
		t.Fatal("it has joined")
	}
	return err
}

// Hosts join over TLS, with certificates on both sides, and refuse a server that they cannot check.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, stranger := newAuthority(t, dir, "ca"), newAuthority(t, dir, "stranger")
	serverCert, serverKey := ca.issue(t, "server")
	clientCert, clientKey := ca.issue(t, "client")
	config := require.Must(server.GenTLSConfig(&server.TLSConfigOpts{
		CertFile: serverCert, KeyFile: serverKey, CaFile: ca.file, Verify: true, MinVersion: tls.VersionTLS12,
	}))(t)
	key := newKey(t)
	url := serve(t, server.Options{TLSConfig: config, TLSVerify: true, TLSTimeout: 20, Nkeys: []*server.NkeyUser{{Nkey: key.Public()}}})
	with := func(name string, files fleet.TLS) fleet.Config {
		return fleet.Config{URL: url, Key: key, Name: name, TLS: files, Share: []string{"*"}, Mount: []string{"*"}}
	}
	join(t, with("b", fleet.TLS{CA: ca.file, Cert: clientCert, Key: clientKey}), says("who", "b"))
	a := join(t, with("a", fleet.TLS{CA: ca.file, Cert: clientCert, Key: clientKey}))
	assert.Equal(t, a.text(t, "who"), "b")
	for what, files := range map[string]fleet.TLS{
		"another authority": {CA: stranger.file, Cert: clientCert, Key: clientKey},
		"no certificate":    {CA: ca.file},
	} {
		if err := refused(t, with("x", files)); tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// authority is a certificate authority of a test.
type authority struct {
	dir, file string
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{dir: dir, file: filepath.Join(dir, name+".pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.write(t, a.file, "", a.cert, a.cert, nil)
	return a
}

// issue makes a certificate for loopback, and returns its file and that of its key.
func (a *authority) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	a.write(t, cert, key, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, a.key)
	return cert, key
}

func (a *authority) write(t *testing.T, certFile, keyFile string, cert, by *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key := require.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	if signer == nil {
		signer = key
	}
	der := require.Must(x509.CreateCertificate(rand.Reader, cert, by, key.Public(), signer))(t)
	secret := require.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if file == "" {
			continue
		}
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return key
}

// Accounts of a server are tenants: hosts log in with files of credentials, and do not see those of
// another account, even if their keys are known.
func TestAccounts(t *testing.T) {
	t.Parallel()
	operator := newPair(t, nkeys.CreateOperator)
	claims := jwt.NewOperatorClaims(operator.public)
	resolver := &server.MemAccResolver{}
	one, two := newTenant(t, operator, resolver), newTenant(t, operator, resolver)
	url := serve(t, server.Options{TrustedOperators: []*jwt.OperatorClaims{claims}, AccountResolver: resolver})
	key := newKey(t)
	with := func(name, credentials string) fleet.Config {
		return fleet.Config{URL: url, Key: key, Name: name, Credentials: credentials, Share: []string{"*"}, Mount: []string{"*"}}
	}
	join(t, with("b", one.user(t, nil)), says("who", "b"))
	join(t, with("c", two.user(t, nil)), says("other", "c"))
	a := join(t, with("a", one.user(t, nil)))
	assert.Equal(t, a.text(t, "who"), "b")
	if hosts := a.Hosts(); len(hosts) != 2 || a.has("other") {
		t.Errorf("a host sees another account's: %+v", hosts)
	}
	if err := refused(t, with("x", newTenant(t, newPair(t, nkeys.CreateOperator), resolver).user(t, nil))); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a user of another operator: %v", err)
	}
	mute := one.user(t, func(c *jwt.UserClaims) { c.Pub.Deny.Add("toolhost.v1.>") })
	deaf := one.user(t, func(c *jwt.UserClaims) { c.Sub.Deny.Add("toolhost.v1.>") })
	if err := refused(t, with("x", deaf)); tool.CodeOf(err) != tool.CodePermissionDenied || !strings.Contains(err.Error(), "toolhost.v1") {
		t.Errorf("a user that may not subscribe: %v", err)
	}
	if err := refused(t, with("x", mute)); tool.CodeOf(err) != tool.CodePermissionDenied || !strings.Contains(err.Error(), "toolhost.v1") {
		t.Errorf("a user that may not publish: %v", err)
	}
}

// pair is a key of a test's operator, account or user.
type pair struct {
	nkeys.KeyPair
	public string
}

func newPair(t *testing.T, create func() (nkeys.KeyPair, error)) pair {
	t.Helper()
	k := require.Must(create())(t)
	public := require.Must(k.PublicKey())(t)
	return pair{k, public}
}

// tenant is an account.
type tenant struct{ pair }

func newTenant(t *testing.T, operator pair, resolver server.AccountResolver) *tenant {
	t.Helper()
	a := &tenant{newPair(t, nkeys.CreateAccount)}
	text, err := jwt.NewAccountClaims(a.public).Encode(operator)
	if err == nil {
		err = resolver.Store(a.public, text)
	}
	require.NoError(t, err)
	return a
}

// user returns a file with the credentials of a new user.
func (a *tenant) user(t *testing.T, change func(*jwt.UserClaims)) string {
	t.Helper()
	k := newPair(t, nkeys.CreateUser)
	claims := jwt.NewUserClaims(k.public)
	if change != nil {
		change(claims)
	}
	text := require.Must(claims.Encode(a))(t)
	seed := require.Must(k.Seed())(t)
	creds := require.Must(jwt.FormatUserConfig(text, seed))(t)
	file := filepath.Join(t.TempDir(), "user.creds")
	require.NoError(t, os.WriteFile(file, creds, 0o600))
	return file
}

// A server, which may be anyone's, gets nothing signed that could be an announcement or a durable call.
func TestFalseServerGetsNoSignature(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nonce  string
		signed bool
	}{
		"of a login":           {"XqW3kJd-_0aZb9Q", true},
		"an announcement":      {"toolhost fleet announcement 1\n{}", false},
		"an order":             {"toolhost.v1.durable.order\x00body", false},
		"more than 64 letters": {strings.Repeat("a", 65), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
			defer func() { _ = ln.Close() }()
			signed := make(chan bool, 1)
			go func() {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				defer func() { _ = conn.Close() }()
				info := map[string]any{"server_id": "x", "version": "2.15.2", "proto": 1, "max_payload": 1 << 20, "auth_required": true, "nonce": c.nonce}
				text, _ := json.Marshal(info)
				_, _ = fmt.Fprintf(conn, "INFO %s\r\n", text)
				line, _ := bufio.NewReader(conn).ReadString('\n')
				signed <- strings.Contains(line, `"sig":"`) && !strings.Contains(line, `"sig":""`)
			}()
			h := require.Must(host.New())(t)
			defer func() { _ = h.Close(context.Background()) }()
			_, err := fleet.Join(t.Context(), h, fleet.Config{URL: "nats://" + ln.Addr().String(), Key: newKey(t), Name: "x"})
			if got := <-signed; got != c.signed || !c.signed && (err == nil || !strings.Contains(err.Error(), "it may be a false one")) {
				t.Errorf("signed: %t, want %t; the host says: %v", got, c.signed, err)
			}
		})
	}
}
