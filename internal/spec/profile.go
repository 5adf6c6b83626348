package spec

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/fixtures"
)

// A Profile is a version of a named list of requirements. Its file never changes, so
// that a new requirement cannot change the result of an old profile.
type Profile struct {
	Name       string      `yaml:"-"`     // such as core@1
	About      string      `yaml:"about"` // the purpose of the profile, in one sentence
	Revisions  []Revision  `yaml:"revisions"`
	Transports []Transport `yaml:"transports"`
	// Core are the ids of the requirements that concern every server with the profile's feature,
	// and whose deviations can be graded as broken. Extended are the ids of those that depend on
	// optional parts of the feature, or whose deviations are warnings at most.
	Core     []string `yaml:"core"`
	Extended []string `yaml:"extended"`
	// Digest is the hash of the file: SHA-256, in hexadecimal.
	Digest string `yaml:"-"`

	ids map[string]bool
}

// Base returns the name without the version.
func (p *Profile) Base() string {
	base, _, _ := strings.Cut(p.Name, "@")
	return base
}

// version returns the version, or 0 if the name has no numeric version.
func (p *Profile) version() int {
	_, version, _ := strings.Cut(p.Name, "@")
	n, _ := strconv.Atoi(version) // check rejects the version 0
	return n
}

// AppliesTo reports whether the profile judges servers in revision r over transport t.
func (p *Profile) AppliesTo(r Revision, t Transport) bool {
	return slices.Contains(p.Revisions, r) && slices.Contains(p.Transports, t)
}

// Has reports whether the profile lists the requirement.
func (p *Profile) Has(id string) bool { return p.ids[id] }

// profileOrder returns the names of profiles, without versions, in the order of reports.
func profileOrder() []string { return slices.Concat([]string{"core"}, areas, []string{"full"}) }

// Profiles returns the built-in profiles with all their versions, in the order of
// reports, the oldest version first. A profile that can't be read is a defect of the
// build, so Profiles panics.
var Profiles = sync.OnceValue(func() []*Profile {
	profiles, err := readProfiles(fixtures.Profiles)
	if err != nil {
		panic(fmt.Sprintf("the built-in profiles are unreadable: %v", err))
	}
	return profiles
})

// LookupProfile returns the profile of that name, such as core@1, or nil.
func LookupProfile(name string) *Profile {
	all := Profiles()
	if i := slices.IndexFunc(all, func(p *Profile) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// NewestProfiles returns the newest version of each profile.
func NewestProfiles() []*Profile { return newestVersions(Profiles()) }

func newestVersions(all []*Profile) []*Profile {
	var out []*Profile
	for i, p := range all {
		if i+1 == len(all) || all[i+1].Base() != p.Base() {
			out = append(out, p)
		}
	}
	return out
}

// readProfiles reads profiles/*@*.yaml in fsys. The error lists all problems.
func readProfiles(fsys fs.FS) ([]*Profile, error) {
	files, err := fs.Glob(fsys, "profiles/*@*.yaml")
	if err != nil {
		return nil, err
	}
	var out []*Profile
	var errs []error
	for _, file := range files {
		p, err := readProfile(fsys, file)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
			continue
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *Profile) int {
		return cmp.Or(cmp.Compare(profileRank(a), profileRank(b)), cmp.Compare(a.Base(), b.Base()), cmp.Compare(a.version(), b.version()))
	})
	return out, errors.Join(errs...)
}

// profileRank returns the place of a profile in the order of reports.
func profileRank(p *Profile) int {
	if i := slices.Index(profileOrder(), p.Base()); i >= 0 {
		return i
	}
	return len(profileOrder())
}

func readProfile(fsys fs.FS, file string) (*Profile, error) {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	p := &Profile{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Digest: hex.EncodeToString(sum[:])}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(p); err != nil {
		return nil, err
	}
	return p, p.check()
}

// check returns what is wrong with the profile, and collects its ids.
func (p *Profile) check() error {
	var errs []error
	if p.version() < 1 || p.Base() == "" {
		errs = append(errs, fmt.Errorf("the name %q is not a name with a version, such as core@1", p.Name))
	}
	if p.About == "" || len(p.Core) == 0 {
		errs = append(errs, errors.New("about and core must not be empty"))
	}
	for _, r := range p.Revisions {
		if !r.IsPublished() {
			errs = append(errs, fmt.Errorf("revision %q is not published", r))
		}
	}
	for _, t := range p.Transports {
		if !slices.Contains(Transports(), t) {
			errs = append(errs, fmt.Errorf("transport %q is not known", t))
		}
	}
	p.ids = map[string]bool{}
	for _, id := range slices.Concat(p.Core, p.Extended) {
		if p.ids[id] {
			errs = append(errs, fmt.Errorf("the requirement %s is listed twice", id))
		}
		p.ids[id] = true
	}
	return errors.Join(errs...)
}

// CatalogueDigest returns the hash of the requirement catalogue: SHA-256 over the
// names and contents of its files, in hexadecimal. Two versions of the tool with the
// same digest judge the same requirements.
var CatalogueDigest = sync.OnceValue(func() string {
	sum := sha256.New()
	files, err := fs.Glob(fixtures.Requirements, "requirements/*.yaml")
	for _, file := range files {
		text, wrong := fs.ReadFile(fixtures.Requirements, file)
		err = errors.Join(err, wrong)
		fmt.Fprintf(sum, "%s %d\n", file, len(text))
		sum.Write(text)
	}
	if err != nil {
		panic(fmt.Sprintf("the built-in requirement catalogue is unreadable: %v", err))
	}
	return hex.EncodeToString(sum.Sum(nil))
})
