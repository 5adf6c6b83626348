package config

import (
	"bytes"
	"encoding/json"
)

// SchemaFile is the name, in docs/, of the JSON Schema of the configuration file.
const SchemaFile = "mcp-conform.schema.json"

// An object2020 is a JSON object of a schema of draft 2020-12. encoding/json sorts its members.
type object2020 = map[string]any

// Schema returns the JSON Schema of the configuration file, for editors.
func Schema() ([]byte, error) {
	top := Keys()
	s := top.schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = Name
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return b.Bytes(), err
}

// duration matches the durations that time.ParseDuration accepts, except those with a sign or
// without a unit.
const duration = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*$`

func (k *Key) schema() object2020 {
	text := object2020{"type": "string", "pattern": `\S`}
	if k.Name == "levels" {
		text = object2020{"enum": k.Values}
	}
	var s object2020
	switch k.Kind {
	case Choice:
		s = object2020{"enum": k.Values}
	case Duration:
		s = object2020{"type": "string", "pattern": duration}
	case Number:
		s = object2020{"type": "integer", "minimum": 1}
	case Switch:
		s = object2020{"type": "boolean"}
	case Texts:
		s = object2020{"anyOf": []any{text, object2020{"type": "array", "items": text}}}
	case List:
		s = object2020{"type": "array", "items": text}
	case Scalars:
		s = object2020{"type": "object", "additionalProperties": object2020{"type": []string{"string", "number", "boolean", "null"}}}
	case Object:
		s = object2020{"type": "object"}
	case Named:
		s = object2020{"type": "object", "additionalProperties": k.Of.schema()}
	case Several:
		one := k.Of.schema()
		s = object2020{"anyOf": []any{one, object2020{"type": "array", "items": one}}}
	case Mapping:
		properties, must := object2020{}, []string{}
		for i := range k.Keys {
			properties[k.Keys[i].Name] = k.Keys[i].schema()
			if k.Keys[i].Must {
				must = append(must, k.Keys[i].Name)
			}
		}
		s = object2020{"type": "object", "properties": properties, "additionalProperties": false}
		if len(must) > 0 {
			s["required"] = must
		}
	default:
		s = text
	}
	if k.About != "" {
		s["description"] = k.About
	}
	return s
}
