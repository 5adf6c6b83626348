package refserver

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestContactArguments checks that checkContact and the schema of contactTool agree.
func TestContactArguments(t *testing.T) {
	raw, err := json.Marshal(contactTool.schema)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("contact.json", document); err != nil {
		t.Fatal(err)
	}
	schema := compiler.MustCompile("contact.json")
	for arguments, want := range map[string]string{
		`{"email":"a@example.com"}`:                                                   "",
		`{"contactMethod":"phone","phone":"1"}`:                                       "",
		`{"contactMethod":"email","email":"a@example.com","name":"Ada","phone":"1"}`:  "",
		`{"email":"a@example.com","address":{"street":"Main","city":"York","zip":1}}`: "",
		`{}`:                                 "email is required",
		`{"phone":"1"}`:                      "email is required",
		`{"contactMethod":"phone"}`:          "phone is required",
		`{"contactMethod":"fax","email":""}`: "contactMethod must be phone or email",
		`{"email":1}`:                        "email must be a string",
		`{"email":"","address":"York"}`:      "address must be an object",
		`{"email":"","address":{"city":7}}`:  "city must be a string",
		`{"email":"","age":7}`:               `there is no argument "age"`,
	} {
		_, given := wire.Members([]byte(arguments))
		if got := checkContact(given); got != want {
			t.Errorf("%s: %q; want %q", arguments, got, want)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(arguments)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != (want == "") {
			t.Errorf("%s: Validate: %v", arguments, err)
		}
	}
}
