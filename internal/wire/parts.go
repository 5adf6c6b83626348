package wire

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// memberList are the members of an object in wire order, including repetitions. With them, a member
// is found without parsing the object again. They are nil if there are none, or more than maxParts.
type memberList []rawMember

// A rawMember is one member: the text between the quotes of its name, and its value.
type rawMember struct{ name, value []byte }

// maxParts is the largest number of members that are kept. Few objects in messages have more.
const maxParts = 32

func memberListOf(v jsontext.Value) memberList {
	var out memberList
	for w := walkerOf(v, '{'); ; {
		name, value, ok := w.Member()
		if !ok {
			return out
		}
		if len(out) == maxParts {
			return nil
		}
		out = append(out, rawMember{name, value})
	}
}

// ParamAt is like At(m.Params(), pointer).
func (m *Message) ParamAt(pointer string) jsontext.Value { return m.params.at(m.Params(), pointer) }

// ResultAt is like At(m.Result(), pointer).
func (m *Message) ResultAt(pointer string) jsontext.Value { return m.result.at(m.Result(), pointer) }

// ParamIDAt is like IDAt(m.Params(), pointer).
func (m *Message) ParamIDAt(pointer string) ID { return RawID(string(m.ParamAt(pointer))) }

// errorAt is like At(m.Member("error"), pointer).
func (m *Message) errorAt(pointer string) jsontext.Value {
	return m.err.at(m.Members["error"], pointer)
}

// at is like At(v, pointer), where p are the members of v.
func (p memberList) at(v jsontext.Value, pointer string) jsontext.Value {
	if p == nil || pointer == "" || pointer[0] != '/' {
		return At(v, pointer)
	}
	name, rest := pointer[1:], ""
	if end := strings.IndexByte(name, '/'); end >= 0 {
		name, rest = name[:end], name[end:]
	}
	if strings.IndexByte(name, '~') >= 0 {
		return At(v, pointer)
	}
	for i := len(p) - 1; i >= 0; i-- {
		if equalName(p[i].name, name) {
			return At(p[i].value, rest)
		}
	}
	return nil
}
