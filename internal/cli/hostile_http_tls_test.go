package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// certified puts TLS in front of a conforming server. Its certificate is for
// this name and expires at this time.
func certified(name string, until time.Time) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, r *hostileRun) string {
		s := httptest.NewUnstartedServer(refserver.NewHTTPHandler(t.Context(), refserver.Options{}))
		s.TLS = certificate(t, r, name, until)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL + "/mcp"
	}
}

// http2 is the first frame of an HTTP/2 server.
const http2 = "\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80"

// certifiedH2 returns a TLS server that accepts only HTTP/2.
func certifiedH2(t *testing.T, r *hostileRun) string {
	config := certificate(t, r, "127.0.0.1", time.Now().Add(time.Hour))
	config.NextProtos = []string{"h2"}
	return "https://" + raw(t, func(p *peer) {
		c := tls.Server(p, config)
		_, _ = c.Write([]byte(http2))
		p.hold()
	}) + "/mcp"
}

// certificate creates a self-signed certificate and writes it to a file.
func certificate(t *testing.T, r *hostileRun, name string, until time.Time) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	r.ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(r.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
}

// trusting makes the run trust the server's certificate.
func trusting(serve func(*testing.T, *hostileRun) string) func(*testing.T, *hostileRun) string {
	return func(t *testing.T, r *hostileRun) string {
		url := serve(t, r)
		r.flags = append(r.flags, "--ca-file", r.ca)
		return url
	}
}
