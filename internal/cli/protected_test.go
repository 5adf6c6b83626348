package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/issuer"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// TestClientCredentials checks that a command gets a token by itself from the authorization server
// that the server trusts, and prints neither the secret nor the token. The command is doctor,
// because Ginkgo can run only one suite per process.
func TestClientCredentials(t *testing.T) {
	trusted, err := issuer.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer trusted.Close()
	server, err := refserver.Listen(t.Context(), "127.0.0.1:0", spec.StreamableHTTP, refserver.Options{AuthServer: trusted.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const secret = "s3cr3t-of-the-client"
	var out, errs bytes.Buffer
	code := invoke([]string{
		"doctor", "--no-config", "--client-id", "ci", "--client-secret-env", "CLIENT_SECRET", server.URL.String(),
	}, World{In: strings.NewReader(""), Out: &out, Err: &errs, Environ: append(os.Environ(), "CLIENT_SECRET="+secret)})
	if code != 0 || !strings.Contains(out.String(), "mcp-conform-reference-server") {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
	}
	for _, leaked := range []string{secret, "eyJ"} {
		if strings.Contains(out.String()+errs.String(), leaked) {
			t.Errorf("%s is in the output", leaked)
		}
	}
}
