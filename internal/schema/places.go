package schema

import "fmt"

// A Place is the number that a validator assigns to a named type, or to a member of a named type.
// Zero is not a place.
type Place uint16

// maxPlaces is one more than the maximum number of places of a revision.
const maxPlaces = 384

// A PlaceSet is the set of places that occur in a message.
type PlaceSet [maxPlaces / 64]uint64

func (m *PlaceSet) add(p Place) { m[p/64] |= 1 << (p % 64) }

func (m *PlaceSet) union(other *PlaceSet) {
	for i := range m {
		m[i] |= other[i]
	}
}

// Has reports whether the place occurs in the message.
func (m *PlaceSet) Has(p Place) bool { return p != 0 && m[p/64]&(1<<(p%64)) != 0 }

// Place returns the number of a type, such as ImageContent, or of a member, such
// as ImageContent.data. It returns zero if the revision has no such place.
func (v *Validator) Place(name string) Place { return v.places[name] }

// assignPlaces assigns places to a compiled type and its members. Types with the same
// name share their places.
func (v *Validator) assignPlaces(t *schemaType) {
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
