package streamablehttp

import "testing"

func TestAreSequential(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ids  []string
		want bool
	}{
		{"a number at the end", []string{"session-number-0000000000-1", "session-number-0000000000-2", "session-number-0000000000-3"}, true},
		{"one digit, then two", []string{"session-number-0000000000-8", "session-number-0000000000-9", "session-number-0000000000-10"}, true},
		{"into the next place", []string{"session-0000000000-998", "session-0000000000-999", "session-0000000000-1000", "session-0000000000-1010"}, true},
		{"hexadecimal", []string{"0f8fad5b-d9cb-469f-a165-0708677289fe", "0f8fad5b-d9cb-469f-a165-0708677289ff", "0f8fad5b-d9cb-469f-a165-070867728a00"}, true},
		{"in capitals", []string{"D9CB469FA1650708677289FE", "D9CB469FA1650708677289FF", "D9CB469FA165070867728A00"}, true},
		{"in the middle", []string{"s-000000019-of-this-server", "s-000000029-of-this-server", "s-000000030-of-this-server"}, true},
		{"others in between", []string{"session-number-0000000000-1", "session-number-0000000000-40", "session-number-0000000000-77"}, true},
		{"two are too few", []string{"session-number-0000000000-1", "session-number-0000000000-2"}, false},
		{"one the beginning of the next", []string{"session-number-0000000000", "session-number-00000000001", "session-number-000000000011"}, true},
		{"one letter more", []string{"session-number-x", "session-number-xy", "session-number-xyz"}, false},
		{"the same again", []string{"session-number-0000000000-1", "session-number-0000000000-1", "session-number-0000000000-2"}, false},
		{"downwards", []string{"session-number-0000000000-3", "session-number-0000000000-2", "session-number-0000000000-1"}, false},
		{"large steps", []string{"session-0000000000000000001", "session-0000000000000900001", "session-0000000000000900004"}, false},
		{"more than 64 bits", []string{"10000000000000000000000000000000", "20000000000000000000000000000000", "30000000000000000000000000000000"}, false},
		{"nothing", []string{"", "", ""}, false},
		{"times with random tails", []string{
			"019385a2-4f3b-7c1e-9a0f-5d2f8a1b6c34", "019385a2-4f3c-7a7d-8b11-e3c0f1a2b9d8", "019385a2-4f3e-7f02-a4c9-0b6d7e8f9a1c",
		}, false},
		{"numbers with signatures", []string{"session-1.5f2b9c0d7e8a4b16", "session-2.c07d3e9f1a2b8c45", "session-3.19e8d7c6b5a4f302"}, false},
		{"a long beginning and a random end", []string{"production-eu-west-1-8f2a6c0e", "production-eu-west-1-1b7d9e3a", "production-eu-west-1-c4e5f607"}, false},
		{"letters", []string{"session-number-aaaaaaaaag", "session-number-aaaaaaaaah", "session-number-aaaaaaaaai"}, false},
	} {
		if got := areSequential(test.ids); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func FuzzStepBetween(f *testing.F) {
	f.Add("session-1", "session-2")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		step, ok := stepBetween(a, b)
		if _, back := stepBetween(b, a); ok && (step == 0 || back) {
			t.Errorf("%q to %q: %d, and back", a, b, step)
		}
	})
}
