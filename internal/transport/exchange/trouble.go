package exchange

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// stageError reports that a context ended, such as by a timeout, and the stage that was reached.
type stageError struct {
	stage    string // as in "while connecting to 127.0.0.1:80"
	cause    error
	obstacle transcript.Obstacle
}

func (e *stageError) Error() string { return e.cause.Error() + ", " + e.stage }

func (e *stageError) Unwrap() error { return e.cause }

// stageOf returns the stage of the error, or "".
func stageOf(err error) string {
	var s *stageError
	if errors.As(err, &s) {
		return s.stage
	}
	return ""
}

// obstacleOf returns the obstacle that made a connection fail with err, or "" if it is not known.
func obstacleOf(err error) transcript.Obstacle {
	var stage *stageError
	var failed *tlsError
	var dns *net.DNSError
	switch {
	case errors.As(err, new(*tunnelError)):
		return transcript.NoTunnel
	case errors.As(err, &stage) && stage.obstacle == transcript.NoTunnel:
		return transcript.NoTunnel
	case errors.As(err, new(*proxyError)):
		return transcript.NoProxy
	case errors.As(err, &stage):
		return stage.obstacle
	case errors.As(err, &failed):
		return failed.obstacle
	case errors.As(err, &dns) && dns.IsNotFound:
		return transcript.NoHost
	}
	return ""
}

// explain describes for users why the connection failed.
func explain(err error) string {
	var proxy *proxyError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &proxy):
		return "the proxy " + proxy.at + ": " + explain(proxy.err)
	case errors.As(err, new(*tlsError)), errors.As(err, new(*stageError)):
		return err.Error()
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host %s", dns.Name)
	case errors.As(err, &dns):
		return fmt.Sprintf("the host name %s could not be looked up: %s", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &op) && op.Addr != nil:
		return fmt.Sprintf("nothing listens at %v (connection refused)", op.Addr)
	case errors.As(err, &op) && op.Op == "dial" && op.Addr == nil:
		return fmt.Sprintf("no connection: %v", op.Err)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Sprintf("nothing answers at %v: %v", op.Addr, op.Err)
	default:
		return err.Error()
	}
}

// explainTLS describes for users why the TLS handshake failed.
func explainTLS(err error, host string) error {
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var signer x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	why, obstacle := err.Error(), transcript.TLSFailed
	switch {
	case errors.As(err, &name):
		why, obstacle = fmt.Sprintf("the certificate is for %s, not for %s", certificateNames(name.Certificate), host), transcript.WrongCertificate
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		why, obstacle = describeValidity(invalid.Cert, time.Now()), transcript.WrongCertificate
	case errors.As(err, &signer):
		why, obstacle = "an unknown authority has signed the certificate"+describeIssuer(signer.Cert), transcript.UnknownAuthority
	case errors.As(err, &record) && bytes.HasPrefix(record.RecordHeader[:], []byte("HTTP/")):
		why, obstacle = "the server speaks HTTP without TLS at this port", transcript.PlainHTTP
	case errors.As(err, &record):
		why = fmt.Sprintf("the response is not TLS; it begins with %q", record.RecordHeader[:])
	case errors.As(err, &alert):
		why = "the server refuses: " + strings.TrimPrefix(alert.Error(), "tls: ")
	case errors.Is(err, io.EOF):
		why = "the server closed the connection during the handshake"
	case errors.Is(err, syscall.ECONNRESET):
		why = "the connection was reset during the handshake"
	}
	return &tlsError{why, err, obstacle}
}

// tlsError is a failed TLS handshake with its explanation.
type tlsError struct {
	why      string
	err      error
	obstacle transcript.Obstacle
}

func (e *tlsError) Error() string { return "TLS with the server fails: " + e.why }

func (e *tlsError) Unwrap() error { return e.err }

const maxOwners = 3

// certificateNames returns the host names and addresses in a certificate.
func certificateNames(c *x509.Certificate) string {
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	switch n := len(names); {
	case n == 0:
		return "no name at all"
	case n > maxOwners:
		return fmt.Sprintf("%s and %d more names", strings.Join(names[:maxOwners], ", "), n-maxOwners)
	}
	return strings.Join(names, ", ")
}

func describeValidity(c *x509.Certificate, now time.Time) string {
	if now.Before(c.NotBefore) {
		return "the certificate is valid only from " + c.NotBefore.UTC().Format(time.DateTime) + " UTC on"
	}
	return "the certificate expired on " + c.NotAfter.UTC().Format(time.DateTime) + " UTC"
}

func describeIssuer(c *x509.Certificate) string {
	switch {
	case c == nil:
		return ""
	case c.Issuer.String() == c.Subject.String():
		return " but itself"
	default:
		return fmt.Sprintf(" (its signer is %q)", c.Issuer.String())
	}
}

// describeLoss describes whether the connection was closed, was reset or broke.
func describeLoss(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.Is(err, syscall.ECONNRESET):
		return "the connection was reset"
	default:
		return "the connection broke"
	}
}

// isConnectionError reports whether the error is about the connection rather than the data.
func isConnectionError(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}

const http1 = "HTTP/"

// foreignResponse describes a response whose first bytes are not HTTP/1. It returns "" for any
// other response. It waits for no more bytes than necessary.
func foreignResponse(in *bufio.Reader) (what string, obstacle transcript.Obstacle) {
	for n := 1; n <= len(http1); n++ {
		first, err := in.Peek(n)
		if !strings.HasPrefix(http1, string(first)) {
			all, _ := in.Peek(in.Buffered())
			return describeForeign(all)
		}
		if err != nil {
			break
		}
	}
	return "", ""
}

// maxQuoted is the number of quoted bytes of a response that is not HTTP.
const maxQuoted = 60

// describeForeign describes a response that is not HTTP/1. raw has the first bytes of the response.
func describeForeign(raw []byte) (what string, obstacle transcript.Obstacle) {
	const settings = 4 // the type of an HTTP/2 SETTINGS frame
	if len(raw) >= 9 && raw[3] == settings && raw[5]|raw[6]|raw[7]|raw[8] == 0 {
		return "the response is HTTP/2, but mcp-conform speaks HTTP/1.1", transcript.SpeaksHTTP2
	}
	if len(raw) > 2 && raw[0] == 0x15 && raw[1] == 3 { // an alert
		return "the response is TLS, not HTTP", transcript.SpeaksTLS
	}
	return fmt.Sprintf("the response is not HTTP: it begins with %q", bytes.TrimRight(raw[:min(len(raw), maxQuoted)], "\r\n")), ""
}
