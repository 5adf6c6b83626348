package schema

import "fmt"

// Place is the number of a named type, or of a member of one, in a validator.
// The zero value is no place.
type Place uint16

// maxPlaces is how many places a revision may have.
const maxPlaces = 384

// Met is which places a message has, so that it is known of what something
// can be said.
type Met [maxPlaces / 64]uint64

func (m *Met) add(p Place) { m[p/64] |= 1 << (p % 64) }

func (m *Met) join(other *Met) {
	for i := range m {
		m[i] |= other[i]
	}
}

// Has reports whether a message has the place.
func (m *Met) Has(p Place) bool { return p != 0 && m[p/64]&(1<<(p%64)) != 0 }

// Place returns the number of a type, such as ImageContent, or of a member of
// one, such as ImageContent.data; zero where the revision has no such place.
func (v *Validator) Place(name string) Place { return v.places[name] }

// number gives a compiled type and its members their places. Types with the
// same name share them.
func (v *Validator) number(t *typ) {
	if t.name == "" {
		return
	}
	t.place = v.placeOf(t.name)
	for i := range t.members {
		t.members[i].place = v.placeOf(t.name + "." + t.members[i].name)
	}
}

func (v *Validator) placeOf(name string) Place {
	p, ok := v.places[name]
	if !ok {
		p = Place(len(v.places) + 1)
		if p >= maxPlaces {
			panic(fmt.Sprintf("schema: %s has more than %d places; raise maxPlaces", v.revision, maxPlaces))
		}
		v.places[name] = p
	}
	return p
}
